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
