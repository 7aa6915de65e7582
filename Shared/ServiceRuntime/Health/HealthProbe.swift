import Synchronization

/// A question that is asked when somebody wants to know, answered in bounded time even if it never returns.
final class HealthProbe: Sendable {
    private struct State {
        var isRunning = false
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<HealthReport.Check, Never>] = [:]
        var timers: [Int: Task<Void, Never>] = [:]
    }

    private let name: String
    private let timeout: Duration
    private let body: @Sendable () async throws -> Void
    private let state = Mutex(State())

    init(name: String, timeout: Duration, body: @escaping @Sendable () async throws -> Void) {
        self.name = name
        self.timeout = timeout
        self.body = body
    }

    /// The outcome of the run under way, or of a new one, or that it took too long.
    func result() async -> HealthReport.Check {
        await withCheckedContinuation { continuation in
            let (waiter, starts) = state.withLock { state in
                state.nextWaiter += 1
                state.waiters[state.nextWaiter] = continuation
                defer { state.isRunning = true }
                return (state.nextWaiter, !state.isRunning)
            }
            let timer = Task { [timeout] in
                do { try await Task.sleep(for: timeout) } catch { return }
                self.giveUp(waiter)
            }
            state.withLock { state in
                // Only what is still waited for needs its timer.
                if state.waiters[waiter] != nil { state.timers[waiter] = timer } else { timer.cancel() }
            }
            if starts { Task { await self.run() } }
        }
    }

    private func run() async {
        let outcome: HealthReport.Check
        do {
            try await body()
            outcome = HealthReport.Check(name: name, ready: true, detail: "")
        } catch {
            outcome = HealthReport.Check(name: name, ready: false, detail: "\(error)")
        }
        let (waiters, timers) = state.withLock { state in
            defer { state = State(nextWaiter: state.nextWaiter) }
            return (state.waiters.values, state.timers.values)
        }
        for timer in timers { timer.cancel() }
        for continuation in waiters { continuation.resume(returning: outcome) }
    }

    private func giveUp(_ waiter: Int) {
        let continuation = state.withLock { state in
            state.timers[waiter] = nil
            return state.waiters.removeValue(forKey: waiter)
        }
        let detail = "no answer within \(timeout)"
        continuation?.resume(returning: HealthReport.Check(name: name, ready: false, detail: detail))
    }
}
