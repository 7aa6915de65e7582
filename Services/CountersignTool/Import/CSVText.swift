/// Comma-separated values, one row a record.
///
/// Source: RFC 4180; also with semicolons or tabs between.
enum CSVText {
    private static let quote = UInt8(ascii: "\"")
    private static let separators = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]

    /// What stands between the fields, by the names of the columns: the first of comma, semicolon and tab.
    static func separator(of header: [UInt8]) -> UInt8 {
        separators.first { header.contains($0) } ?? separators[0]
    }

    /// Why some text is no record.
    enum Flaw: Error {
        /// A quote stands where none may.
        case strayQuote
        /// A quoted field does not end: it may go on in the next line.
        case open
    }

    /// The fields of a record.
    static func fields(_ bytes: [UInt8], separator: UInt8) throws(Flaw) -> [String] {
        guard bytes.contains(quote) else {
            return bytes.split(separator: separator, omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
        }
        var fields: [String] = []
        var field: [UInt8] = []
        var place = 0
        while true {
            field.removeAll(keepingCapacity: true)
            if place < bytes.count, bytes[place] == quote {
                place = try quoted(bytes, from: place + 1, into: &field)
            } else {
                while place < bytes.count, bytes[place] != separator {
                    guard bytes[place] != quote else { throw .strayQuote }
                    field.append(bytes[place])
                    place += 1
                }
            }
            fields.append(String(decoding: field, as: UTF8.self))
            guard place < bytes.count else { return fields }
            guard bytes[place] == separator else { throw .strayQuote }
            place += 1
        }
    }

    /// Reads a field up to its closing quote; two quotes are one.
    ///
    /// - Returns: the place behind it.
    private static func quoted(
        _ bytes: [UInt8], from start: Int, into field: inout [UInt8]
    ) throws(Flaw) -> Int {
        var place = start
        while place < bytes.count {
            if bytes[place] != quote {
                field.append(bytes[place])
                place += 1
            } else if place + 1 < bytes.count, bytes[place + 1] == quote {
                field.append(quote)
                place += 2
            } else {
                return place + 1
            }
        }
        throw .open
    }

    /// A field as it is written.
    static func written(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == quote || $0 == UInt8(ascii: ",") || $0 == 10 || $0 == 13 }) else {
            return text
        }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}
