public import PurchaseModel

/// "Verify this": what intake sends to the verification workers.
public struct SubmissionMessage: Codable, Sendable, Hashable {
    /// The type in `ce_type`.
    public static let type = "countersign.submission.v1"

    /// The submission's id.
    public var submissionId: String
    /// The bundle id of the app it was posted for.
    public var app: String
    /// The account that posted it; empty where Apple did, with a server notification.
    public var account: String
    /// What kind of proof it is.
    public var kind: ProofKind
    /// The proof itself: the JWS of a signed transaction, a receipt in base64 without line breaks, a transaction id.
    ///
    /// Empty when ``isClaimCheck``.
    public var proof: String
    /// The transaction that the app names as this account's; only receipts need it, since they may hold several.
    public var namedTransactionId: String?
    /// The environment that the app was built for: a hint of where to look first, and never a proof.
    public var expectedEnvironment: StoreEnvironment?
    /// Whether the proof is too large for a message and has to be read from the table `submissions`.
    public var isClaimCheck: Bool
    /// Whether a player was waiting for the answer when this was sent.
    public var isAwaited: Bool
    /// How often it has been sent before; a back-off starts from it.
    public var attempt: Int
    /// Follows a purchase from the request to the webhook.
    public var correlationId: String

    /// Makes a message; what is left out is absent.
    public init(
        submissionId: String, app: String, account: String, kind: ProofKind, proof: String, attempt: Int,
        correlationId: String, namedTransactionId: String? = nil, expectedEnvironment: StoreEnvironment? = nil,
        isClaimCheck: Bool = false, isAwaited: Bool = false
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
    }

    enum CodingKeys: String, CodingKey {
        case app, account, kind, proof, attempt
        case submissionId = "submission_id"
        case correlationId = "correlation_id"
        case namedTransactionId = "transaction_id"
        case expectedEnvironment = "expected_environment"
        case isClaimCheck = "claim_check"
        case isAwaited = "awaited"
    }

    /// Reads a message; an environment that this version does not know is no hint.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        submissionId = try container.decode(String.self, forKey: .submissionId)
        app = try container.decode(String.self, forKey: .app)
        account = try container.decode(String.self, forKey: .account)
        kind = try container.decode(ProofKind.self, forKey: .kind)
        proof = try container.decode(String.self, forKey: .proof)
        attempt = try container.decode(Int.self, forKey: .attempt)
        correlationId = try container.decode(String.self, forKey: .correlationId)
        namedTransactionId = try container.decodeIfPresent(String.self, forKey: .namedTransactionId)
        expectedEnvironment = try container.decodeIfPresent(String.self, forKey: .expectedEnvironment)
            .flatMap { StoreEnvironment(rawValue: $0) }
        isClaimCheck = try container.decodeIfPresent(Bool.self, forKey: .isClaimCheck) ?? false
        isAwaited = try container.decodeIfPresent(Bool.self, forKey: .isAwaited) ?? false
    }
}

/// What kind of proof a submission holds; an unknown one is kept as it came.
public struct ProofKind: RawRepresentable, Codable, Sendable, Hashable {
    /// The kind's name.
    public let rawValue: String

    /// Keeps the name as it is.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A StoreKit 2 signed transaction, a JWS in compact form.
    public static let signedTransaction = ProofKind(rawValue: "signed_transaction")
    /// An app receipt (PKCS #7), in base64.
    public static let receipt = ProofKind(rawValue: "receipt")
    /// Nothing but a transaction id: Apple has to be asked.
    public static let transactionId = ProofKind(rawValue: "transaction_id")
    /// The order id from Apple's e-mail to the customer: Apple has to be asked.
    public static let orderId = ProofKind(rawValue: "order_id")
    /// A server notification of Apple's, a JWS in compact form; no account posted it.
    public static let serverNotification = ProofKind(rawValue: "server_notification")
}
