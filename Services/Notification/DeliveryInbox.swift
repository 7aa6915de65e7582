import Synchronization

/// What the delivery loop is told while it sleeps; telling it something wakes it.
final class DeliveryInbox: Sendable {
    /// An attempt that has ended.
    struct Finished: Sendable {
        let eventId: String
        let endpointId: String
        /// What follows; nil when the attempt was not made.
        let verdict: DeliveryVerdict?
    }

    /// Everything that was told since the loop last asked.
    struct Content: Sendable {
        var finished: [Finished] = []
        var endpointIds: Set<String> = []
        var isStopping = false
    }

    private struct State {
        var content = Content()
        var isRung = false
        var sleeper: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// An attempt has ended.
    func post(_ finished: Finished) {
        ring { $0.finished.append(finished) }
    }

    /// Endpoints have new deliveries.
    func wake(_ endpointIds: Set<String>) {
        guard !endpointIds.isEmpty else { return }
        ring { $0.endpointIds.formUnion(endpointIds) }
    }

    /// The process stops: finish what is in hand, begin nothing.
    func stop() {
        ring { $0.isStopping = true }
    }

    /// Takes what was told; that the process stops is told again every time.
    func take() -> Content {
        state.withLock { state in
            defer {
                state.content.finished = []
                state.content.endpointIds = []
                state.isRung = false
            }
            return state.content
        }
    }

    /// Sleeps until something is told, or for `duration`, or until cancellation.
    func wait(atMost duration: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: duration) }
            group.addTask { await self.wait() }
            await group.next()
            group.cancelAll()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasNews = state.withLock { state in
                    if state.isRung || Task.isCancelled { return true }
                    state.sleeper = continuation
                    return false
                }
                if hasNews { continuation.resume() }
            }
        } onCancel: {
            wakeSleeper { _ in }
        }
    }

    private func ring(_ change: (inout Content) -> Void) {
        wakeSleeper { state in
            change(&state.content)
            state.isRung = true
        }
    }

    private func wakeSleeper(_ change: (inout State) -> Void) {
        let sleeper = state.withLock { state in
            change(&state)
            defer { state.sleeper = nil }
            return state.sleeper
        }
        sleeper?.resume()
    }
}
