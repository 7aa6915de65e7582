/// Every limit of a ``PurchaseQueue``.
public struct QueueLimits: Sendable, Hashable {
    /// The most of one product in an order; Apple takes no more.
    public static let quantityMaximum = 10
    /// The most characters of an account's name and of a product's id, as the server has them.
    public static let nameLengthMaximum = 255
    /// The largest signed transaction in bytes, as the server has it.
    public static let signedTransactionMaximum = 64 << 10
    /// The largest answer of the server in bytes.
    public static let answerMaximum = 1 << 20
    /// The most readers of ``PurchaseQueue/updates()`` at a time.
    public static let updateReadersMaximum = 16

    /// How long the stream of an account's events may say nothing, in seconds; the server's heartbeat is 15.
    public static let streamSilence = 60.0
    /// The most accounts whose last answer is kept on the device.
    public static let accountsKeptMaximum = 20

    /// The largest receipt in bytes that is posted; a larger one gives way to the transaction's id alone.
    ///
    /// The server takes bodies of 2 MiB unless it is told otherwise.
    public var receiptMaximum = 1_500_000
    /// The most purchases in the queue.
    ///
    /// What comes beyond it stays in the store, and is taken when there is room.
    public var purchasesMaximum = 5_000
    /// The most intents that are remembered; of those without a purchase the oldest go first.
    public var intentsMaximum = 500
    /// How many finished transactions are remembered.
    public var finishedMaximum = 2_000
    /// The largest journal in bytes; at that size no payment sheet opens.
    public var journalMaximum = 128 << 20
    /// From how many bytes on a journal is written anew without what it no longer needs.
    public var compactionMinimum = 256 << 10
    /// How many requests are under way at a time.
    public var requestsMaximum = 3
    /// How long a post waits at the server for the outcome, in seconds; the server takes 30 at most.
    public var serverWait = 10
    /// How long a request may take beyond the wait, in seconds.
    public var requestTime = 30.0
    /// The first pause after a failure, in seconds; each further failure doubles it.
    public var pauseMinimum = 1.0
    /// The longest pause that the queue chooses itself, in seconds.
    public var pauseMaximum = 900.0
    /// The longest `Retry-After` that is kept, in seconds.
    public var retryAfterMaximum = 3_600.0
    /// After how many seconds what is held is asked for again; doubled each time, up to `holdMaximum`.
    public var holdMinimum = 900.0
    /// The longest time between two questions for what is held, in seconds.
    public var holdMaximum = 21_600.0
    /// How long ``PurchaseQueue/restore(for:)`` waits for the server, in seconds; what has no answer then is reported as processing.
    public var restorePatience = 60.0

    /// The defaults.
    public init() {}
}
