import Foundation
import Synchronization

/// What a consumer's thread sleeps on: librdkafka writes to it when a queue gets something, and we when it should look.
///
/// A pipe and not librdkafka's own yield, because the thread waits for two queues at once.
final class WakePipe: Sendable {
    /// The bytes that librdkafka writes; their content means nothing.
    private static let drainBytesMaximum = 256

    let readEnd: Int32
    let writeEnd: Int32
    private let isOpen = Mutex(true)

    /// Throws `.native` when the process has no file descriptors left.
    init() throws(KafkaError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw KafkaError(.native, isRetriable: true, "no file descriptor is left") }
        for end in ends {
            // librdkafka writes while it holds the queue's lock, so a full pipe must not block.
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit { close() }

    /// Wakes the thread, or lets its next sleep end at once.
    func wake() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            var byte: UInt8 = 1
            // A full pipe wakes just as well.
            _ = write(writeEnd, &byte, 1)
        }
    }

    /// Sleeps until woken, at most for `limit`.
    ///
    /// Empties the pipe before the queues are looked at, so that nothing is missed.
    func sleep(atMost limit: Duration) {
        var entry = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
        // Rounded up: rounding down would spin through the last millisecond before a deadline.
        guard poll(&entry, 1, limit <= .zero ? 0 : limit.wholeMilliseconds + 1) > 0 else { return }
        var bytes = [UInt8](repeating: 0, count: Self.drainBytesMaximum)
        while read(readEnd, &bytes, bytes.count) == bytes.count {}
    }

    /// Closes both ends; only when librdkafka can no longer write.
    func close() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            isOpen = false
            _ = Foundation.close(readEnd)
            _ = Foundation.close(writeEnd)
        }
    }
}
