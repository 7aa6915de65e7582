import Synchronization

/// Tells those who wait that there is a new notification.
final class NotificationBell: Sendable {
    enum Limit {
        /// Who may wait at the same time; everybody else is answered at once.
        static let waiters = 1_000
    }

    private struct Waiter {
        let sequence: Int64
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var newest: Int64 = 0
        var number = 0
        var waiters: [Int: Waiter] = [:]
    }

    private let state = Mutex(State())

    /// Says how far the notifications have come.
    func ring(_ newest: Int64) {
        let woken = state.withLock { state -> [Waiter] in
            guard newest > state.newest else { return [] }
            state.newest = newest
            let woken = state.waiters.filter { $0.value.sequence < newest }
            for number in woken.keys { state.waiters[number] = nil }
            return Array(woken.values)
        }
        for waiter in woken { waiter.continuation.resume() }
    }

    /// Returns once there is a notification after `sequence`, or the task is cancelled.
    func wait(after sequence: Int64) async {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    guard state.newest <= sequence, state.waiters.count < Limit.waiters, !Task.isCancelled else {
                        return false
                    }
                    state.waiters[number] = Waiter(sequence: sequence, continuation: continuation)
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            // Cancelled before it waits, it sees that itself, under the same lock.
            state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume()
        }
    }

    /// Returns once there is a notification after `sequence`, or some time has passed.
    func wait(after sequence: Int64, atMost time: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait(after: sequence) }
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
    }
}
