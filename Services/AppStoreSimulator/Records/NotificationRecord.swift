/// A server notification: what it says, and each try to deliver it.
///
/// The dates are milliseconds since 1970.
struct NotificationRecord: Codable, Sendable, Identifiable {
    var id: String { notificationUUID }
    var notificationUUID: String
    var bundleId: String
    var environment: StoreEnvironment
    var notificationType: String
    var subtype: String?
    /// The transaction that it is about, for the filter of Get Notification History.
    var transactionId: String?
    var originalTransactionId: String?
    var createdDate: Int64
    /// What is signed and sent, JWS.
    var signedPayload: String
    /// The token of a requested test notification.
    var testToken: String?
    var attempts: [Attempt]
    /// When it is tried next; nil when it arrived, or no more tries are left, or it has nowhere to go.
    var nextAttemptDate: Int64?
    /// Grows with every notification: the order in which they came about.
    var sequence: Int64

    struct Attempt: Codable, Sendable {
        var attemptDate: Int64
        /// Apple's `sendAttemptResult` (apple-facts C7).
        var sendAttemptResult: String
    }
}

/// Where an external purchase token stands (EXTERNAL_PURCHASE_TOKEN).
struct ExternalPurchaseRecord: Codable, Sendable, Identifiable {
    var id: String { externalPurchaseId }
    /// Begins with `SANDBOX` in the sandbox.
    var externalPurchaseId: String
    var bundleId: String
    var environment: StoreEnvironment
    /// `SERVICES` or `ACQUISITION`; nil for the first generation.
    var tokenType: String?
    var tokenCreationDate: Int64
    var tokenExpirationDate: Int64?
    var isReported: Bool
    /// When the next notice is due: UNREPORTED ten days after creation (apple-facts C16).
    var nextNoticeDate: Int64?
    /// From one ACTIVE_TOKEN_REMINDER to the next, milliseconds.
    var reminderInterval: Int64?
}

/// An extension of the renewal date for many subscribers at once.
struct MassExtensionRecord: Codable, Sendable, Identifiable {
    var id: String { requestIdentifier }
    /// The developer's UUID.
    var requestIdentifier: String
    var bundleId: String
    var environment: StoreEnvironment
    var productId: String
    var extendByDays: Int
    var extendReasonCode: Int
    var storefrontCountryCodes: [String]
    var requestedDate: Int64
    /// When the store gets to it.
    var dueDate: Int64?
    var completeDate: Int64?
    var succeededCount: Int64
    var failedCount: Int64
}
