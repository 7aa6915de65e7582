import Foundation
import Logging

/// How a process logs.
struct LogSettings: Sendable {
    var format: LogFormat
    var level: Logger.Level
    /// Whether each line begins with its priority, by which systemd's journal sorts and colours it.
    var hasPriorities: Bool

    /// What holds before the configuration is known.
    ///
    /// - Parameters:
    ///   - output: Where lines go.
    ///   - journal: `$JOURNAL_STREAM`, which says what output systemd connected to its journal.
    static func initial(
        output: LogOutput = .standardError, journal: String? = ProcessInfo.processInfo.environment["JOURNAL_STREAM"]
    ) -> LogSettings {
        LogSettings(
            format: output.isTerminal ? .text : .json, level: .info, hasPriorities: output.isJournal(journal))
    }

    init(format: LogFormat, level: Logger.Level, hasPriorities: Bool = false) {
        self.format = format
        self.level = level
        self.hasPriorities = hasPriorities
    }

    init(
        _ settings: SettingReader, output: LogOutput = .standardError,
        journal: String? = ProcessInfo.processInfo.environment["JOURNAL_STREAM"]
    ) throws(SettingError) {
        let initial = Self.initial(output: output, journal: journal)
        self.format = try settings.choice("log.format", default: initial.format)
        self.level = try settings.choice("log.level", default: initial.level)
        self.hasPriorities = try settings.bool("log.priorities", default: initial.hasPriorities)
    }

    /// A logger of these settings that does not depend on what swift-log was bootstrapped with.
    func logger(_ identity: ServiceIdentity, output: LogOutput = .standardError) -> Logger {
        Logger(label: identity.name) { label in
            LineLogHandler(label: label, service: identity.name, settings: self, output: output)
        }
    }
}
