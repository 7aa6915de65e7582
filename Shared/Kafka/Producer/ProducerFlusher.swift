import BlockingThreads
import CLibrdkafka
import Foundation

/// Has a client send what it was given at once, and says when that is acknowledged.
///
/// librdkafka's linger is for all messages; `rd_kafka_flush` passes over it while it lasts, and blocks. So it has a thread of its
/// own, which sleeps until somebody asks.
final class ProducerFlusher: Sendable {
    private let client: ThreadSafeHandle
    private let timeLimit: Duration
    /// A condition and not a `Mutex`, because the thread must sleep while there is nothing to do.
    private let condition = NSCondition()
    // Safety: all three are only touched between `condition.lock()` and `condition.unlock()`.
    private nonisolated(unsafe) var isAsked = false
    private nonisolated(unsafe) var isStopped = false
    private nonisolated(unsafe) var hasEnded = false

    /// - Parameter timeLimit: how long a flush may last, where what it sends is not acknowledged.
    init(client: ThreadSafeHandle, timeLimit: Duration) {
        self.client = client
        self.timeLimit = timeLimit
    }

    /// Starts the thread, which runs until ``stop()``.
    ///
    /// - Parameter flushed: called on it after each flush; true asks for another.
    func start(_ flushed: @escaping @Sendable () -> Bool) {
        _ = BlockingThread.start(name: "kafka-flush") { self.run(flushed) }
    }

    /// Asks for a flush; returns at once.
    func flush() {
        condition.lock()
        isAsked = true
        condition.broadcast()
        condition.unlock()
    }

    /// Ends the thread and waits for that: the client may be destroyed then.
    func stop() {
        condition.lock()
        isStopped = true
        condition.broadcast()
        while !hasEnded { condition.wait() }
        condition.unlock()
    }

    private func run(_ flushed: () -> Bool) {
        while waitUntilAsked() {
            repeat { rd_kafka_flush(client.pointer, timeLimit.wholeMilliseconds) } while flushed()
        }
    }

    /// False once it is stopped.
    private func waitUntilAsked() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while !isAsked && !isStopped { condition.wait() }
        isAsked = false
        guard isStopped else { return true }
        hasEnded = true
        condition.broadcast()
        return false
    }
}
