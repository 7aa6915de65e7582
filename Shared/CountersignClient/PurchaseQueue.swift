#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The purchases of an app on one device: bought, kept, posted, answered, and only then finished.
///
/// ```swift
/// let queue = try await PurchaseQueue.open(configuration, store: store, transport: transport, credentials: logIn)
/// await queue.start()                          // at launch, before anything else
/// await queue.logIn("player-7")                // whenever the app knows who plays
/// let result = try await queue.purchase("gems.100", for: "player-7")
/// ```
///
/// Open one for each app and keep it for as long as the app lives. A purchase that was paid is posted until the server
/// answered, over any number of launches, and is finished with the store only when the answer says `finish: true`.
public actor PurchaseQueue {
    let configuration: QueueConfiguration
    let store: any PurchaseStore
    let server: PurchaseServer
    let time: any QueueTime
    let backOff: BackOff
    /// Nil where it could not be opened.
    let journal: JournalWriter?
    /// Why the journal cannot be written; nil while it can.
    var journalError: String?
    var machine: QueueMachine

    var inbox: [Letter] = []
    var isWorking = false
    var isStarted = false
    var isStopped = false
    var tasks: [Int: Task<Void, Never>] = [:]
    var lastNumber = 0
    /// Who waits for the outcome of a transaction.
    var outcomeWaiters: [PurchaseKey: [Int: CheckedContinuation<PurchaseReport?, Never>]] = [:]
    /// The newest reports of finished transactions by their ids.
    var finalReports: [String: PurchaseReport] = [:]
    private var finalReportIDs: [String] = []
    /// What is under way beside timers and listening.
    var busy = 0
    var idleWaiters: [CheckedContinuation<Void, Never>] = []
    var readers: [Int: AsyncStream<PurchaseUpdate>.Continuation] = [:]

    /// The most reports that are kept for calls that come after them.
    private static let finalReportsMaximum = 100

    /// An event, and who waits until it is saved.
    struct Letter {
        let event: QueueEvent
        var saved: CheckedContinuation<Bool, Never>?
    }

    init(
        _ configuration: QueueConfiguration, store: any PurchaseStore, server: PurchaseServer, time: any QueueTime,
        journal: JournalWriter?, journalError: String?, machine: QueueMachine
    ) {
        self.configuration = configuration
        self.store = store
        self.server = server
        self.time = time
        self.journal = journal
        self.journalError = journalError
        self.machine = machine
        backOff = BackOff(limits: configuration.limits)
    }

    deinit {
        for task in tasks.values { task.cancel() }
        for reader in readers.values { reader.finish() }
    }

    // MARK: Who plays

    /// Says who plays from now on; what waits for an account goes on.
    ///
    /// Call it at each log-in, and at launch when somebody is logged in already.
    public func logIn(_ account: String) async {
        await hand(.loggedIn(account))
        takeUnfinished()
    }

    /// Says that nobody is logged in; what needs an account waits.
    public func logOut() async {
        await hand(.loggedOut)
    }

    /// Asks the store again for what is unfinished, and tries again what waits for a pause to end.
    ///
    /// Call it when the app comes to the foreground.
    public func enterForeground() async {
        await hand(.woken)
        takeUnfinished()
    }

    /// Tries again what waits for a pause to end.
    ///
    /// Call it when the network is there again; it is a hint and no condition.
    public func networkIsReachable() async {
        await hand(.woken)
    }

    // MARK: What there is

    /// What the store sells of these products, by price.
    ///
    /// - Throws: what the store throws.
    public func products(_ ids: Set<String>) async throws -> [StoreProduct] {
        try await store.products(ids).sorted { ($0.price, $0.id) < ($1.price, $1.id) }
    }

    /// Says that a purchase whose buyer is in doubt (``PurchaseOutcome/Waiting/claim``) is the logged-in account's.
    ///
    /// - Throws: `PurchaseError`: `account_required`, `transaction_unknown`.
    public func claim(transactionID: String) async throws {
        guard machine.account != nil else { throw PurchaseError(.accountRequired, "a claim is for an account") }
        guard machine.purchases.contains(where: { $0.key.id == transactionID && $0.value.buyer == .doubtful }) else {
            throw PurchaseError(.transactionUnknown, "\(transactionID) is not in doubt")
        }
        await hand(.claimed(transactionID))
    }

    /// Who is logged in, for tests; an app knows it itself, and says it with each purchase.
    package var currentAccount: String? { machine.account }

    /// What is not finished yet, the oldest first.
    public func pending() -> [PendingPurchase] {
        machine.pending
    }

    /// What happens from now on, to each caller a stream of its own.
    ///
    /// A reader that is slow misses the oldest of more than 1,000. Beyond ``QueueLimits/updateReadersMaximum`` readers the stream
    /// ends at once.
    public func updates() -> AsyncStream<PurchaseUpdate> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PurchaseUpdate.self, bufferingPolicy: .bufferingNewest(1_000))
        guard !isStopped, readers.count < QueueLimits.updateReadersMaximum else {
            continuation.finish()
            return stream
        }
        let number = nextNumber()
        readers[number] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.forgetReader(number) }
        }
        return stream
    }

    private func forgetReader(_ number: Int) {
        readers[number] = nil
    }

    func tell(_ update: PurchaseUpdate) {
        for reader in readers.values { reader.yield(update) }
        guard case .report(let report) = update else { return }
        if case .processing(.server) = report.outcome { return }
        if report.isFinished { keep(report) }
        for key in [true, false].map({ PurchaseKey(id: report.transactionID, isRevoked: $0) }) {
            for waiter in (outcomeWaiters.removeValue(forKey: key) ?? [:]).values { waiter.resume(returning: report) }
        }
    }

    private func keep(_ report: PurchaseReport) {
        if finalReports.updateValue(report, forKey: report.transactionID) == nil {
            finalReportIDs.append(report.transactionID)
        }
        if finalReportIDs.count > Self.finalReportsMaximum {
            finalReports[finalReportIDs.removeFirst()] = nil
        }
    }

    func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    func log(_ level: QueueLogLine.Level, _ message: String, transactionID: String? = nil) {
        configuration.log?(QueueLogLine(level, message, transactionID: transactionID))
    }
}
