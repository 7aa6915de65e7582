import Synchronization

/// Something that happens once, to wait for with or without a time limit.
final class OneShotSignal: Sendable {
    private struct State {
        var isSet = false
        var nextId: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
    }

    private let state = Mutex(State())

    /// Lets everybody go who waits or will wait.
    func set() {
        let waiters = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
            state.isSet = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// Waits until it happened, at most for `limit`, and says whether it did.
    ///
    /// A cancelled task waits as well: what is waited for here ends by itself.
    @discardableResult
    func wait(atMost limit: Duration? = nil) async -> Bool {
        await withCheckedContinuation { continuation in
            let id = state.withLock { state -> UInt64? in
                guard !state.isSet else { return nil }
                state.nextId += 1
                state.waiters[state.nextId] = continuation
                return state.nextId
            }
            guard let id else { return continuation.resume(returning: true) }
            guard let limit else { return }
            Task {
                try? await Task.sleep(for: limit)
                self.giveUp(id)
            }
        }
    }

    private func giveUp(_ id: UInt64) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
    }
}
