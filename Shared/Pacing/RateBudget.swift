import Synchronization

/// How many requests one app may send to one class of Apple's calls in one environment.
///
/// A token bucket with a queue before it: players first, then deadlines, then sweeps; within a priority, one of each asker,
/// in order of arrival.
/// README.md says what is promised. The decisions are ``RateLedger``'s; this class has the lock, the clock and the waiting.
public final class RateBudget: Sendable {
    /// What the server allows.
    public struct Limit: Sendable, Hashable {
        /// Requests a second, over the long run.
        ///
        /// 0 (or not a number) allows none.
        public var perSecond: Double
        /// Requests that may go out at once after a rest; at least one.
        public var burst: Double

        /// A limit of `perSecond` requests a second, and of `burst` requests at once.
        public init(perSecond: Double, burst: Double) {
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    /// Whether a request may go out.
    public enum Admission: Sendable, Hashable {
        /// Now; it is paid for.
        case admitted
        /// Not within the caller's patience. After this time a turn is free for it, if nothing more important comes:
        /// refused requests are told different times, as far apart as tokens.
        case refused(retryAfter: Duration)
    }

    /// The budget at one moment, for metrics.
    public struct Statistics: Sendable, Hashable {
        /// Requests that wait, by priority; none that are 0.
        public let waiting: [Priority: Int]
        /// Requests that could go out at once.
        public let tokens: Double
        /// How long a 429 still holds; nil when the budget is open.
        public let closedFor: Duration?
    }

    private struct State: Sendable {
        var ledger: RateLedger
        var continuations: [RateLedger.Ticket: CheckedContinuation<Admission, Never>] = [:]
        var timer = QueueTimer()
        var lastTicket: RateLedger.Ticket = 0
    }

    private let time: TimeSource
    private let state: Mutex<State>

    /// A budget that starts with the tokens of one second, so that restarts do not add up.
    ///
    /// - Parameters:
    ///   - limit: of the whole; ``setShare(_:)`` says which part of it is ours.
    ///   - waitersMaximum: requests that may wait at a time.
    public convenience init(limit: Limit, waitersMaximum: Int = 10_000) {
        self.init(limit: limit, waitersMaximum: waitersMaximum, share: 1, time: .continuous)
    }

    init(
        limit: Limit, waitersMaximum: Int = RateLedger.Limit.waitersUsual, share: Double, time: TimeSource
    ) {
        self.time = time
        let ledger = RateLedger(limit: limit, waitersMaximum: waitersMaximum, share: share, now: time.now())
        state = Mutex(State(ledger: ledger))
    }

    /// The budget at this moment.
    public var statistics: Statistics {
        state.withLock { state in
            let now = time.now()
            let counts = Priority.allCases.map { ($0, state.ledger.waiting($0)) }.filter { $0.1 > 0 }
            return Statistics(
                waiting: Dictionary(uniqueKeysWithValues: counts), tokens: max(0, state.ledger.tokens(now)),
                closedFor: state.ledger.closedUntil(now).map { now.duration(to: $0) })
        }
    }

    /// Whether a new budget in the place of this one would admit no more than this one, and nobody waits.
    var isResting: Bool {
        state.withLock { $0.ledger.isResting(time.now()) }
    }

    /// Whether a task sleeps for the waiters.
    var hasTimer: Bool {
        state.withLock { $0.timer.isSet }
    }

    /// Waits for a turn.
    ///
    /// Refused at once when the turn cannot come in time, by what is known now: those before it, the rate, a closure, the
    /// share; or when too many wait (a more important request then takes the place of the last of the least important).
    /// More important requests that come later may still push it past its patience.
    ///
    /// - Parameters:
    ///   - asker: for whom it is: an account. Whoever asks a hundred times waits behind those who ask once.
    ///   - patience: how long to wait at most; a day at the very most. With zero it never waits.
    /// - Returns: ``Admission/admitted`` once for each request that may go out. A cancelled task is refused, and what it
    ///   had been given goes to the next.
    public func acquire(_ priority: Priority, asker: String = "", patience: Duration) async -> Admission {
        if Task.isCancelled { return refusal(priority, asker) }
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        let admission = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                change { state, now in
                    state.continuations[ticket] = continuation
                    return state.ledger.request(ticket, priority, asker: asker, patience: patience, now: now)
                }
                // The handler may have run before there was anything to cancel.
                if Task.isCancelled { cancel(ticket) }
            }
        } onCancel: {
            cancel(ticket)
        }
        guard admission == .admitted, Task.isCancelled else { return admission }
        change { state, now in state.ledger.giveBack(now) }
        return refusal(priority, asker)
    }

    /// The server said 429: nothing is admitted for `duration`, and then one by one.
    ///
    /// The longest closure wins. Waiters whose patience ends before that are refused at once.
    ///
    /// - Parameter duration: from now; a day at most.
    public func close(for duration: Duration) {
        change { state, now in state.ledger.close(for: duration, now: now) }
    }

    /// Says which part of the limit is ours from now on, 0...1; 0 admits nothing.
    public func setShare(_ share: Double) {
        change { state, now in state.ledger.setShare(share, now: now) }
    }

    /// For who was cancelled: no appointment is kept for it.
    private func refusal(_ priority: Priority, _ asker: String) -> Admission {
        state.withLock { .refused(retryAfter: $0.ledger.timeToTurn(priority, asker: asker, now: time.now())) }
    }

    private func cancel(_ ticket: RateLedger.Ticket) {
        change { state, now in state.ledger.cancel(ticket, now: now) }
    }

    /// The timer rang.
    private func wake(_ alarm: UInt64) {
        change { state, now in state.timer.takeAlarm(alarm) ? state.ledger.advance(to: now) : [] }
    }

    /// The one way in: changes the ledger, sets the timer, and then, outside the lock, tells those who are settled.
    private func change(_ body: (inout State, ContinuousClock.Instant) -> [RateLedger.Outcome]) {
        let (settled, idleTimer) = state.withLock { state in
            let settled = body(&state, time.now()).compactMap { outcome in
                state.continuations.removeValue(forKey: outcome.ticket).map { ($0, outcome.admission) }
            }
            return (settled, state.timer.set(for: state.ledger.nextEvent, time) { self.wake($0) })
        }
        idleTimer?.cancel()
        for (continuation, admission) in settled { continuation.resume(returning: admission) }
    }
}
