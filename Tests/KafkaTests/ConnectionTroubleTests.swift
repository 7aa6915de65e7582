import CLibrdkafka
import Testing

@testable import Kafka

/// What keeps us from a broker is told in a sentence with a remedy, from what librdkafka says of it.
@Suite struct ConnectionTroubleTests {
    private func error(
        _ code: rd_kafka_resp_err_t, _ text: String, _ certificate: Int32 = 0
    ) -> KafkaError? {
        ConnectionTrouble.error(code, text, certificate: CertificateProblem(certificate))
    }

    private let handshake = "sasl_ssl://b1:9093/bootstrap: SSL handshake failed: certificate verify failed"

    @Test(arguments: [
        (Int32(10), "has expired", "renew"), (9, "not valid yet", "clock"), (20, "do not trust", "ssl.ca.location"),
        (19, "do not trust", "ssl.ca.location"), (62, "another name", "advertise"), (23, "revoked", "new one"),
        (7, "was not accepted", "openssl s_client"),
    ])
    func certificatesAreToldApart(_ verdict: Int32, _ says: String, _ remedy: String) {
        let found = error(RD_KAFKA_RESP_ERR__SSL, handshake, verdict)
        #expect(found?.code == .authentication)
        #expect(found?.isRetriable == false)
        #expect(found?.detail.contains(says) == true)
        #expect(found?.detail.hasSuffix("(sasl_ssl://b1:9093/bootstrap)") == true)
        #expect(found?.remedy?.contains(remedy) == true)
    }

    @Test func theOtherTroublesAreSentencesToo() {
        let cases: [(rd_kafka_resp_err_t, String, String)] = [
            (
                RD_KAFKA_RESP_ERR__AUTHENTICATION, "sasl_ssl://b1:9093/1: SASL authentication error: no",
                "the user or the password"
            ),
            (
                RD_KAFKA_RESP_ERR__AUTHENTICATION, "sasl_ssl://b1:9093/1: Unsupported SASL mechanism: broker's are X",
                "our SASL mechanism"
            ),
            (RD_KAFKA_RESP_ERR__SSL, "ssl://b1:9093/1: alert certificate expired: 45", "our own certificate"),
            (RD_KAFKA_RESP_ERR__SSL, "ssl://b1:9093/1: tlsv13 alert certificate required", "accept our certificate"),
            (RD_KAFKA_RESP_ERR__SSL, "ssl://b1:9092/1: SSL routines::wrong version number", "does not speak TLS"),
            (
                RD_KAFKA_RESP_ERR__TRANSPORT, "ssl://b1:9092/1: connecting to a PLAINTEXT broker listener?",
                "does not speak TLS"
            ),
        ]
        for (code, text, says) in cases {
            #expect(error(code, text)?.detail.contains(says) == true, "\(text)")
            #expect(error(code, text)?.remedy != nil, "\(text)")
        }
        #expect(error(RD_KAFKA_RESP_ERR__TRANSPORT, "b1:9092/1: Connection refused")?.code == .transport)
        #expect(error(RD_KAFKA_RESP_ERR__SSL, "ssl://b1:9093/1: something else")?.code == .authentication)
        #expect(error(RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, "x") == nil)
    }
}
