// Not used by name: in debug builds the compiler takes `stat` for a member of this module, and wants it imported.
import CDispatch
import Foundation
import Synchronization

/// Writes whole lines to a file descriptor: one `write` a line, one line at a time, never waiting for long.
///
/// A reader that stops reading (a stuck log collector behind a pipe) must not stop a service that handles purchases.
/// So each write first asks whether the descriptor takes bytes; when it does not within ``waitMaximum``, the line is
/// dropped, and following lines do not wait at all until it takes bytes again, when a line says how many are missing.
final class LogOutput: Sendable {
    /// How long one line may wait for a reader: longer than a scheduling hiccup, too short to matter to a request.
    static let waitMaximum = Duration.milliseconds(100)
    /// The most bytes one `write` passes: PIPE_BUF, up to which a writable pipe takes all without blocking.
    static let chunkBytesMaximum = 4096

    /// Standard error.
    static let standardError = LogOutput(descriptor: STDERR_FILENO)

    private struct State {
        var isStalled = false
        var isMidLine = false
        var dropped = 0
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Whether a person reads along.
    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// Whether the descriptor is the one that `$JOURNAL_STREAM` names as `device:inode`, as systemd.exec(5) has it.
    ///
    /// A shell's redirection inherits the variable, and not the descriptor.
    func isJournal(_ stream: String?) -> Bool { stream != nil && stream == self.stream }

    /// The descriptor's `device:inode`.
    var stream: String? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? "\(status.st_dev):\(status.st_ino)" : nil
    }

    /// Lines dropped since the last one that got through.
    var droppedLines: Int { state.withLock { $0.dropped } }

    /// Writes one line.
    ///
    /// - Parameters:
    ///   - line: The bytes with their line feed.
    ///   - noticeOfDropped: Makes the line that tells how many lines are missing before this one.
    func write(_ line: [UInt8], noticeOfDropped: (Int) -> [UInt8]) {
        state.withLock { state in
            var bytes = state.isMidLine ? [UInt8(ascii: "\n")] : []
            if state.dropped > 0 { bytes += noticeOfDropped(state.dropped) }
            bytes += line
            let wait = state.isStalled ? Duration.zero : Self.waitMaximum
            let written = transfer(bytes, wait: wait)
            if written == bytes.count {
                state = State()
            } else {
                state.isStalled = true
                state.dropped += 1
                if written > 0 { state.isMidLine = bytes[written - 1] != UInt8(ascii: "\n") }
            }
        }
    }

    /// Passes on as many bytes as the descriptor takes in time, and says how many.
    private func transfer(_ bytes: [UInt8], wait: Duration) -> Int {
        var offset = 0
        while offset < bytes.count {
            guard waitUntilWritable(wait) else { break }
            let end = min(offset + Self.chunkBytesMaximum, bytes.count)
            let count = bytes[offset..<end].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                offset += count
            } else if errno != EINTR {
                // Full after all, or the reader is gone.
                break
            }
        }
        return offset
    }

    private func waitUntilWritable(_ wait: Duration) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let milliseconds = Int32(wait.components.seconds * 1000 + wait.components.attoseconds / 1_000_000_000_000_000)
        return poll(&request, 1, milliseconds) == 1 && request.revents & Int16(POLLOUT) != 0
    }
}
