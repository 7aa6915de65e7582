import Foundation
import Synchronization

/// A line at the terminal that says how far a command is, and goes away with the answer.
///
/// Where standard error is no terminal nothing is written: logs and pipes have no use for it.
final class ProgressLine: Sendable {
    private enum Limit {
        /// A command that has its answer within this time says nothing.
        static let patience = Duration.milliseconds(500)
        /// Columns of the line at most, so that it is one line.
        static let columns = 100
    }

    private let isShown: Bool
    private let start = ContinuousClock.now
    private let hasWritten = Mutex(false)

    init() {
        isShown = isatty(STDERR_FILENO) == 1
    }

    /// Replaces the line.
    func show(_ text: @autoclosure () -> String) {
        let elapsed = ContinuousClock.now - start
        guard isShown, elapsed >= Limit.patience else { return }
        write("\r\u{1B}[K" + String("\(text()), \(elapsed.components.seconds) s".prefix(Limit.columns)))
        hasWritten.withLock { $0 = true }
    }

    /// Takes the line away.
    func end() {
        guard hasWritten.withLock({ $0 }) else { return }
        write("\r\u{1B}[K")
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
