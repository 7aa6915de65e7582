/// The purchases of an app on one device: bought, kept, posted, answered, and only then finished.
///
/// ```swift
/// let queue = try await PurchaseQueue.open(configuration, store: store, transport: transport, credentials: logIn)
/// await queue.start()                          // at launch, before anything else
/// await queue.logIn("player-7")                // whenever the app knows who plays
/// let result = try await queue.purchase("gems.100")
/// ```
///
/// Open one for each app and keep it for as long as the app lives. A purchase that was paid is posted until the server
/// answered, over any number of launches, and is finished with the store only when the answer says `finish: true`.
public actor PurchaseQueue {
    let configuration: QueueConfiguration
    let store: any PurchaseStore

    init(_ configuration: QueueConfiguration, store: any PurchaseStore) {
        self.configuration = configuration
        self.store = store
    }

    /// Opens the journal and reads what waits.
    ///
    /// Where the journal cannot be read or written, the queue works from memory: purchases that the store gives are posted all
    /// the same, and ``purchase(_:quantity:offer:)`` opens no payment sheet.
    ///
    /// - Throws: `PurchaseError`: `journal_in_use` when another process, or another queue, has the journal.
    public static func open(
        _ configuration: QueueConfiguration, store: any PurchaseStore, transport: any ServerTransport,
        credentials: any PlayerCredentials
    ) async throws -> PurchaseQueue {
        PurchaseQueue(configuration, store: store)
    }

    /// Begins: listens to the store, takes what is unfinished, and goes on with what waits.
    ///
    /// Call it at launch.
    public func start() async {}

    /// Stops listening and posting, and closes the journal.
    ///
    /// What waits goes on with the next ``open(_:store:transport:credentials:)``.
    public func stop() async {}

    /// Says who plays from now on; what waits for an account goes on.
    ///
    /// Call it at each log-in, and at launch when somebody is logged in already.
    public func logIn(_ account: String) async {}

    /// Says that nobody is logged in; what needs an account waits.
    public func logOut() async {}

    /// Asks the store again for what is unfinished, and tries again what waits for a pause to end.
    ///
    /// Call it when the app comes to the foreground.
    public func enterForeground() async {}

    /// Tries again what waits for a pause to end.
    ///
    /// Call it when the network is there again; it is a hint and no condition.
    public func networkIsReachable() async {}

    /// What the store sells of these products, by price.
    ///
    /// - Throws: what the store throws.
    public func products(_ ids: Set<String>) async throws -> [StoreProduct] { [] }

    /// Buys a product for the account that is logged in: asks the server for an intent, saves it, opens the payment sheet, and
    /// waits for the outcome for as long as `outcomePatience` says.
    ///
    /// - Throws: `PurchaseError`; its `isNothingPaid` says whether the person can have been charged.
    public func purchase(
        _ productID: String, quantity: Int = 1, offer: SignedOffer? = nil
    ) async throws -> PurchaseResult {
        throw PurchaseError(.stopped, "")
    }

    /// Has the store look for all that this Apple Account owns, and posts it for the account that is logged in.
    ///
    /// Call it only when the person asks for it: the store may ask for a password.
    ///
    /// - Returns: what the server said of each transaction; an empty list when the store has none.
    /// - Throws: `PurchaseError`: `account_required`, `store_failed`.
    public func restore() async throws -> RestoreResult { RestoreResult(reports: []) }

    /// Says that a purchase whose buyer is in doubt (``PurchaseOutcome/Waiting/claim``) is the logged-in account's.
    ///
    /// - Throws: `PurchaseError`: `account_required`, `transaction_unknown`.
    public func claim(transactionID: String) async throws {}

    /// What is not finished yet, the oldest first.
    public func pending() async -> [PendingPurchase] { [] }

    /// What happens from now on, to each caller a stream of its own.
    ///
    /// A reader that is slow misses the oldest of more than 1,000.
    public func updates() -> AsyncStream<PurchaseUpdate> { AsyncStream { $0.finish() } }

    /// Waits until nothing is under way: no request, no write, no call of the store.
    ///
    /// Purchases may still wait for an account or for a pause to end. For tests, and before the app is suspended.
    public func settle() async {}
}
