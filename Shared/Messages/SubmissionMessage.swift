import PurchaseModel

/// "Verify this": what intake sends to the verification workers.
public struct SubmissionMessage: Codable, Sendable, Hashable {
    /// The type in `ce_type`.
    public static let type = "countersign.submission.v1"

    /// The submission's id.
    public var submissionId: String
    /// The bundle id of the app it was posted for.
    public var app: String
    /// The account that posted it.
    public var account: String
    /// What kind of proof it is.
    public var kind: ProofKind
    /// The proof itself: for a signed transaction, the JWS.
    public var proof: String
    /// How often it has been sent before; a back-off starts from it.
    public var attempt: Int
    /// Follows a purchase from the request to the webhook.
    public var correlationId: String

    /// Makes a message.
    public init(
        submissionId: String, app: String, account: String, kind: ProofKind, proof: String, attempt: Int,
        correlationId: String
    ) {
        self.submissionId = submissionId
        self.app = app
        self.account = account
        self.kind = kind
        self.proof = proof
        self.attempt = attempt
        self.correlationId = correlationId
    }

    enum CodingKeys: String, CodingKey {
        case app, account, kind, proof, attempt
        case submissionId = "submission_id"
        case correlationId = "correlation_id"
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
}
