import CountersignClient
import Synchronization

/// Time that passes when a test says so.
package final class ManualTime: QueueTime {
    fileprivate struct Sleeper {
        let due: Double
        let continuation: CheckedContinuation<Void, any Error>
    }

    fileprivate struct State {
        var now = 0.0
        var lastNumber = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Seconds since the start.
    package var now: Double {
        state.withLock { $0.now }
    }

    package func sleep(seconds: Double) async throws {
        let number = state.withLock {
            $0.lastNumber += 1
            return $0.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isCancelled, watchers) = state.withLock { state in
                    guard state.cancelled.remove(number) == nil else { return (true, state.takeWatchers()) }
                    state.sleepers[number] = Sleeper(due: state.now + seconds, continuation: continuation)
                    return (false, state.takeWatchers())
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: number)
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Lets seconds pass, and wakes who waited for less.
    package func advance(by seconds: Double) {
        let due = state.withLock { state in
            state.now += seconds
            let due = state.sleepers.filter { $0.value.due <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.due < $1.due }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Waits until at least so many wait for time to pass.
    package func waitForSleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sleepers.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}

extension ManualTime.State {
    fileprivate mutating func takeWatchers() -> [CheckedContinuation<Void, Never>] {
        let ready = watchers.filter { $0.count <= sleepers.count }.map(\.continuation)
        watchers.removeAll { $0.count <= sleepers.count }
        return ready
    }
}
