import Synchronization

/// Lets so many work at a time; whoever waits longest is next.
final class Turns: Sendable {
    private struct State {
        var taken = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// The first of `waiting` that waits still.
        var start = 0
    }

    private let maximum: Int
    private let state = Mutex(State())

    /// - Parameter maximum: at least 1.
    init(maximum: Int) {
        self.maximum = max(1, maximum)
    }

    /// How many places the line takes in memory: twice those who wait at most.
    var places: Int { state.withLock { $0.waiting.count } }

    /// Does a piece of work when it is its turn.
    func take<Value: Sendable>(_ work: @Sendable () async -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.taken >= maximum else {
                    state.taken += 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
        defer { next() }
        return await work()
    }

    /// Hands a turn to the next, or gives it back.
    private func next() {
        let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.start < state.waiting.count else {
                state.taken -= 1
                return nil
            }
            let next = state.waiting[state.start]
            state.start += 1
            // Somebody may always wait: the line must not grow by all who ever did.
            if state.start * 2 >= state.waiting.count {
                state.waiting.removeFirst(state.start)
                state.start = 0
            }
            return next
        }
        continuation?.resume()
    }
}
