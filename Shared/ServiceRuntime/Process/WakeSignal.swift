import Synchronization

/// A doorbell for one sleeper: ringing wakes it, or is remembered until it next lies down.
///
/// Rings do not add up.
final class WakeSignal: Sendable {
    private enum State {
        case idle
        case rung
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.idle)

    /// Wakes the sleeper.
    func ring() {
        let sleeper: CheckedContinuation<Void, Never>? = state.withLock { state in
            switch state {
            case .idle, .rung:
                state = .rung
                return nil
            case .waiting(let continuation):
                state = .idle
                return continuation
            }
        }
        sleeper?.resume()
    }

    /// Waits for a ring, or for `duration` to pass, or for cancellation.
    func wait<C: Clock<Duration>>(atMost duration: Duration, clock: C) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await clock.sleep(for: duration) }
            group.addTask { await self.wait() }
            await group.next()
            group.cancelAll()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isRung = state.withLock { state in
                    if case .idle = state, !Task.isCancelled {
                        state = .waiting(continuation)
                        return false
                    }
                    // A ring is used up by being heard; a cancelled sleeper has not heard it.
                    if !Task.isCancelled { state = .idle }
                    return true
                }
                if isRung { continuation.resume() }
            }
        } onCancel: {
            let sleeper: CheckedContinuation<Void, Never>? = state.withLock { state in
                guard case .waiting(let continuation) = state else { return nil }
                state = .idle
                return continuation
            }
            sleeper?.resume()
        }
    }
}
