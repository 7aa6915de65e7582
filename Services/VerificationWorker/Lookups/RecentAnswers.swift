import Synchronization

/// Answers that were given a short while ago, so that who asks again costs nothing: repetitions come in crowds after an
/// outage.
///
/// `SingleFlight` keeps what nobody waited for to the end; this keeps what is worth it, whoever got it.
final class RecentAnswers<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry {
        let value: Value
        let since: ContinuousClock.Instant
        /// Its place among all that were ever kept.
        let number: UInt64
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// The keys in the order in which they were kept; an entry that was kept anew since has a later number.
        var order: [(key: Key, number: UInt64)] = []
        var oldest = 0
        var lastNumber: UInt64 = 0
    }

    private let maximum: Int
    private let lifetime: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// - Parameters:
    ///   - maximum: answers that are kept; beyond it the oldest is forgotten.
    ///   - lifetime: how long one is kept.
    init(
        maximum: Int, lifetime: Duration,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.maximum = maximum
        self.lifetime = lifetime
        self.now = now
    }

    /// How many are kept.
    var count: Int { state.withLock { $0.entries.count } }

    /// The answer of a key, if it is recent.
    func value(of key: Key) -> Value? {
        let now = now()
        return state.withLock { state in
            guard let entry = state.entries[key], now - entry.since < lifetime else { return nil }
            return entry.value
        }
    }

    /// Keeps an answer.
    func keep(_ value: Value, of key: Key) {
        let now = now()
        state.withLock { state in
            state.lastNumber += 1
            state.entries[key] = Entry(value: value, since: now, number: state.lastNumber)
            state.order.append((key, state.lastNumber))
            while state.oldest < state.order.count {
                let (key, number) = state.order[state.oldest]
                if let entry = state.entries[key], entry.number == number {
                    guard state.entries.count > maximum || now - entry.since >= lifetime else { break }
                    state.entries[key] = nil
                }
                state.oldest += 1
            }
            // Half of it is past: it is moved together, which costs each entry one move in all.
            if state.oldest > state.order.count / 2 {
                state.order.removeFirst(state.oldest)
                state.oldest = 0
            }
        }
    }
}
