/// Builds a page of the Prometheus text format, version 0.0.4.
///
/// Source: <https://prometheus.io/docs/instrumenting/exposition_formats/>.
struct PrometheusText {
    /// The content type a scraper expects.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    /// The lines above a family's series; without help only that of its type.
    mutating func appendHead(_ name: String, _ kind: MetricKind, help: String?) {
        if let help { text += "# HELP \(name) \(Self.escapedHelp(help))\n" }
        text += "# TYPE \(name) \(kind.rawValue)\n"
    }

    mutating func append(_ name: String, _ labels: [MetricLabel], extra: MetricLabel? = nil, _ value: Double) {
        text += name
        if !labels.isEmpty || extra != nil {
            text += "{"
            var separator = ""
            for label in labels {
                text += "\(separator)\(label.name)=\"\(Self.escaped(label.value))\""
                separator = ","
            }
            if let extra { text += "\(separator)\(extra.name)=\"\(Self.escaped(extra.value))\"" }
            text += "}"
        }
        text += " \(Self.number(value))\n"
    }

    /// A label's value with backslash, quotation mark and line feed escaped.
    static func escaped(_ value: String) -> String {
        guard value.utf8.contains(where: { $0 == 0x5C || $0 == 0x22 || $0 == 0x0A }) else { return value }
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// A line of help with backslash and line feed escaped; a quotation mark stays.
    static func escapedHelp(_ help: String) -> String {
        guard help.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A }) else { return help }
        var escaped = ""
        for scalar in help.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// A number as Go parses it; whole numbers without a fraction.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value.rounded() == value, abs(value) < 1e15 { return String(Int64(value)) }
        return String(value)
    }
}
