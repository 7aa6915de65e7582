#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension PurchaseQueue {
    /// Opens the journal and reads what waits.
    ///
    /// Where the journal cannot be read or written, the queue works from memory: purchases that the store gives are posted all
    /// the same, and ``purchase(_:for:quantity:offer:)`` opens no payment sheet.
    ///
    /// - Throws: `PurchaseError`: `journal_in_use` when another process, or another queue, has the journal.
    public static func open(
        _ configuration: QueueConfiguration, store: any PurchaseStore, transport: any ServerTransport,
        credentials: any PlayerCredentials
    ) async throws -> PurchaseQueue {
        try await open(configuration, store: store, transport: transport, credentials: credentials, time: SystemTime())
        {
            try JournalFile(folder: configuration.folder)
        }
    }

    /// The same with another time and another storage, for tests.
    ///
    /// - Throws: `PurchaseError`.
    package static func open(
        _ configuration: QueueConfiguration, store: any PurchaseStore, transport: any ServerTransport,
        credentials: any PlayerCredentials, time: any QueueTime,
        storage: @Sendable () throws -> any JournalStorage
    ) async throws -> PurchaseQueue {
        let limits = configuration.limits
        let server = PurchaseServer(
            address: configuration.server, app: configuration.app, limits: limits, transport: transport,
            credentials: credentials)
        var machine = QueueMachine(limits: limits)
        var journal: JournalWriter?
        var journalError: String?
        do {
            let writer = JournalWriter(try storage(), limits: limits)
            let opened = try await writer.open()
            // Not before it was read: a journal that cannot be read is not to be written over.
            journal = writer
            journalError = opened.writeError
            for remark in opened.remarks { configuration.log?(QueueLogLine(.warning, remark)) }
            for record in opened.records { machine.replay(record) }
            if opened.isToBeCompacted { try await writer.compact(to: machine.records) }
        } catch let error as JournalStorageError where error.isInUse {
            throw PurchaseError(.journalInUse, error.description)
        } catch {
            journalError = "\(error)"
        }
        if let journalError { configuration.log?(QueueLogLine(.error, "the journal cannot be used: \(journalError)")) }
        return PurchaseQueue(
            configuration, store: store, server: server, time: time, journal: journal, journalError: journalError,
            machine: machine)
    }

    /// The journal of a folder, with its lock.
    ///
    /// - Throws: `JournalStorageError`.
    package static func journalFile(in folder: URL) throws -> any JournalStorage {
        try JournalFile(folder: folder)
    }

    /// Begins: listens to the store, takes what is unfinished, and goes on with what waits.
    ///
    /// Call it at launch, before anything else.
    public func start() async {
        guard !isStarted, !isStopped else { return }
        isStarted = true
        // First of all: what the store gives while nobody listens may come only at the next launch.
        let updates = await store.updates()
        run(isBusy: false) { queue in
            for await transaction in updates { await queue.hand(.seen(transaction, ordered: nil)) }
        }
        if let journalError { tell(.journalUnavailable(PurchaseError(.storageUnavailable, journalError))) }
        perform(machine.start())
        takeUnfinished()
    }

    /// Stops listening and posting, and closes the journal; what waits goes on with the next queue.
    public func stop() async {
        guard !isStopped else { return }
        isStopped = true
        for task in tasks.values { task.cancel() }
        tasks = [:]
        for letter in inbox { letter.saved?.resume(returning: false) }
        inbox = []
        let waiters = outcomeWaiters.values.flatMap(\.values)
        outcomeWaiters = [:]
        for waiter in waiters { waiter.resume(returning: nil) }
        for reader in readers.values { reader.finish() }
        readers = [:]
        for waiter in idleWaiters { waiter.resume() }
        idleWaiters = []
        await journal?.close()
    }

    /// Waits until nothing is under way: no request, no write, no call of the store.
    ///
    /// Purchases may still wait for an account or for a pause to end. For tests, and before the app is suspended.
    public func settle() async {
        guard !isStopped, isWorking || busy > 0 else { return }
        await withCheckedContinuation { idleWaiters.append($0) }
    }

    /// Asks the store for what is unfinished.
    func takeUnfinished() {
        guard isStarted else { return }
        run { queue in
            for transaction in await queue.store.unfinished() {
                await queue.enqueue(.seen(transaction, ordered: nil))
            }
        }
    }
}
