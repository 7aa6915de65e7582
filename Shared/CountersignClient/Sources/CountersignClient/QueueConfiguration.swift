#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// How a ``PurchaseQueue`` is set up.
public struct QueueConfiguration: Sendable {
    /// The server's address, like `https://purchases.example.com`; the routes are added to it.
    public var server: URL
    /// The app's bundle id, as the server knows it.
    public var app: String
    /// A folder of the app's own, for the journal; made where it is missing.
    ///
    /// It should be in no backup: see the README.
    public var folder: URL
    /// Which of Apple's two stores ``PurchaseQueue/account(_:)`` asks about: the sandbox for builds that buy there.
    public var environment: StoreEnvironment
    /// Whether a payment sheet opens while the server gives no intent.
    public var intents: IntentPolicy
    /// How long ``PurchaseQueue/purchase(_:for:quantity:offer:reference:)`` waits for the outcome after payment, in seconds.
    public var outcomePatience: Double
    /// The account of an `applicationUsername` that an earlier version of the app gave to StoreKit 1, like `"10042"`; nil for a
    /// name that nobody knows.
    ///
    /// It is asked for what was bought with a name that is no UUID. A purchase whose name it does not know waits, and is
    /// never given to whoever is logged in.
    public var legacyAccount: (@Sendable (String) -> String?)?
    /// Limits; each has a default.
    public var limits: QueueLimits
    /// Receives lines for the app's log: no token, no proof.
    public var log: (@Sendable (QueueLogLine) -> Void)?

    /// What to do when the server gives no intent.
    public enum IntentPolicy: Sendable {
        /// No payment sheet opens: Apple's signed data would not name the account.
        case required
        /// It opens without a token. Only this device then knows whose it is; when it is lost, the server has to park the purchase.
        case preferred
    }

    /// A configuration.
    public init(
        server: URL, app: String, folder: URL, environment: StoreEnvironment = .production,
        intents: IntentPolicy = .required, outcomePatience: Double = 20,
        legacyAccount: (@Sendable (String) -> String?)? = nil, limits: QueueLimits = QueueLimits(),
        log: (@Sendable (QueueLogLine) -> Void)? = nil
    ) {
        self.server = server
        self.app = app
        self.folder = folder
        self.environment = environment
        self.intents = intents
        self.outcomePatience = outcomePatience
        self.legacyAccount = legacyAccount
        self.limits = limits
        self.log = log
    }
}

/// A line for the app's log.
public struct QueueLogLine: Sendable, Hashable {
    /// How much it matters.
    public var level: Level
    /// What happened.
    public var message: String
    /// The transaction, where it is about one.
    public var transactionID: String?

    /// How much a line matters.
    public enum Level: String, Sendable, Hashable {
        /// What happens all the time.
        case debug
        /// A step of a purchase.
        case info
        /// The queue goes on by itself, and somebody should know.
        case warning
        /// A person has to look.
        case error
    }

    /// A line.
    public init(_ level: Level, _ message: String, transactionID: String? = nil) {
        self.level = level
        self.message = message
        self.transactionID = transactionID
    }
}
