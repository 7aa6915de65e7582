import Logging

/// How a process logs.
///
/// | key | variable | meaning | default |
/// |---|---|---|---|
/// | `log.format` | `COUNTERSIGN_LOG_FORMAT` | `json` or `text` | `text` on a terminal, else `json` |
/// | `log.level` | `COUNTERSIGN_LOG_LEVEL` | `trace` to `critical` | `info` |
struct LogSettings: Sendable {
    var format: LogFormat
    var level: Logger.Level

    /// What holds before the configuration is known.
    static func initial(output: LogOutput = .standardError) -> LogSettings {
        LogSettings(format: output.isTerminal ? .text : .json, level: .info)
    }

    private init(format: LogFormat, level: Logger.Level) {
        self.format = format
        self.level = level
    }

    init(_ settings: SettingReader, output: LogOutput = .standardError) throws(SettingError) {
        let initial = Self.initial(output: output)
        self.format = try settings.choice("log.format", default: initial.format)
        self.level = try settings.choice("log.level", default: initial.level)
    }

    /// A logger of these settings that does not depend on what swift-log was bootstrapped with.
    func logger(_ identity: ServiceIdentity, output: LogOutput = .standardError) -> Logger {
        Logger(label: identity.name) { label in
            LineLogHandler(label: label, service: identity.name, format: format, level: level, output: output)
        }
    }
}
