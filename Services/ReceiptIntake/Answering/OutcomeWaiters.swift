import Messages
import Metrics
import ServiceLifecycle
import Synchronization

/// Requests that wait for the outcome of a submission, by its id.
///
/// A waiter is registered before its row is written, so that no outcome can pass it by. The outcome is a hint from
/// Kafka; where it is lost, the wait ends by its time and the caller of ``Waiter/outcome(within:)`` looks it up.
final class OutcomeWaiters: Sendable {
    private struct State {
        var waiters: [String: [ObjectIdentifier: Waiter]] = [:]
        var count = 0
    }

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
        let isRoom = state.withLock { state in
            guard state.count < waitersMaximum else { return false }
            state.count += 1
            state.waiters[submissionId, default: [:]][ObjectIdentifier(waiter)] = waiter
            return true
        }
        guard isRoom else {
            refused.increment()
            return nil
        }
        return waiter
    }

    /// Stops listening.
    func remove(_ waiter: Waiter) {
        state.withLock { state in
            guard state.waiters[waiter.submissionId]?.removeValue(forKey: ObjectIdentifier(waiter)) != nil else {
                return
            }
            state.count -= 1
            if state.waiters[waiter.submissionId]?.isEmpty == true { state.waiters[waiter.submissionId] = nil }
        }
    }

    /// Whether anybody here waits for this submission; most outcomes are another process's.
    func isAwaited(_ submissionId: String) -> Bool {
        state.withLock { $0.waiters[submissionId] != nil }
    }

    /// Tells everybody who waits for this submission.
    func resolve(_ submissionId: String, with outcome: SubmissionOutcome) {
        let waiters = state.withLock { $0.waiters[submissionId].map { Array($0.values) } ?? [] }
        for waiter in waiters { waiter.finish(with: outcome) }
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
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await Task.sleep(for: time)
                self.finish(with: nil)
            }
            let outcome = await withTaskCancellationOrGracefulShutdownHandler {
                await value()
            } onCancelOrGracefulShutdown: {
                self.finish(with: nil)
            }
            group.cancelAll()
            return outcome
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
    func finish(with outcome: SubmissionOutcome?) {
        let waiting: CheckedContinuation<SubmissionOutcome?, Never>? = state.withLock { state in
            if let outcome, state.passesOver(outcome) { return nil }
            switch state.phase {
            case .listening:
                state.phase = .finished(outcome)
                return nil
            case .waiting(let continuation):
                state.phase = .finished(outcome)
                return continuation
            case .finished:
                return nil
            }
        }
        waiting?.resume(returning: outcome)
    }

    private func value() async -> SubmissionOutcome? {
        await withCheckedContinuation { continuation in
            let known: SubmissionOutcome?? = state.withLock { state in
                if case .finished(let outcome) = state.phase { return .some(outcome) }
                state.phase = .waiting(continuation)
                return .none
            }
            if case .some(let outcome) = known { continuation.resume(returning: outcome) }
        }
    }
}
