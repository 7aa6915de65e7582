import Foundation
import Messages

/// How the tool writes what it found.
enum ToolOutput {
    /// A value as JSON for programs: snake case, sorted, one field a line, times as the API has them; what is nil is left out.
    ///
    /// - Throws: `EncodingError`.
    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(MessageCoding.text(date))
        }
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Prints the answer on standard output: for programs, or for people.
    ///
    /// - Throws: `EncodingError`.
    static func answer(_ value: some Encodable, json isJSON: Bool, _ text: @autoclosure () -> String) throws {
        print(isJSON ? try json(value) : text())
    }

    /// A line on standard error for the person, beside the answer: progress, or a warning.
    static func note(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }

    /// The text with spaces behind it, up to a width.
    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// The text with spaces before it, up to a width.
    static func rightAligned(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// Rows as columns, two spaces between them; the first row is the heading.
    ///
    /// - Parameter rightAligned: the columns of numbers.
    static func table(_ rows: [[String]], rightAligned numbers: Set<Int> = []) -> String {
        let columns = rows.first?.count ?? 0
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, cell in
                if numbers.contains(column) { return rightAligned(cell, widths[column]) }
                return column == columns - 1 ? cell : padded(cell, widths[column])
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// A number with so many digits after the point.
    static func number(_ value: Double, digits: Int) -> String {
        value.formatted(
            .number.precision(.fractionLength(digits)).grouping(.never).locale(Locale(identifier: "en_US_POSIX")))
    }

    /// Seconds as a person says them: `4 s`, `3 min`, `2 h`, `5 d`.
    static func age(_ seconds: Double) -> String {
        switch seconds {
        case ..<120: "\(Int(seconds)) s"
        case ..<7200: "\(Int(seconds / 60)) min"
        case ..<172_800: "\(Int(seconds / 3600)) h"
        default: "\(Int(seconds / 86_400)) d"
        }
    }
}
