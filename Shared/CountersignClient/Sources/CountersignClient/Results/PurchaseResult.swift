/// What became of a call of ``PurchaseQueue/purchase(_:for:quantity:offer:reference:)``.
public enum PurchaseResult: Sendable, Hashable {
    /// It is paid, and the server has settled it: look at the report's outcome.
    case settled(PurchaseReport)
    /// It is paid and safe; the server's answer comes later by ``PurchaseQueue/updates()``.
    case processing(transactionID: String)
    /// Somebody has to approve it (Ask to Buy). It comes by ``PurchaseQueue/updates()``, perhaps weeks later.
    case pending
    /// The person closed the payment sheet; nothing was paid.
    case cancelled
    /// The store sold nothing: it gave an earlier purchase of this product, one that was not finished yet, or one that lasts and
    /// that this Apple Account owns. The person was not charged again; the report says what the server said of it now, also
    /// that it belongs to another account.
    case earlierPurchase(PurchaseReport)
}

/// What the server said of one transaction.
public struct PurchaseReport: Sendable, Hashable {
    /// Apple's id of the transaction.
    public var transactionID: String
    /// The product.
    public var productID: String
    /// Who posted it; nil while nobody could.
    public var account: String?
    /// Where it stands.
    public var outcome: PurchaseOutcome
    /// The number that the app gave the order; nil where there is none, or this account did not give it.
    public var reference: String?
    /// The id of the purchase at the server, for support.
    public var submissionID: String?
    /// Whether the store was told that it is finished, or will be.
    public var isFinished: Bool
    /// How it came to this launch of the app.
    public var occasion: Occasion

    /// How a purchase came to this launch of the app.
    public enum Occasion: String, Sendable, Hashable {
        /// Ordered in this launch: the player knows of it.
        case bought
        /// By itself: from an earlier launch, a renewal, an offer code, another device.
        case recovered
        /// Somebody asked to restore.
        case restored
    }

    /// A report.
    public init(
        transactionID: String, productID: String, account: String?, outcome: PurchaseOutcome,
        reference: String? = nil, submissionID: String? = nil, isFinished: Bool, occasion: Occasion = .recovered
    ) {
        self.transactionID = transactionID
        self.productID = productID
        self.account = account
        self.outcome = outcome
        self.reference = reference
        self.submissionID = submissionID
        self.isFinished = isFinished
        self.occasion = occasion
    }
}

/// Where a paid transaction stands.
public enum PurchaseOutcome: Sendable, Hashable {
    /// The account has what was paid for.
    case granted
    /// It is genuine and recorded, and held until a doubt is resolved; the reason is a word for programs.
    case held(reason: String)
    /// It belongs to another account, for which it is recorded; nothing is lost.
    case belongsToAnother
    /// The server refused it; the reason is a word for programs.
    case refused(reason: String)
    /// Nothing final yet; the queue goes on by itself.
    case processing(Waiting)

    /// What a purchase waits for.
    public enum Waiting: Sendable, Hashable {
        /// An account: nobody is logged in, or not the account that it was bought for. The name is that account, where it is known.
        case account(String?)
        /// The server's answer.
        case server
        /// Somebody has to say whose it is, with ``PurchaseQueue/claim(transactionID:)``: several accounts of this device were
        /// buying the product, and the store forgot which of them paid.
        case claim
        /// A mapping: an earlier version of the app wrote this `applicationUsername`, which ``QueueConfiguration/legacyAccount``
        /// maps to no account. It is asked at each launch and log-in.
        case legacyName(String)
        /// The journal, which says whose it is and cannot be read yet.
        case journal
    }

    /// Whether nothing further will come of it.
    public var isFinal: Bool {
        switch self {
        case .granted, .belongsToAnother, .refused: true
        case .held, .processing: false
        }
    }
}

/// What ``PurchaseQueue/restore(for:)`` found: each transaction with what the server said.
public struct RestoreResult: Sendable, Hashable {
    /// One for each transaction that the store gave, in its order.
    public var reports: [PurchaseReport]

    /// How many of them the account has now.
    public var grantedCount: Int {
        reports.count { $0.outcome == .granted }
    }

    /// A result.
    public init(reports: [PurchaseReport]) {
        self.reports = reports
    }
}

/// A purchase that the queue has not finished yet.
public struct PendingPurchase: Sendable, Hashable {
    /// Apple's id of the transaction.
    public var transactionID: String
    /// The product.
    public var productID: String
    /// Whose it is, where that is known.
    public var account: String?
    /// The number that the app gave the order.
    public var reference: String?
    /// Where it stands.
    public var outcome: PurchaseOutcome
    /// How often it was posted since the launch.
    public var attempts: Int

    /// A pending purchase.
    public init(
        transactionID: String, productID: String, account: String?, reference: String? = nil, outcome: PurchaseOutcome,
        attempts: Int
    ) {
        self.transactionID = transactionID
        self.productID = productID
        self.account = account
        self.reference = reference
        self.outcome = outcome
        self.attempts = attempts
    }
}

/// What the app is told while purchases go on by themselves.
public enum PurchaseUpdate: Sendable, Hashable {
    /// The store says that it is paid, and the server is asked now: each purchase once in a launch.
    case paid(PurchaseReport)
    /// A purchase has an outcome that it did not have before. After `granted`, ask your server what the account has.
    ///
    /// What a call of `purchase` or `restore` returned is not told here once more.
    case report(PurchaseReport)
    /// The server refused the account's token twice: log in again when it suits; the purchases wait.
    case credentialsRefused(account: String)
    /// The server cannot be reached or does not work; purchases wait and go on by themselves.
    case serverUnavailable
    /// It answers again.
    case serverAvailable
    /// The journal cannot be written (a full disk); purchases go on from memory, and no new payment sheet is opened.
    case journalUnavailable(PurchaseError)
}
