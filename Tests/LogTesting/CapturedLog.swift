package import Logging
import Synchronization

/// Keeps log lines for a test to look at.
package final class CapturedLog: Sendable {
    private let lines = Mutex<[(level: Logger.Level, text: String)]>([])

    package init() {}

    /// All lines, each with its fields after the message.
    package var texts: [String] { lines.withLock { $0.map(\.text) } }
    /// The lines of one level.
    package func texts(_ level: Logger.Level) -> [String] {
        lines.withLock { $0.filter { $0.level == level }.map(\.text) }
    }
    /// A logger that writes here.
    package func logger() -> Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: CapturedLog
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
            let text = "\(event.message)" + fields.map { " \($0.key)=\($0.value)" }.joined()
            log.lines.withLock { $0.append((event.level, text)) }
        }
    }
}
