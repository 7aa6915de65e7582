package import Foundation
package import PurchaseModel

/// "This is what verification found": what a worker sends to fulfillment.
package struct VerdictMessage: EventMessage, Codable, Hashable {
    /// The type in `ce_type`.
    package static let type = "countersign.verdict.v1"

    /// The submission that was judged.
    package var submissionId: String
    /// The bundle id of the app it was posted for.
    package var app: String
    /// The account that posted it; empty where Apple did, with a server notification.
    package var account: String
    /// Follows a purchase from the request to the webhook.
    package var correlationId: String
    /// How often the submission has been sent before.
    package var attempt: Int
    /// The finding.
    package var verdict: Verdict
    /// The transactions that are the poster's.
    package var claims: Claims
    /// When Apple signed what was posted, where the transactions' `signedDate` is of a later answer of Apple's servers.
    ///
    /// A proof of years ago can be posted at any time: whether it is newer than something else, only this date says.
    package var proofSignedDate: Date?
    /// Whether more of the same submission follows: its orders are recorded, the submission not settled yet.
    package var isPartial: Bool
    /// What Apple signed about coming renewals; in no certain order, and of any age.
    package var renewals: [RenewalStatement]
    /// Consents that guardians withdrew.
    package var rescindedConsents: [RescindedConsent]
    /// Which server notification of Apple's it was; nil for every other proof.
    package var notification: NotificationKind?

    /// A server notification's own name.
    package struct NotificationKind: Codable, Sendable, Hashable {
        /// Apple's `notificationType`.
        package var type: String
        /// Apple's `subtype`.
        package var subtype: String?
        /// Apple's `notificationUUID`; the same in every repetition.
        package var uuid: String
        /// The environment that Apple signed; nil where it is neither production nor sandbox.
        package var environment: StoreEnvironment?
        /// When Apple signed it.
        package var signedDate: Date?
        /// Apple's `consumptionRequestReason`: why a customer asks for a refund.
        package var consumptionRequestReason: String?
        /// Apple's `status` of the subscription, known here or not; nothing is read out of it.
        package var status: Int64?
        /// Apple's `storeType` of a download of the app; nothing is read out of it.
        package var storeType: String?
        /// As `Transaction.unknownFields`, of the notification and of an app transaction in it.
        package var unknownFields: [String]?

        /// Names one.
        package init(
            type: String, subtype: String?, uuid: String, environment: StoreEnvironment? = nil, signedDate: Date? = nil,
            consumptionRequestReason: String? = nil
        ) {
            self.type = type
            self.subtype = subtype
            self.uuid = uuid
            self.environment = environment
            self.signedDate = signedDate
            self.consumptionRequestReason = consumptionRequestReason
        }

        enum CodingKeys: String, CodingKey {
            case type, subtype, uuid, environment
            case signedDate = "signed_at"
            case consumptionRequestReason = "consumption_request_reason"
            case status
            case storeType = "store_type"
            case unknownFields = "unknown_fields"
        }
    }

    /// The account that posted it; nil where Apple did.
    package var poster: String? { account.isEmpty ? nil : account }

    /// Makes a message.
    package init(
        submissionId: String, app: String, account: String, correlationId: String, attempt: Int, verdict: Verdict,
        claims: Claims = .all, isPartial: Bool = false, renewals: [RenewalStatement] = [],
        rescindedConsents: [RescindedConsent] = [], notification: NotificationKind? = nil, proofSignedDate: Date? = nil
    ) {
        self.submissionId = submissionId
        self.app = app
        self.account = account
        self.correlationId = correlationId
        self.attempt = attempt
        self.verdict = verdict
        self.claims = claims
        self.proofSignedDate = proofSignedDate
        self.isPartial = isPartial
        self.renewals = renewals
        self.rescindedConsents = rescindedConsents
        self.notification = notification
    }

    enum CodingKeys: String, CodingKey {
        case app, account, attempt, verdict, transactions, reason, detail, claims, renewals, notification
        case claimsAreUnproven = "claims_unproven"
        case proofSignedDate = "proof_signed_at"
        case rescindedConsents = "rescinded_consents"
        case submissionId = "submission_id"
        case correlationId = "correlation_id"
        case retryAfterSeconds = "retry_after_seconds"
        case isPartial = "partial"
    }

    /// Reads a message.
    ///
    /// - Throws: `DecodingError`; a verdict of a fourth kind is one.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        submissionId = try container.decode(String.self, forKey: .submissionId)
        app = try container.decode(String.self, forKey: .app)
        account = try container.decode(String.self, forKey: .account)
        correlationId = try container.decode(String.self, forKey: .correlationId)
        attempt = try container.decode(Int.self, forKey: .attempt)
        claims = Claims(
            ids: try container.decodeIfPresent([String].self, forKey: .claims),
            areUnproven: try container.decodeIfPresent(Bool.self, forKey: .claimsAreUnproven) ?? false)
        proofSignedDate = try container.decodeIfPresent(Date.self, forKey: .proofSignedDate)
        isPartial = try container.decodeIfPresent(Bool.self, forKey: .isPartial) ?? false
        renewals = try container.decodeIfPresent([RenewalStatement].self, forKey: .renewals) ?? []
        rescindedConsents =
            try container.decodeIfPresent([RescindedConsent].self, forKey: .rescindedConsents) ?? []
        notification = try container.decodeIfPresent(NotificationKind.self, forKey: .notification)
        switch try container.decode(String.self, forKey: .verdict) {
        case "genuine":
            verdict = .genuine(try container.decode([Transaction].self, forKey: .transactions))
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
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(submissionId, forKey: .submissionId)
        try container.encode(app, forKey: .app)
        try container.encode(account, forKey: .account)
        try container.encode(correlationId, forKey: .correlationId)
        try container.encode(attempt, forKey: .attempt)
        try container.encodeIfPresent(claims.ids, forKey: .claims)
        if claims.areUnproven { try container.encode(true, forKey: .claimsAreUnproven) }
        try container.encodeIfPresent(proofSignedDate, forKey: .proofSignedDate)
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

/// Which transactions of a proof are the poster's.
package struct Claims: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// The ids in the order in which they were told; nil claims all.
    ///
    /// An id that is not among the verdict's transactions was named by the app and is not in its proof.
    package let ids: [String]?
    /// Whether what is claimed does not stand in the signed proof that was posted: only its number was.
    ///
    /// A bare transaction id, an order id, the named transaction of a receipt that holds nothing of its lineage. False
    /// where the app takes a number for a proof (`possession: number`).
    package var areUnproven: Bool
    /// The same ids: a receipt has thousands.
    private let members: Set<String>?

    /// All, by a signed proof.
    package static let all = Claims(ids: nil)

    /// Claims ids; nil claims all.
    package init(ids: [String]?, areUnproven: Bool = false) {
        self.ids = ids
        self.areUnproven = areUnproven
        members = ids.map { Set($0) }
    }

    /// Claims ids by a signed proof.
    package init(arrayLiteral ids: String...) { self.init(ids: ids) }

    /// Whether a transaction is claimed.
    package func contains(_ transactionId: String) -> Bool { members?.contains(transactionId) ?? true }

    /// Whether nothing is claimed, which is not the same as all.
    package var isEmpty: Bool { ids?.isEmpty ?? false }

    /// Those of them that fit; all stays all.
    package func filter(_ isKept: (String) -> Bool) -> Claims {
        Claims(ids: ids?.filter(isKept), areUnproven: areUnproven)
    }
}
