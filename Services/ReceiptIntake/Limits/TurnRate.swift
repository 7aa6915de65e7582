import Synchronization

/// There is no turn now.
struct TurnsExceeded: Error, Equatable {
    /// Until when there is one again.
    let wait: Duration
}

/// How often each of many may do something: so many times a minute, some of them at once, the others one by one.
///
/// It is counted in this process's memory: with several processes as much may be done in each. The algorithm is the
/// generic cell rate algorithm (ITU-T I.371), which needs one time for each.
final class TurnRate<Key: Hashable & Sendable>: Sendable {
    private struct State {
        /// When somebody has made up for all that was done.
        var even: [Key: ContinuousClock.Instant] = [:]
        /// When those were looked for last who have made up for it.
        var sweptAt: ContinuousClock.Instant?
    }

    /// Times a minute.
    let perMinute: Int
    private let keysMaximum: Int
    private let interval: Duration
    private let ahead: Duration
    private let holdMaximum: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - perMinute: at least 1.
    ///   - atOnce: how many of these may come together.
    ///   - holdMaximum: how long one more may be held until it is its turn; what would have to wait longer is refused.
    ///   - keysMaximum: the most that are remembered.
    init(perMinute: Int, atOnce: Int, holdMaximum: Duration = .zero, keysMaximum: Int) {
        self.perMinute = max(1, perMinute)
        self.keysMaximum = keysMaximum
        self.holdMaximum = holdMaximum
        interval = TurnRateLimit.window / self.perMinute
        ahead = interval * min(max(1, atOnce), self.perMinute)
    }

    /// How many are remembered.
    var count: Int { state.withLock { $0.even.count } }

    /// Takes a turn.
    ///
    /// - Returns: how long to wait until it begins.
    /// - Throws: ``TurnsExceeded``; then nothing was taken.
    @discardableResult
    func take(_ key: Key, now: ContinuousClock.Instant = .now) throws(TurnsExceeded) -> Duration {
        let (hold, isTaken) = state.withLock { state in
            let next = max(now, state.even[key] ?? now) + interval
            let hold = next - now - ahead
            guard hold <= holdMaximum else { return (hold, false) }
            sweep(&state, now)
            // Beyond the maximum nobody is refused: so many at a time are no flood of one.
            if state.even.count < keysMaximum || state.even[key] != nil { state.even[key] = next }
            return (max(.zero, hold), true)
        }
        guard isTaken else { throw TurnsExceeded(wait: hold) }
        return hold
    }

    /// What is left of somebody's turns.
    func left(_ key: Key, now: ContinuousClock.Instant = .now) -> TurnsLeft {
        let behind = max(.zero, (state.withLock { $0.even[key] } ?? now) - now)
        return TurnsLeft(
            count: max(0, Int((ahead - behind) / interval)), seconds: Int((behind / .seconds(1)).rounded(.up)))
    }

    /// Gives a turn back that led to nothing.
    func giveBack(_ key: Key) {
        state.withLock { state in
            if let even = state.even[key] { state.even[key] = even - interval }
        }
    }

    /// Forgets who has made up for what was done; not at each turn, since it looks at all.
    private func sweep(_ state: inout State, _ now: ContinuousClock.Instant) {
        guard state.even.count >= keysMaximum else { return }
        if let sweptAt = state.sweptAt, now - sweptAt < TurnRateLimit.sweepInterval { return }
        state.sweptAt = now
        state.even = state.even.filter { $0.value > now }
    }
}

/// What holds for every ``TurnRate``.
enum TurnRateLimit {
    static let window = Duration.seconds(60)
    /// The time between two looks for who can be forgotten.
    static let sweepInterval = Duration.seconds(1)
}
