/// A part of a settings file that is to be written: YAML in the two ways that people write it.
indirect enum SettingValue: Sendable {
    case text(String)
    case number(Int64)
    case flag(Bool)
    case list([SettingValue])
    case fields([(name: String, value: SettingValue)])

    /// In one line: `{ id: backend, events: ["iap.*"] }`.
    var flow: String {
        switch self {
        case .text(let text): Self.scalar(text)
        case .number(let number): "\(number)"
        case .flag(let flag): "\(flag)"
        case .list(let values): "[" + values.map(\.flow).joined(separator: ", ") + "]"
        case .fields(let fields) where fields.isEmpty: "{}"
        case .fields(let fields):
            "{ " + fields.map { "\($0.name): \($0.value.flow)" }.joined(separator: ", ") + " }"
        }
    }

    /// A field with this value: a line for each scalar, indented.
    func lines(ofField name: String, indent: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        switch self {
        case .fields(let fields) where !fields.isEmpty:
            return ["\(margin)\(name):"] + fields.flatMap { $0.value.lines(ofField: $0.name, indent: indent + 2) }
        case .list(let values) where !values.isEmpty:
            return ["\(margin)\(name):"] + values.flatMap { $0.linesOfItem(indent: indent + 2) }
        default:
            return ["\(margin)\(name): \(flow)"]
        }
    }

    /// An entry of a list with this value: `- ` before the first line, the others below it.
    func linesOfItem(indent: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        guard case .fields(let fields) = self, !fields.isEmpty else { return ["\(margin)- \(flow)"] }
        var lines = fields.flatMap { $0.value.lines(ofField: $0.name, indent: indent + 2) }
        lines[0] = "\(margin)- \(lines[0].dropFirst(indent + 2))"
        return lines
    }

    /// Words that YAML 1.1 does not take for texts.
    private static let reserved: Set<String> = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"]

    /// A text as a scalar: in quotes unless it is certain that it needs none.
    private static func scalar(_ text: String) -> String {
        let isPlain =
            text.first.map { $0.isASCII && ($0.isLetter || $0 == "/") } == true && text.last != ":"
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/._:-".contains($0)) }
            && !reserved.contains(text.lowercased())
        guard !isPlain else { return text }
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case _ where scalar.properties.generalCategory == .control: "\\u" + fourDigits(scalar.value)
            default: "\(scalar)"
            }
        }
        return "\"\(escaped.joined())\""
    }

    private static func fourDigits(_ value: UInt32) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
