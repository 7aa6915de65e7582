import Foundation

/// How the laboratory's commands write what they found.
enum ToolOutput {
    /// A value as JSON for programs: snake case, sorted, one field a line.
    ///
    /// - Throws: `EncodingError`.
    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// The text with spaces behind it, up to a width.
    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// A number with so many digits after the point.
    static func number(_ value: Double, digits: Int) -> String {
        value.formatted(
            .number.precision(.fractionLength(digits)).grouping(.never).locale(Locale(identifier: "en_US_POSIX")))
    }

    /// An instant of real time, `2026-01-01T00:00:00.000Z`.
    static func instant(_ date: Date) -> String {
        // The style cuts where a reader expects rounding.
        date.addingTimeInterval(0.0005).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
