import Logging

/// swift-log's handler for all processes: one line a message, as JSON or readable.
struct LineLogHandler: LogHandler {
    let label: String
    let service: String
    let format: LogFormat
    /// Whether each line begins with its priority, which the journal takes off again.
    let hasPriorities: Bool
    let output: LogOutput
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(
        label: String, service: String, settings: LogSettings, output: LogOutput = .standardError,
        metadataProvider: Logger.MetadataProvider? = nil
    ) {
        self.label = label
        self.service = service
        self.format = settings.format
        self.hasPriorities = settings.hasPriorities
        self.logLevel = settings.level
        self.output = output
        self.metadataProvider = metadataProvider
    }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = metadata
        if let provided = metadataProvider?.get() { fields.merge(provided) { _, new in new } }
        if let own = event.metadata { fields.merge(own) { _, new in new } }
        if let error = event.error { fields[LogKey.error.rawValue] = "\(error)" }
        let line = LogLine(
            time: LogLine.now(), level: event.level, service: service, logger: label == service ? nil : label,
            message: event.message.description, fields: LogLine.fields(of: fields))
        output.write(encoded(line)) { dropped in
            encoded(
                LogLine(
                    time: line.time, level: .warning, service: service, logger: nil,
                    message: "log lines were dropped, because nobody read them",
                    fields: [(LogKey.count.rawValue, .literal("\(dropped)"))]
                ))
        }
    }

    private func encoded(_ line: LogLine) -> [UInt8] {
        hasPriorities ? Array("<\(line.level.priority)>".utf8) + line.encoded(format) : line.encoded(format)
    }
}

extension Logger.Level {
    /// The priority of syslog(3), which sd-daemon(3) has at the beginning of a line as `<4>`.
    var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
