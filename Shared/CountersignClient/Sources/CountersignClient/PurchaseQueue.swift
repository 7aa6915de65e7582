import Dispatch

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
    package let store: any PurchaseStore
    let server: PurchaseServer
    let time: any QueueTime
    let backOff: BackOff
    /// Opens the journal's file.
    let storage: @Sendable () throws -> any JournalStorage
    /// Where the file of the accounts is read and written.
    let accountFileQueue = DispatchQueue(label: "countersign.accounts")
    /// Nil where it could not be opened, until it can.
    var journal: JournalWriter?
    /// The journal that was opened late, until the machine has its records.
    var openedLate: JournalWriter?
    var isOpeningJournal = false
    /// Why the journal cannot be written; nil while it can.
    var journalError: String?
    /// Whether the machine has more than the file, whatever was written last.
    var isJournalToBeWritten = false
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
    /// The intents of the calls of `purchase` that are under way, and what is theirs to tell.
    var openCalls: Set<UUID> = []
    private var withheld: [UUID: PurchaseReport] = [:]
    /// The newest intent of each product whose sheet StoreKit's own views open.
    var viewIntents: [String: UUID] = [:]
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
        storage: @escaping @Sendable () throws -> any JournalStorage, journal: JournalWriter?, journalError: String?,
        machine: QueueMachine
    ) {
        self.configuration = configuration
        self.store = store
        self.server = server
        self.time = time
        self.storage = storage
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
        // First of all: opening the journal takes a while, in which another one may log in.
        await hand(.loggedIn(account))
        await openJournalAgain()
        takeUnfinished()
    }

    /// Says that nobody is logged in; what needs an account waits.
    public func logOut() async {
        await hand(.loggedOut)
    }

    /// Asks the store again for what is unfinished, and tries again what waits for its time.
    ///
    /// Call it when the app comes to the foreground, and when protected data becomes available.
    public func enterForeground() async {
        await openJournalAgain()
        await hand(.broughtForward)
        takeUnfinished()
    }

    /// Tries again what waits for a pause to end.
    ///
    /// Call it when the network is there again; it is a hint and no condition.
    public func networkIsReachable() async {
        await hand(.woken)
    }

    // MARK: What there is

    /// Whether this person may pay on this device.
    public func canMakePayments() async -> Bool { await store.canMakePayments() }

    /// What the store sells of these products, by price.
    ///
    /// - Throws: what the store throws.
    public func products(_ ids: Set<String>) async throws -> [StoreProduct] {
        try await productList(ids, by: .priceAscending).products
    }

    /// What the store sells of these products, and which of them it does not know; those are logged with the likely causes.
    ///
    /// - Parameter ids: a list of the app's, or one that it got from its server.
    /// - Throws: what the store throws.
    public func productList(_ ids: Set<String>, by order: ProductList.Order) async throws -> ProductList {
        let found = try await store.products(ids).sorted { first, second in
            if first.price == second.price { return first.id < second.id }
            return order == .priceAscending ? first.price < second.price : first.price > second.price
        }
        let refused = ids.subtracting(found.map(\.id)).sorted()
        if !refused.isEmpty {
            log(
                .warning,
                "the store does not know \(refused.joined(separator: ", ")). Likely causes: "
                    + ProductList.likelyCauses.joined(separator: "; "))
        }
        return ProductList(products: found, refusedIDs: refused)
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

    /// Tries a purchase that waits again at once, as when the person asks for it.
    ///
    /// - Throws: `PurchaseError`: `transaction_unknown` where the queue has no such purchase (any more).
    public func retry(transactionID: String) async throws {
        await openJournalAgain()
        guard machine.pending.contains(where: { $0.transactionID == transactionID }) else {
            throw PurchaseError(.transactionUnknown, "\(transactionID) does not wait")
        }
        await hand(.retried(transactionID))
        takeUnfinished()
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

    /// Tells everybody of something, or who waits for it alone: nothing is told twice.
    func tell(_ update: PurchaseUpdate) {
        guard case .report(let report) = update else { return yield(update) }
        let wasTold = finalReports[report.transactionID] == report
        if report.isFinished { keep(report) }
        if inform(report) || wasTold { return }
        let call = openCalls.first { machine.intents[$0]?.state.transactionID == report.transactionID }
        if let call { withheld[call] = report } else { yield(update) }
    }

    /// Tells those who wait for a transaction; whether there were any.
    @discardableResult
    func inform(_ report: PurchaseReport) -> Bool {
        if case .processing(.server) = report.outcome { return false }
        let waiters = [true, false].flatMap { isRevoked in
            (outcomeWaiters.removeValue(forKey: PurchaseKey(id: report.transactionID, isRevoked: isRevoked)) ?? [:])
                .values
        }
        for waiter in waiters { waiter.resume(returning: report) }
        return !waiters.isEmpty
    }

    /// A call of `purchase` ends: what it does not return itself is told to everybody.
    func endCall(_ intent: UUID, returning result: PurchaseResult?) {
        openCalls.remove(intent)
        guard let report = withheld.removeValue(forKey: intent), result != .settled(report) else { return }
        yield(.report(report))
    }

    private func yield(_ update: PurchaseUpdate) {
        for reader in readers.values { reader.yield(update) }
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
