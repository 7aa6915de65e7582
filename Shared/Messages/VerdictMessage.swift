public import PurchaseModel

/// "This is what verification found": what a worker sends to fulfillment.
public struct VerdictMessage: Codable, Sendable, Hashable {
    /// The type in `ce_type`.
    public static let type = "countersign.verdict.v1"

    /// The submission that was judged.
    public var submissionId: String
    /// The bundle id of the app it was posted for.
    public var app: String
    /// The account that posted it; empty where Apple did, with a server notification.
    public var account: String
    /// Follows a purchase from the request to the webhook.
    public var correlationId: String
    /// How often the submission has been sent before.
    public var attempt: Int
    /// The finding.
    public var verdict: Verdict
    /// The transactions that are the poster's, where the proof has more than those; nil claims them all.
    ///
    /// An id that is not among the verdict's transactions was named by the app and is not in its proof.
    public var claims: [String]?
    /// Whether more of the same submission follows: its orders are recorded, the submission not settled yet.
    public var isPartial: Bool
    /// What Apple signed about coming renewals; in no certain order, and of any age.
    public var renewals: [RenewalStatement]
    /// Consents that guardians withdrew.
    public var rescindedConsents: [RescindedConsent]
    /// Which server notification of Apple's it was; nil for every other proof.
    public var notification: NotificationKind?

    /// A server notification's own name.
    public struct NotificationKind: Codable, Sendable, Hashable {
        /// Apple's `notificationType`.
        public var type: String
        /// Apple's `subtype`.
        public var subtype: String?
        /// Apple's `notificationUUID`; the same in every repetition.
        public var uuid: String

        /// Names one.
        public init(type: String, subtype: String?, uuid: String) {
            self.type = type
            self.subtype = subtype
            self.uuid = uuid
        }
    }

    /// The account that posted it; nil where Apple did.
    public var poster: String? { account.isEmpty ? nil : account }

    /// Makes a message.
    public init(
        submissionId: String, app: String, account: String, correlationId: String, attempt: Int, verdict: Verdict,
        claims: [String]? = nil, isPartial: Bool = false, renewals: [RenewalStatement] = [],
        rescindedConsents: [RescindedConsent] = [], notification: NotificationKind? = nil
    ) {
        self.submissionId = submissionId
        self.app = app
        self.account = account
        self.correlationId = correlationId
        self.attempt = attempt
        self.verdict = verdict
        self.claims = claims
        self.isPartial = isPartial
        self.renewals = renewals
        self.rescindedConsents = rescindedConsents
        self.notification = notification
    }

    /// Whether a transaction of the verdict is the poster's to claim.
    public func isClaimed(_ transactionId: String) -> Bool {
        claims.map { $0.contains(transactionId) } ?? true
    }

    enum CodingKeys: String, CodingKey {
        case app, account, attempt, verdict, transactions, reason, detail, claims, renewals, notification
        case rescindedConsents = "rescinded_consents"
        case submissionId = "submission_id"
        case correlationId = "correlation_id"
        case retryAfterSeconds = "retry_after_seconds"
        case isPartial = "partial"
    }

    /// Reads a message.
    ///
    /// - Throws: `DecodingError`; a verdict of a fourth kind is one.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        submissionId = try container.decode(String.self, forKey: .submissionId)
        app = try container.decode(String.self, forKey: .app)
        account = try container.decode(String.self, forKey: .account)
        correlationId = try container.decode(String.self, forKey: .correlationId)
        attempt = try container.decode(Int.self, forKey: .attempt)
        claims = try container.decodeIfPresent([String].self, forKey: .claims)
        isPartial = try container.decodeIfPresent(Bool.self, forKey: .isPartial) ?? false
        renewals = try container.decodeIfPresent([RenewalStatement].self, forKey: .renewals) ?? []
        rescindedConsents =
            try container.decodeIfPresent([RescindedConsent].self, forKey: .rescindedConsents) ?? []
        notification = try container.decodeIfPresent(NotificationKind.self, forKey: .notification)
        switch try container.decode(String.self, forKey: .verdict) {
        case "genuine":
            verdict = .genuine(try container.decode([PurchasedTransaction].self, forKey: .transactions))
        case "rejected":
            verdict = .rejected(
                try container.decode(ReasonCode.self, forKey: .reason),
                detail: try container.decode(String.self, forKey: .detail))
        case "unknown":
            verdict = .unknown(
                try container.decode(ReasonCode.self, forKey: .reason),
                retryAfterSeconds: try container.decode(Double.self, forKey: .retryAfterSeconds))
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .verdict, in: container, debugDescription: "not genuine, rejected or unknown")
        }
    }

    /// Writes a message.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(submissionId, forKey: .submissionId)
        try container.encode(app, forKey: .app)
        try container.encode(account, forKey: .account)
        try container.encode(correlationId, forKey: .correlationId)
        try container.encode(attempt, forKey: .attempt)
        try container.encodeIfPresent(claims, forKey: .claims)
        if isPartial { try container.encode(true, forKey: .isPartial) }
        if !renewals.isEmpty { try container.encode(renewals, forKey: .renewals) }
        if !rescindedConsents.isEmpty { try container.encode(rescindedConsents, forKey: .rescindedConsents) }
        try container.encodeIfPresent(notification, forKey: .notification)
        switch verdict {
        case .genuine(let transactions):
            try container.encode("genuine", forKey: .verdict)
            try container.encode(transactions, forKey: .transactions)
        case .rejected(let reason, let detail):
            try container.encode("rejected", forKey: .verdict)
            try container.encode(reason, forKey: .reason)
            try container.encode(detail, forKey: .detail)
        case .unknown(let reason, let retryAfterSeconds):
            try container.encode("unknown", forKey: .verdict)
            try container.encode(reason, forKey: .reason)
            try container.encode(retryAfterSeconds, forKey: .retryAfterSeconds)
        }
    }
}
