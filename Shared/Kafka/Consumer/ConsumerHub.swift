import Synchronization

/// Where the consumer's thread and the handler's task meet: records go one way, outcomes the other.
///
/// Neither blocks the other: the task suspends until there is a batch, the thread is woken through its pipe.
final class ConsumerHub: Sendable {
    private struct State {
        var ledger: ConsumerLedger
        /// The handler's tasks that wait for a batch.
        var waiters: [CheckedContinuation<ConsumerLedger.Batch?, Never>] = []
        var isRunning = false
        var stopBy: ContinuousClock.Instant?
        var failure: KafkaError?
        /// Until when a replacement of the client waits for the handler; nil when nobody asked for one.
        var replaceBy: ContinuousClock.Instant?
        var errors = LastingErrors()
    }

    let pipe: WakePipe
    private let drainTimeout: Duration
    private let state: Mutex<State>

    init(settings: KafkaConsumerSettings) throws(KafkaError) {
        pipe = try WakePipe()
        drainTimeout = settings.drainTimeout
        state = Mutex(State(ledger: ConsumerLedger(limits: settings)))
    }

    // MARK: The task's side

    /// Begins handling; false when it began before or was stopped.
    func begin() -> Bool {
        let begins = state.withLock { state in
            guard !state.isRunning, state.stopBy == nil else { return false }
            state.isRunning = true
            return true
        }
        if begins { pipe.wake() }
        return begins
    }

    /// Waits for the next batch; nil when the consumer stops.
    func next() async -> ConsumerLedger.Batch? {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> ConsumerLedger.Batch?? in
                if state.stopBy != nil { return .some(nil) }
                if let batch = state.ledger.take(at: .now) { return batch }
                state.waiters.append(continuation)
                return .none
            }
            guard let answer else { return }
            continuation.resume(returning: answer)
            // The buffer may have room again.
            pipe.wake()
        }
    }

    func finish(_ batch: ConsumerLedger.Batch) {
        withLedger { $0.finish(batch) }
        pipe.wake()
    }

    func fail(_ batch: ConsumerLedger.Batch) {
        withLedger { $0.fail(batch, at: .now) }
        pipe.wake()
    }

    /// Begins no batches until `resume()`; the one in hand goes on.
    func pause() {
        withLedger { $0.isPaused = true }
    }

    /// Gives the handler what has come meanwhile.
    func resume() {
        withLedger { $0.isPaused = false }
        // A batch that failed may be due, and the buffer may have room again.
        pipe.wake()
    }

    /// Begins no more batches; the one in hand has `drainTimeout` left.
    ///
    /// Returns at once.
    func stop() {
        let waiters = state.withLock { state in
            if state.stopBy == nil { state.stopBy = .now + drainTimeout }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: nil) }
        pipe.wake()
    }

    /// Asks the thread for a new client; no batch begins until it is there, and the one in hand has `drainTimeout`.
    ///
    /// False when the consumer does not run, or was asked already.
    func askForReplacement() -> Bool {
        let isAsked = state.withLock { state in
            guard state.isRunning, state.stopBy == nil, state.replaceBy == nil else { return false }
            state.replaceBy = .now + drainTimeout
            state.ledger.isDraining = true
            return true
        }
        if isAsked { pipe.wake() }
        return isAsked
    }

    // MARK: Either side

    /// Changes or reads the ledger, and gives the handler's tasks that wait what there is for them now.
    func withLedger<R>(_ body: (inout ConsumerLedger) -> R) -> R {
        var given: [(waiter: CheckedContinuation<ConsumerLedger.Batch?, Never>, batch: ConsumerLedger.Batch)] = []
        let result = state.withLock { state in
            let result = body(&state.ledger)
            while !state.waiters.isEmpty, state.stopBy == nil, let batch = state.ledger.take(at: .now) {
                given.append((state.waiters.removeFirst(), batch))
            }
            return result
        }
        for (waiter, batch) in given { waiter.resume(returning: batch) }
        return result
    }

    // MARK: The thread's side

    /// The client cannot go on; `run()` throws this.
    func fail(with error: KafkaError) {
        state.withLock { $0.failure = $0.failure ?? error }
        stop()
    }

    /// The client was replaced, or could not be: batches may begin again.
    ///
    /// - Parameter isDraining: whether a revocation waits still, so that none may begin all the same.
    func endReplacement(isDraining: Bool) {
        state.withLock { state in
            state.replaceBy = nil
            state.errors.forget()
        }
        withLedger { $0.isDraining = isDraining }
    }

    /// Notes an error, which counts if it is one that does not pass by itself.
    func note(_ error: KafkaError) {
        state.withLock { $0.errors.note(error, at: .now) }
    }

    /// Records came or a commit was confirmed.
    func works() {
        state.withLock { $0.errors.works(at: .now) }
    }

    /// The group gave us our partitions, so it and its topics may be read.
    func forgetErrors() {
        state.withLock { $0.errors.forget() }
    }

    var replaceBy: ContinuousClock.Instant? { state.withLock { $0.replaceBy } }
    var isRunning: Bool { state.withLock { $0.isRunning } }
    var stopBy: ContinuousClock.Instant? { state.withLock { $0.stopBy } }
    var failure: KafkaError? { state.withLock { $0.failure } }
    var isPaused: Bool { state.withLock { $0.ledger.isPaused } }
    var isAssigned: Bool { state.withLock { $0.ledger.isAssigned } }
    var progress: KafkaConsumerProgress {
        state.withLock { state in
            var progress = state.ledger.progress
            progress.isRunning = state.isRunning && state.stopBy == nil
            // A member without partitions would be silent for ever about what keeps it from them.
            progress.trouble = state.errors.current(at: .now, mayExpire: !progress.partitions.isEmpty)
            return progress
        }
    }
    var statistics: KafkaConsumerStatistics { state.withLock { $0.ledger.currentStatistics } }
}
