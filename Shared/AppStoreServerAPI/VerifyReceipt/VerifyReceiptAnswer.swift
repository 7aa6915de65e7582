public import Foundation

/// What Apple says about a receipt (ADP, responseBody).
///
/// Read tolerantly: numbers and flags may be texts or not, fields may be missing, entries may be a list or one by itself.
/// A purchase of which something that decides is stated and cannot be read is left out, and counted.
public struct VerifyReceiptAnswer: Sendable, Hashable {
    /// The receipt as a whole.
    public struct Receipt: Sendable, Hashable {
        /// The app that it is of: `bundle_id`, or `bid` of a single transaction (iOS 6 style); nil when not stated.
        ///
        /// Apple verifies receipts of every app: the caller compares it, and trusts none without it.
        public var bundleId: String?
        /// The app's number in the App Store (`adam_id`); 0 in the sandbox.
        public var appAppleId: Int64?
        /// What Apple calls the receipt's environment: `Production`, `Sandbox`; nil in answers without one.
        public var environment: EnvironmentName?
        /// `receipt_type`: `Production`, `ProductionVPP`, `ProductionSandbox`, `ProductionVPPSandbox`.
        public var type: String?
        /// When the device had it made; nil of a single transaction.
        public var creationDate: Date?
        /// When Apple answered.
        public var requestDate: Date?
        /// The app's version that bought.
        public var applicationVersion: String?
        /// The version that was first installed; `1.0` in the sandbox.
        public var originalApplicationVersion: String?
        /// When the app was first installed.
        public var originalPurchaseDate: Date?
        /// Whether it is one transaction and not an app's receipt (iOS 6 style, `transactionReceipt`).
        public var isSingleTransaction: Bool

        /// Makes one, for a test's double for instance.
        public init(
            bundleId: String?, appAppleId: Int64? = nil, environment: EnvironmentName? = nil, type: String? = nil,
            creationDate: Date? = nil, requestDate: Date? = nil, applicationVersion: String? = nil,
            originalApplicationVersion: String? = nil, originalPurchaseDate: Date? = nil,
            isSingleTransaction: Bool = false
        ) {
            self.bundleId = bundleId
            self.appAppleId = appAppleId
            self.environment = environment
            self.type = type
            self.creationDate = creationDate
            self.requestDate = requestDate
            self.applicationVersion = applicationVersion
            self.originalApplicationVersion = originalApplicationVersion
            self.originalPurchaseDate = originalPurchaseDate
            self.isSingleTransaction = isSingleTransaction
        }
    }

    /// The host that answered.
    public var environment: AppStoreEnvironment
    /// Apple's word.
    public var status: VerifyReceiptStatus
    /// Whether asking again may help (`is-retryable`); nil when not stated.
    public var isRetryable: Bool?
    /// Whether a shared secret was sent along.
    public var hasSentSharedSecret: Bool
    /// The receipt; nil when it is not valid.
    public var receipt: Receipt?
    /// The purchases of the receipt and what came of them since, one of each transaction id.
    ///
    /// Of `in_app` and `latest_receipt_info` the latter is the newer word; where it is silent the former counts, so that
    /// a cancellation does not get lost. In the order of `in_app`, then what Apple added. Empty when it is not valid.
    public var purchases: [Purchase]
    /// How many more transactions the answer speaks of, in words that could not be read.
    ///
    /// When it is not 0, the list is not whole: what is listed counts, and nothing may be concluded from what is not, such
    /// as that a receipt has one purchase only. See ``mayHide(_:)``.
    public var unreadablePurchases: Int
    /// What the subscriptions' next renewals will be, one of each original transaction id.
    public var pendingRenewals: [PendingRenewal]

    /// Makes one, for a test's double for instance.
    public init(
        environment: AppStoreEnvironment, status: VerifyReceiptStatus, isRetryable: Bool? = nil,
        hasSentSharedSecret: Bool = false, receipt: Receipt? = nil, purchases: [Purchase] = [],
        unreadablePurchases: Int = 0, pendingRenewals: [PendingRenewal] = []
    ) {
        self.environment = environment
        self.status = status
        self.isRetryable = isRetryable
        self.hasSentSharedSecret = hasSentSharedSecret
        self.receipt = receipt
        self.purchases = purchases
        self.unreadablePurchases = unreadablePurchases
        self.pendingRenewals = pendingRenewals
    }

    /// Whether the newest word about a transaction may be among the entries that could not be read.
    ///
    /// The purchases that are listed can be relied on: an entry that names its transaction, but is unreadable otherwise,
    /// takes the transaction off the list. So a transaction that is listed is settled. One that is not listed is absent
    /// from the receipt only when this is false; when it is true nothing was learnt, and the submission stays unknown.
    public func mayHide(_ transactionId: String) -> Bool {
        unreadablePurchases > 0 && !purchases.contains { $0.transactionId == transactionId }
    }
}

extension VerifyReceiptAnswer: CustomStringConvertible {
    /// For a log: numbers only, nothing about anybody's purchases.
    public var description: String {
        let counts = "\(purchases.count) purchases, \(unreadablePurchases) unreadable"
        return "verifyReceipt, \(environment.rawValue): status \(status), \(counts)"
    }
}

extension VerifyReceiptAnswer {
    /// The other host, when the one that answered says that the receipt belongs there: 21007 and 21008.
    public var otherEnvironment: AppStoreEnvironment? {
        switch (environment, status) {
        case (.production, .belongsToSandbox): .sandbox
        case (.sandbox, .belongsToProduction): .production
        default: nil
        }
    }
}
