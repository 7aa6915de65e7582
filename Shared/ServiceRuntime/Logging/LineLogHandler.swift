import Logging

/// swift-log's handler for all processes: one line a message, as JSON or readable.
struct LineLogHandler: LogHandler {
    let label: String
    let service: String
    let format: LogFormat
    let output: LogOutput
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(
        label: String, service: String, format: LogFormat, level: Logger.Level, output: LogOutput = .standardError,
        metadataProvider: Logger.MetadataProvider? = nil
    ) {
        self.label = label
        self.service = service
        self.format = format
        self.logLevel = level
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
        output.write(line.encoded(format)) { dropped in
            LogLine(
                time: line.time, level: .warning, service: service, logger: nil,
                message: "log lines were dropped, because nobody read them",
                fields: [(LogKey.count.rawValue, .literal("\(dropped)"))]
            )
            .encoded(format)
        }
    }
}
