import Messages
import Metrics
import ServiceLifecycle
import Synchronization

/// Requests that wait for the outcome of a submission, by its id.
///
/// A waiter is registered before its row is written, so that no outcome can pass it by. The outcome is a hint from
/// Kafka; where it is lost, ``LateOutcomes`` finds it, and at the end of its time the caller of
/// ``Waiter/outcome(within:)`` looks it up.
final class OutcomeWaiters: Sendable {
    enum Limit {
        /// How much longer than its time somebody may wait: one look at all who wait in place of a timer for each.
        static let excess = Duration.milliseconds(50)
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var count = 0
        /// Whether ``endWaits()`` runs: while there is somebody to look at.
        var isEndingWaits = false
    }

    /// Those who wait for one submission, and when ``overdue(at:after:maximum:)`` named it last.
    private typealias Entry = (waiters: [ObjectIdentifier: Waiter], namedAt: ContinuousClock.Instant?)

    /// The most requests that wait at a time; beyond it a request is answered at once with what is known.
    let waitersMaximum: Int
    private let state = Mutex(State())
    private let refused = Counter(label: "countersign_waiters_refused_total")

    /// Makes a registry without waiters.
    init(waitersMaximum: Int) {
        self.waitersMaximum = waitersMaximum
    }

    /// How many wait.
    var count: Int { state.withLock { $0.count } }

    /// Begins to listen for an outcome; nil when too many wait already.
    ///
    /// Must be followed by ``remove(_:)``.
    func register(_ submissionId: String) -> Waiter? {
        let waiter = Waiter(submissionId: submissionId)
        let (isRoom, isFirst) = state.withLock { state in
            guard state.count < waitersMaximum else { return (false, false) }
            state.count += 1
            state.entries[submissionId, default: ([:], nil)].waiters[ObjectIdentifier(waiter)] = waiter
            defer { state.isEndingWaits = true }
            return (true, !state.isEndingWaits)
        }
        guard isRoom else {
            refused.increment()
            return nil
        }
        if isFirst { Task { await endWaits() } }
        return waiter
    }

    /// Ends the waits whose time is up, until nobody waits.
    private func endWaits() async {
        while true {
            try? await Task.sleep(for: Limit.excess)
            let now = ContinuousClock.now
            let ended: [Waiter]? = state.withLock { state in
                state.isEndingWaits = state.count > 0
                guard state.isEndingWaits else { return nil }
                return state.entries.values.flatMap { $0.waiters.values.filter { $0.isOver(at: now) } }
            }
            guard let ended else { return }
            for waiter in ended { waiter.finish(with: nil) }
        }
    }

    /// Stops listening.
    func remove(_ waiter: Waiter) {
        state.withLock { state in
            let id = waiter.submissionId
            guard state.entries[id]?.waiters.removeValue(forKey: ObjectIdentifier(waiter)) != nil else { return }
            state.count -= 1
            if state.entries[id]?.waiters.isEmpty == true { state.entries[id] = nil }
        }
    }

    /// Whether anybody here waits for this submission; most outcomes are another process's.
    func isAwaited(_ submissionId: String) -> Bool {
        state.withLock { $0.entries[submissionId] != nil }
    }

    /// Tells everybody who waits for this submission.
    ///
    /// - Returns: how many it ended the wait of.
    @discardableResult
    func resolve(_ submissionId: String, with outcome: SubmissionOutcome) -> Int {
        let waiters = state.withLock { $0.entries[submissionId].map { Array($0.waiters.values) } ?? [] }
        var ended = 0
        for waiter in waiters where waiter.finish(with: outcome) { ended += 1 }
        return ended
    }

    /// The submissions that somebody has waited for a while, those first that have waited, or not been named here, for
    /// longest: called again and again it names them all.
    ///
    /// - Parameters:
    ///   - time: how long they must have been waited for.
    ///   - maximum: the most that are named.
    func overdue(at now: ContinuousClock.Instant, after time: Duration, maximum: Int) -> [String] {
        state.withLock { state in
            guard state.count > 0 else { return [] }
            var overdue: [(id: String, since: ContinuousClock.Instant)] = []
            for (id, entry) in state.entries {
                guard let begin = entry.waiters.values.compactMap(\.waitingSince).min(), begin + time <= now else {
                    continue
                }
                overdue.append((id, max(begin, entry.namedAt ?? begin)))
            }
            overdue.sort { $0.since < $1.since }
            let ids = overdue.prefix(maximum).map(\.id)
            for id in ids { state.entries[id]?.namedAt = now }
            return ids
        }
    }
}

/// One request that waits for an outcome.
final class Waiter: Sendable {
    private enum Phase {
        case listening
        case waiting(CheckedContinuation<SubmissionOutcome?, Never>)
        case finished(SubmissionOutcome?)
    }

    private struct State {
        var phase = Phase.listening
        var passesOver: @Sendable (SubmissionOutcome) -> Bool = { _ in false }
        var since = ContinuousClock.now
        var end: ContinuousClock.Instant?
    }

    /// What it waits for.
    let submissionId: String
    private let state = Mutex(State())

    fileprivate init(submissionId: String) {
        self.submissionId = submissionId
    }

    /// The outcome; nil when the time is up, the caller has gone, or the process is to stop.
    ///
    /// Called once.
    func outcome(within time: Duration) async -> SubmissionOutcome? {
        state.withLock { $0.end = .now + time }
        return await withTaskCancellationOrGracefulShutdownHandler {
            await value()
        } onCancelOrGracefulShutdown: {
            self.finish(with: nil)
        }
    }

    fileprivate func isOver(at now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in state.end.map { $0 <= now } ?? false }
    }

    /// Since when it has waited; nil while it does not, or no more.
    ///
    /// Who only listens does not count: what the database says of a submission may be about to change by the post itself.
    fileprivate var waitingSince: ContinuousClock.Instant? {
        state.withLock { state in
            if case .waiting = state.phase { return state.since }
            return nil
        }
    }

    /// Waits on when one of these outcomes comes, or has come already: its caller is told of it when the time is up.
    func passOver(_ isPassedOver: @escaping @Sendable (SubmissionOutcome) -> Bool) {
        state.withLock { state in
            state.passesOver = isPassedOver
            if case .finished(let outcome?) = state.phase, isPassedOver(outcome) { state.phase = .listening }
        }
    }

    /// Ends the wait, unless it has ended.
    ///
    /// - Returns: whether it did.
    @discardableResult
    func finish(with outcome: SubmissionOutcome?) -> Bool {
        typealias Waiting = CheckedContinuation<SubmissionOutcome?, Never>
        let (ends, waiting): (Bool, Waiting?) = state.withLock { state in
            if let outcome, state.passesOver(outcome) { return (false, nil) }
            switch state.phase {
            case .listening:
                state.phase = .finished(outcome)
                return (true, nil)
            case .waiting(let continuation):
                state.phase = .finished(outcome)
                return (true, continuation)
            case .finished:
                return (false, nil)
            }
        }
        waiting?.resume(returning: outcome)
        return ends
    }

    private func value() async -> SubmissionOutcome? {
        await withCheckedContinuation { continuation in
            let known: SubmissionOutcome?? = state.withLock { state in
                if case .finished(let outcome) = state.phase { return .some(outcome) }
                state.phase = .waiting(continuation)
                state.since = .now
                return .none
            }
            if case .some(let outcome) = known { continuation.resume(returning: outcome) }
        }
    }
}
