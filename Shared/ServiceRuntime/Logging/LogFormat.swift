import Foundation
import Logging

/// How log lines look.
enum LogFormat: String, Sendable, CaseIterable {
    /// One JSON object a line, for machines.
    case json
    /// Readable lines, for a terminal.
    case text
}

/// One log line before it is written out.
struct LogLine {
    /// The most bytes of one text (message or value) that are written; the rest is cut off with an ellipsis.
    static let textBytesMaximum = 4096
    /// The most fields of one line; the rest is left out.
    static let fieldsMaximum = 48
    /// Names the line itself uses; a field of such a name is written with `field_` before it.
    static let reservedNames: Set<String> = ["time", "level", "service", "logger", "message"]

    var time: timespec
    var level: Logger.Level
    var service: String
    /// The logger's label, when it is not the service's own.
    var logger: String?
    var message: String
    var fields: [(name: String, value: LogValue)]

    /// The present time.
    static func now() -> timespec {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return time
    }

    /// Flattens metadata: nested dictionaries by full stops (`a.b`), arrays by index (`a.0`), sorted by name.
    static func fields(of metadata: Logger.Metadata) -> [(name: String, value: LogValue)] {
        var fields: [(name: String, value: LogValue)] = []
        for (key, value) in metadata {
            append(value, name: reservedNames.contains(key) ? "field_\(key)" : key, to: &fields)
        }
        fields.sort { $0.name < $1.name }
        return Array(fields.prefix(fieldsMaximum))
    }

    private static func append(
        _ value: Logger.MetadataValue, name: String, to fields: inout [(name: String, value: LogValue)]
    ) {
        switch value {
        case .string(let text): fields.append((name, .text(text)))
        case .stringConvertible(let convertible): fields.append((name, LogValue(convertible)))
        case .dictionary(let members):
            for (key, member) in members { append(member, name: "\(name).\(key)", to: &fields) }
        case .array(let elements):
            for (index, element) in elements.enumerated() { append(element, name: "\(name).\(index)", to: &fields) }
        }
    }
}

/// A field's value: text, or something that JSON writes without quotation marks.
enum LogValue: Equatable {
    case text(String)
    case literal(String)

    init(_ value: any CustomStringConvertible) {
        switch value {
        case let number as any BinaryInteger: self = .literal("\(number)")
        case let number as Double where number.isFinite: self = .literal("\(number)")
        case let truth as Bool: self = .literal(truth ? "true" : "false")
        default: self = .text(value.description)
        }
    }
}
