import BlockingThreads
import CLibrdkafka
import Foundation

/// Has a client send what it was given without waiting for company.
///
/// librdkafka knows one linger for all messages; `rd_kafka_flush` passes over it while it lasts, and blocks. So it has a thread
/// of its own, which sleeps until somebody asks.
final class ProducerFlusher: Sendable {
    /// How long a flush may last: until all is acknowledged, which takes a millisecond or two, or the broker is away.
    private static let flushTime = Duration.milliseconds(50)

    private let client: ThreadSafeHandle
    /// A condition and not a `Mutex`, because the thread must sleep while there is nothing to do.
    private let condition = NSCondition()
    // Safety: all three are only touched between `condition.lock()` and `condition.unlock()`.
    private nonisolated(unsafe) var isAsked = false
    private nonisolated(unsafe) var isStopped = false
    private nonisolated(unsafe) var hasEnded = false

    init(client: ThreadSafeHandle) {
        self.client = client
    }

    /// Starts the thread, which runs until ``stop()``.
    func start() {
        _ = BlockingThread.start(name: "kafka-flush") { self.run() }
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

    private func run() {
        while waitUntilAsked() { rd_kafka_flush(client.pointer, Self.flushTime.wholeMilliseconds) }
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
