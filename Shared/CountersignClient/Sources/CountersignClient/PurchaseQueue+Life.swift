#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension PurchaseQueue {
    /// Opens the journal and reads what waits.
    ///
    /// Where the journal cannot be written, the queue works from memory: purchases that the store gives are posted all
    /// the same, and ``purchase(_:for:quantity:offer:reference:)`` opens no payment sheet. Where there is one that cannot be read, as
    /// before the first unlock after a restart, it is opened again until it can, and nothing is posted whose buyer it may know.
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
        storage: @escaping @Sendable () throws -> any JournalStorage
    ) async throws -> PurchaseQueue {
        let limits = configuration.limits
        let server = PurchaseServer(
            address: configuration.server, app: configuration.app, limits: limits, transport: transport,
            credentials: credentials)
        var machine = QueueMachine(limits: limits, legacyAccount: configuration.legacyAccount)
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
            // What was read and cannot be written is known; and where there is no journal, nothing is missing.
            machine.isBlind = journal == nil && (error as? JournalStorageError)?.isAbsent != true
        }
        if let journalError { configuration.log?(QueueLogLine(.error, "the journal cannot be used: \(journalError)")) }
        return PurchaseQueue(
            configuration, store: store, server: server, time: time, storage: storage, journal: journal,
            journalError: journalError, machine: machine)
    }

    /// Opens a journal that could not be opened before.
    func openJournalAgain() async {
        guard journal == nil, !isOpeningJournal, !isStopped else { return }
        isOpeningJournal = true
        defer { isOpeningJournal = false }
        do {
            let writer = JournalWriter(try storage(), limits: configuration.limits)
            let opened: JournalWriter.Opened
            do {
                opened = try await writer.open()
            } catch {
                await writer.close()
                throw error
            }
            guard !isStopped else { return await writer.close() }
            for remark in opened.remarks { log(.warning, remark) }
            openedLate = writer
            await hand(.journalRead(opened.records))
        } catch {
            journalError = "\(error)"
        }
    }

    /// From now on the journal is written; called with the event that hands its records to the machine.
    func takeOpenedJournal() {
        guard let writer = openedLate else { return }
        (journal, openedLate, isJournalToBeWritten) = (writer, nil, true)
        log(.info, "the journal could be opened")
    }

    /// Tries until the journal is open.
    private func keepOpeningJournal() async {
        var attempt = 0
        while journal == nil, !isStopped {
            attempt += 1
            let seconds = backOff.seconds(.backOff(attempt, atLeast: 0), chance: Double.random(in: 0...1))
            guard (try? await time.sleep(seconds: seconds)) != nil else { return }
            await openJournalAgain()
        }
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
        if journal == nil { run(isBusy: false) { await $0.keepOpeningJournal() } }
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
        await openedLate?.close()
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
