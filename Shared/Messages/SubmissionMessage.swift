package import Foundation
package import PurchaseModel

/// "Verify this": what intake sends to the verification workers.
package struct SubmissionMessage: Encodable, Sendable, Hashable {
    /// The submission's id.
    package var submissionId: String
    /// The bundle id of the app it was posted for.
    package var app: String
    /// The account that posted it; empty where Apple did, with a server notification.
    package var account: String
    /// What kind of proof it is.
    package var kind: ProofKind
    /// The proof itself: the JWS of a signed transaction, a receipt in base64 without line breaks, a transaction id.
    ///
    /// Empty when ``isClaimCheck``.
    package var proof: String
    /// The transaction that the app names as this account's; only receipts need it, since they may hold several.
    package var namedTransactionId: String?
    /// The environment that the app was built for: a hint of where to look first, and never a proof.
    package var expectedEnvironment: StoreEnvironment?
    /// Whether the proof is too large for a message and has to be read from the table `submissions`.
    package var isClaimCheck: Bool
    /// Whether a player was waiting for the answer when this was sent.
    package var isAwaited: Bool
    /// How often it has been sent before; a back-off starts from it.
    package var attempt: Int
    /// What Apple answered about its id before: that it knows none; nil where it never did.
    package var notFound: NotFoundAnswers?
    /// When it was received, where it is sent again; nil for one that has just come.
    package var receivedAt: Date?
    /// Follows a purchase from the request to the webhook.
    package var correlationId: String

    /// Real answers of Apple's that it knows no such id; outages, rate limits and resends are none.
    package struct NotFoundAnswers: Encodable, Sendable, Hashable {
        /// How many.
        package var count: Int
        /// Seconds from the first of them until this message was sent.
        package var seconds: Double

        package init(count: Int, seconds: Double) {
            self.count = count
            self.seconds = seconds
        }
    }

    /// Makes a message; what is left out is absent.
    package init(
        submissionId: String, app: String, account: String, kind: ProofKind, proof: String, attempt: Int,
        correlationId: String, namedTransactionId: String? = nil, expectedEnvironment: StoreEnvironment? = nil,
        isClaimCheck: Bool = false, isAwaited: Bool = false, notFound: NotFoundAnswers? = nil,
        receivedAt: Date? = nil
    ) {
        self.submissionId = submissionId
        self.app = app
        self.account = account
        self.kind = kind
        self.proof = proof
        self.attempt = attempt
        self.correlationId = correlationId
        self.namedTransactionId = namedTransactionId
        self.expectedEnvironment = expectedEnvironment
        self.isClaimCheck = isClaimCheck
        self.isAwaited = isAwaited
        self.notFound = notFound
        self.receivedAt = receivedAt
    }

    enum CodingKeys: String, CodingKey {
        case app, account, kind, proof, attempt
        case submissionId = "submission_id"
        case correlationId = "correlation_id"
        case namedTransactionId = "transaction_id"
        case expectedEnvironment = "expected_environment"
        case isClaimCheck = "claim_check"
        case isAwaited = "awaited"
        case notFound = "not_found"
    }
}

/// What kind of proof a submission holds; an unknown one is kept as it came.
package struct ProofKind: RawRepresentable, Codable, Sendable, Hashable {
    /// The kind's name.
    package let rawValue: String

    /// Keeps the name as it is.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A StoreKit 2 signed transaction, a JWS in compact form.
    package static let signedTransaction = ProofKind(rawValue: "signed_transaction")
    /// An app receipt (PKCS #7), in base64.
    package static let receipt = ProofKind(rawValue: "receipt")
    /// Nothing but a transaction id: Apple has to be asked.
    package static let transactionId = ProofKind(rawValue: "transaction_id")
    /// The order id from Apple's e-mail to the customer: Apple has to be asked.
    package static let orderId = ProofKind(rawValue: "order_id")
    /// A server notification of Apple's, a JWS in compact form; no account posted it.
    package static let serverNotification = ProofKind(rawValue: "server_notification")
    /// A subscription's latest transaction and its renewal info, two JWS in compact form with a line feed between, as Apple
    /// answered the sweep; no account posted it.
    package static let subscriptionStatus = ProofKind(rawValue: "subscription_status")

    /// Whether the proof is an id alone: it stays in the submission's row, where it is looked for, and says no more than
    /// the row does.
    package var isInRow: Bool { self == .transactionId || self == .orderId }
}

/// In an event each member is an attribute, and the data are the proof, byte for byte as it was posted: nothing of its some
/// kilobytes is escaped, searched or read twice on the way to the verifier.
extension SubmissionMessage: EventMessage {
    /// The type in `ce_type`.
    package static let type = "countersign.submission.v2"
    /// What the proof is.
    ///
    /// A JWS in compact form has a media type of its own. Source: RFC 7515, section 9.2.1.
    package var contentType: String {
        switch kind {
        case .signedTransaction, .serverNotification: "application/jose"
        default: "text/plain"
        }
    }

    /// The names of the attributes; those that an event has anyway are not among them.
    private enum Attribute {
        static let app = "app"
        static let account = "account"
        static let kind = "kind"
        static let attempt = "attempt"
        static let correlationId = "correlationid"
        static let namedTransactionId = "transactionid"
        static let expectedEnvironment = "expectedenvironment"
        static let isClaimCheck = "claimcheck"
        static let isAwaited = "awaited"
        static let notFoundCount = "notfoundcount"
        static let notFoundSeconds = "notfoundseconds"
        /// Seconds since 1970.
        static let receivedAt = "receivedat"
        static let isTrue = "true"
    }

    /// Everything but the id, which is the event's subject, and the proof.
    package var extensions: [CloudEvent.Extension] {
        var list = [
            CloudEvent.Extension(name: Attribute.app, value: app),
            CloudEvent.Extension(name: Attribute.account, value: account),
            CloudEvent.Extension(name: Attribute.kind, value: kind.rawValue),
            CloudEvent.Extension(name: Attribute.correlationId, value: correlationId),
        ]
        func add(_ name: String, _ value: String?) {
            if let value { list.append(CloudEvent.Extension(name: name, value: value)) }
        }
        add(Attribute.attempt, attempt == 0 ? nil : String(attempt))
        add(Attribute.namedTransactionId, namedTransactionId)
        add(Attribute.expectedEnvironment, expectedEnvironment?.rawValue)
        add(Attribute.isClaimCheck, isClaimCheck ? Attribute.isTrue : nil)
        add(Attribute.isAwaited, isAwaited ? Attribute.isTrue : nil)
        add(Attribute.notFoundCount, notFound.map { String($0.count) })
        add(Attribute.notFoundSeconds, notFound.map { String($0.seconds) })
        add(Attribute.receivedAt, receivedAt.map { String($0.timeIntervalSince1970) })
        return list
    }

    /// Reads a submission.
    ///
    /// An attribute that this version does not know is ignored, and an environment that it does not know is no hint.
    ///
    /// - Throws: `DecodingError`.
    package static func read(_ event: CloudEvent) throws -> Self {
        let values = Dictionary(event.extensions.map { ($0.name, $0.value) }) { first, _ in first }
        func required(_ name: String) throws -> String {
            guard let value = values[name] else { throw unreadable("the attribute \(name) is missing") }
            return value
        }
        func number<Number: LosslessStringConvertible>(_ name: String, _ type: Number.Type) throws -> Number? {
            try values[name].map { text in
                guard let number = Number(text) else { throw unreadable("the attribute \(name) is no number") }
                return number
            }
        }
        guard let id = event.subject else { throw unreadable("the subject is missing") }
        guard let proof = String(validating: event.data, as: UTF8.self) else {
            throw unreadable("the proof is no UTF-8")
        }
        let count = try number(Attribute.notFoundCount, Int.self)
        let seconds = try number(Attribute.notFoundSeconds, Double.self)
        let received = try number(Attribute.receivedAt, Double.self)
        return Self(
            submissionId: id, app: try required(Attribute.app), account: try required(Attribute.account),
            kind: ProofKind(rawValue: try required(Attribute.kind)), proof: proof,
            attempt: try number(Attribute.attempt, Int.self) ?? 0, correlationId: try required(Attribute.correlationId),
            namedTransactionId: values[Attribute.namedTransactionId],
            expectedEnvironment: values[Attribute.expectedEnvironment].flatMap { StoreEnvironment(rawValue: $0) },
            isClaimCheck: values[Attribute.isClaimCheck] == Attribute.isTrue,
            isAwaited: values[Attribute.isAwaited] == Attribute.isTrue,
            notFound: count.flatMap { count in seconds.map { NotFoundAnswers(count: count, seconds: $0) } },
            receivedAt: received.map { Date(timeIntervalSince1970: $0) })
    }

    private static func unreadable(_ why: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: why))
    }
}
