import BlockingThreads
import Foundation
import Synchronization

/// The store, for everybody at once: one change after the other, each in the journal before its maker hears of it.
///
/// An actor on a thread of its own, because writing a file blocks.
actor Store {
    enum Limit {
        /// Transaction ids that are set aside at a time: one forced write for so many sales.
        static let identifierBlock: Int64 = 100_000
    }

    private let executor = ThreadExecutor(name: "store")
    private let journal: Journal?
    private let encoder = JSONEncoder()
    private var state: StoreState
    /// Ids below this are set aside in the journal.
    private var identifierEnd: Int64 = 0
    /// Set when the journal could not be written: from then on nothing is changed any more.
    private var failure: StateDirectoryError?

    nonisolated let clock: VirtualClock
    /// The apps as they stand: the check of a token reads them without waiting its turn.
    private nonisolated let appDirectory: Mutex<[String: AppRecord]>
    /// Rings when there is a new notification.
    nonisolated let bell = NotificationBell()
    /// Says that something may come due earlier than it did.
    nonisolated let dueSignal: AsyncStream<Void>
    private let signalDue: AsyncStream<Void>.Continuation

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens the store that a journal keeps.
    ///
    /// - Parameters:
    ///   - file: the journal; nil for a store that forgets.
    ///   - clock: set to where it stood, when the journal knows.
    ///   - firstTransactionId: ids begin here at the earliest.
    /// - Throws: ``StateDirectoryError`` when the file cannot be read or written.
    init(file: URL?, signer: PayloadSigner, clock: VirtualClock, firstTransactionId: Int64 = 0) throws {
        self.clock = clock
        var state = StoreState(signer: signer)
        journal = file.map(Journal.init)
        (dueSignal, signalDue) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        if let journal {
            let decoder = JSONDecoder()
            do {
                try journal.read { try state.load($0, decoder: decoder) }
            } catch is DecodingError {
                throw StateDirectoryError(description: "the store's journal is of another version; remove it")
            }
            state.reindex()
            state.forgetOldNotifications()
            if let setting = state.settings[Setting.clock]?.clock { clock.restore(setting) }
        }
        let kept = state.settings[Setting.transactionId]?.number ?? 0
        state.numbers[.transactionId] = max(kept, firstTransactionId, StoreState.firstTransactionId)
        try journal?.rewrite(try state.takeChanges(all: true, encoder: encoder))
        appDirectory = Mutex(state.apps.rows)
        self.state = state
        bell.ring(state.newestNotification)
    }

    /// An app as it stands.
    nonisolated func app(_ bundleId: String) -> AppRecord? {
        appDirectory.withLock { $0[bundleId] }
    }

    private enum Setting {
        static let clock = "clock"
        static let transactionId = "transactionId"
    }

    /// Looks at the store.
    func read<Value: Sendable>(
        _ body: @Sendable (StoreState) throws -> sending Value
    ) rethrows -> sending Value {
        try body(state)
    }

    /// Changes the store: `body` is told the time.
    ///
    /// It checks first and changes then: what it changed before it throws, stays.
    ///
    /// - Throws: what `body` throws, or a ``Problem`` when the journal cannot be written.
    func change<Value: Sendable>(
        _ body: @Sendable (inout StoreState, Int64) throws -> sending Value
    ) throws -> sending Value {
        if let failure { throw Problem(.insufficientStorage, failure.description) }
        let earliest = state.due.first?.date
        defer { if state.due.first?.date != earliest { signalDue.yield() } }
        defer { bell.ring(state.newestNotification) }
        let result: Result<Value, any Error>
        do {
            result = .success(try body(&state, clock.now))
        } catch {
            result = .failure(error)
        }
        if !state.apps.changed.isEmpty { appDirectory.withLock { $0 = state.apps.rows } }
        try write()
        return try result.get()
    }

    /// Sets the clock, and keeps that.
    func setClock(_ instant: Int64? = nil, speed: Double? = nil) throws {
        clock.set(instant, speed: speed)
        let setting = clock.currentSetting
        _ = try change { state, _ in state.put(SettingRecord(id: Setting.clock, clock: setting)) }
        signalDue.yield()
    }

    /// The instant of the next thing that happens by itself.
    func nextDueDate() -> Int64? {
        state.nextDueDate()
    }

    /// Real milliseconds until something is due; at most `maximum`.
    func delayUntilDue(maximum: Int64) -> Int64 {
        guard let date = state.nextDueDate(), let delay = clock.realDelay(until: date) else { return maximum }
        return min(delay, maximum)
    }

    /// Makes the timeline look again.
    nonisolated func wakeTimeline() {
        signalDue.yield()
    }

    /// Forces what was written to the disk and ends the thread.
    func close() {
        try? journal?.sync()
        signalDue.finish()
        executor.stop()
    }

    private func write() throws {
        guard let journal else {
            state.forgetChanges()
            return
        }
        do {
            let next = state.numbers[.transactionId] ?? 0
            var mustSync = false
            if next > identifierEnd {
                identifierEnd = next + Limit.identifierBlock
                state.put(SettingRecord(id: Setting.transactionId, number: identifierEnd))
                mustSync = true
            }
            try journal.append(try state.takeChanges(encoder: encoder))
            if mustSync { try journal.sync() }
        } catch {
            let failure = StateDirectoryError(description: "the store cannot keep what happens: \(error)")
            self.failure = failure
            throw Problem(.insufficientStorage, failure.description)
        }
    }
}
