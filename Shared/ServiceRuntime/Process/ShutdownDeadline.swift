import Dispatch
import Foundation
import Synchronization

/// Ends the process when a graceful shutdown does not end by itself.
///
/// It waits on a thread of its own: what hangs may well be the cooperative pool.
final class ShutdownDeadline: Sendable {
    private let timeout: Duration
    private let onExpiry: @Sendable () -> Void
    private let finished = DispatchSemaphore(value: 0)
    private let isStarted = Mutex(false)

    /// Makes a deadline that has not begun.
    ///
    /// - Parameters:
    ///   - timeout: How long the shutdown may take.
    ///   - onExpiry: Runs on the deadline's thread when it took longer.
    init(timeout: Duration, onExpiry: @escaping @Sendable () -> Void) {
        self.timeout = timeout
        self.onExpiry = onExpiry
    }

    /// Lets the time begin, once.
    func start() {
        let isFirst = isStarted.withLock { isStarted in
            defer { isStarted = true }
            return !isStarted
        }
        guard isFirst else { return }
        let (seconds, attoseconds) = timeout.components
        let end = DispatchTime.now() + Double(seconds) + Double(attoseconds) / 1e18
        let thread = Thread { [finished, onExpiry] in
            if finished.wait(timeout: end) == .timedOut { onExpiry() }
        }
        thread.name = "shutdown-timer"
        thread.start()
    }

    /// Says that the shutdown has ended.
    func finish() {
        finished.signal()
    }
}
