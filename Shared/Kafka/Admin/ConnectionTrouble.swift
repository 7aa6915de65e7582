import CLibrdkafka

/// What OpenSSL has against a broker's certificate.
enum CertificateProblem: Sendable {
    case expired, notYetValid, revoked, unknownAuthority, otherName, other

    /// By OpenSSL's `X509_V_ERR_…`; nil for "in order".
    init?(_ verdict: Int32) {
        switch verdict {
        case 0: return nil
        case 9: self = .notYetValid
        case 10: self = .expired
        case 23: self = .revoked
        case 2, 18, 19, 20, 21: self = .unknownAuthority
        case 62, 64: self = .otherName
        default: self = .other
        }
    }

    /// The sentence and what to do.
    var words: (String, remedy: String) {
        switch self {
        case .expired:
            ("the broker's certificate has expired", "renew it on the broker, and check this machine's clock")
        case .notYetValid:
            ("the broker's certificate is not valid yet", "compare this machine's clock with the broker's")
        case .revoked:
            ("the broker's certificate was revoked", "give the broker a new one")
        case .unknownAuthority:
            (
                "the broker's certificate is signed by an authority that we do not trust",
                "let `ssl.ca.location` name the file with the authority's certificate"
            )
        case .otherName:
            (
                "the broker's certificate is for another name than the one that we connected to",
                "connect to, and advertise, a name that stands in the certificate"
            )
        case .other:
            (
                "the broker's certificate was not accepted",
                "check it with `openssl s_client -connect` and the file of `ssl.ca.location`"
            )
        }
    }
}

/// The errors that keep us from the brokers, in sentences.
enum ConnectionTrouble {
    /// The error for one that librdkafka reports beside the calls; nil for one that says nothing about connections.
    ///
    /// - Parameter text: librdkafka's own, without secrets; it begins with the broker's address.
    static func error(
        _ code: rd_kafka_resp_err_t, _ text: String, certificate: CertificateProblem?
    ) -> KafkaError? {
        let kind = KafkaError.Code(native: code)
        let words: (String, remedy: String)? =
            switch code {
            case RD_KAFKA_RESP_ERR__SSL: tls(text, certificate)
            case RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED: sasl(text)
            case RD_KAFKA_RESP_ERR__TRANSPORT where text.contains("PLAINTEXT broker listener"): notTLS
            case RD_KAFKA_RESP_ERR__TRANSPORT where text.contains("security.protocol"):
                (
                    "the broker closes the connection before it says anything",
                    "check `security.protocol` and the port: one side may expect TLS or SASL"
                )
            case RD_KAFKA_RESP_ERR__RESOLVE:
                ("the broker's name is not known", "check the names of the bootstrap servers")
            default: nil
            }
        guard let words else {
            let isTold = kind == .transport || kind == .authentication || kind == .authorization
            return isTold ? KafkaError(native: code, detail: text) : nil
        }
        return KafkaError(native: code, detail: "\(words.0)\(broker(in: text))", remedy: words.remedy)
    }

    private static let notTLS = (
        "the broker does not speak TLS on that port", remedy: "check the port, or `security.protocol`"
    )

    private static func tls(_ text: String, _ certificate: CertificateProblem?) -> (String, remedy: String)? {
        if text.contains("alert certificate expired") {
            return ("our own certificate has expired", "renew the one that `ssl.certificate.location` names")
        }
        if text.contains(" alert ") {
            return (
                "the broker does not accept our certificate, or wants one",
                "check `ssl.certificate.location` and `ssl.key.location`, and the authorities that the broker trusts"
            )
        }
        if text.contains("wrong version number") || text.contains("record layer failure") {
            return notTLS
        }
        return certificate?.words
    }

    private static func sasl(_ text: String) -> (String, remedy: String)? {
        if text.contains("mechanism") && text.contains("upported") {
            return ("the broker does not support our SASL mechanism", "check `sasl.mechanism`")
        }
        return (
            "the broker refuses the user or the password",
            "check `sasl.username`, `sasl.password` and `sasl.mechanism`"
        )
    }

    /// The address that librdkafka's text begins with, in brackets; empty when it does not.
    private static func broker(in text: String) -> String {
        guard let end = text.firstRange(of: ": ")?.lowerBound, text[..<end].contains("://") else { return "" }
        return " (\(text[..<end]))"
    }
}
