import Dispatch
import Foundation
import Synchronization

/// Starts threads for work that blocks: C libraries' poll loops, and calls that wait for a network.
public enum BlockingThread {
    /// Runs `body` on a new thread.
    ///
    /// - Parameters:
    ///   - name: shown by `ps -L` and debuggers; the system keeps the first 15 bytes.
    ///   - body: the thread's whole life; the thread ends when it returns.
    /// - Returns: a handle to wait for the end.
    public static func start(name: String, _ body: @escaping @Sendable () -> Void) -> BlockingThreadHandle {
        let handle = BlockingThreadHandle()
        let hasStarted = DispatchSemaphore(value: 0)
        let thread = Thread {
            // Foundation on Linux tells the system of a name only once the call that starts the thread has returned.
            hasStarted.wait()
            Thread.current.name = String(name.prefix(15))
            body()
            handle.finish()
        }
        thread.stackSize = 1 << 20
        thread.start()
        hasStarted.signal()
        return handle
    }
}

/// The end of a thread, to wait for.
public final class BlockingThreadHandle: Sendable {
    private enum State {
        case running([CheckedContinuation<Void, Never>])
        case ended
    }

    private let state = Mutex(State.running([]))

    init() {}

    /// Waits until the thread's body has returned; returns at once when it has.
    public func join() async {
        await withCheckedContinuation { continuation in
            let isEnded = state.withLock { state in
                switch state {
                case .running(var waiters):
                    waiters.append(continuation)
                    state = .running(waiters)
                    return false
                case .ended:
                    return true
                }
            }
            if isEnded { continuation.resume() }
        }
    }

    func finish() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard case .running(let waiters) = state else { return [] }
            state = .ended
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
