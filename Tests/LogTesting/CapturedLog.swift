package import Logging
import Synchronization

/// Keeps log lines for a test to look at.
package final class CapturedLog: Sendable {
    private let lines = Mutex<[(level: Logger.Level, message: String, fields: [String: String])]>([])

    package init() {}

    /// All lines.
    package var all: [(level: Logger.Level, message: String, fields: [String: String])] { lines.withLock { $0 } }
    /// All lines, each with its fields after the message.
    package var texts: [String] { all.map { Self.text($0.message, $0.fields) } }
    /// The lines of one level.
    package func texts(_ level: Logger.Level) -> [String] {
        all.filter { $0.level == level }.map { Self.text($0.message, $0.fields) }
    }
    /// A logger that writes here.
    package func logger() -> Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private static func text(_ message: String, _ fields: [String: String]) -> String {
        message + fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    }

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
            let fields = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
            log.lines.withLock { $0.append((event.level, "\(event.message)", fields)) }
        }
    }
}
