import Foundation
import Hummingbird
import HummingbirdCore
import ServiceRuntime

/// A place in a list as callers hold it, in `next` and `after`: nothing to read, and nothing to make by hand.
enum ListCursor {
    /// The longest that is read: two ids in base64url.
    static let bytesMaximum = 2_000
    /// The year 9999: the database can add so much to 1970.
    private static let microsecondsMaximum: Int64 = 253_402_300_799_000_000

    /// The cursor of the values that a list is sorted by.
    ///
    /// - Parameter parts: none but the last with a line break.
    static func text(_ parts: String...) -> String {
        Base64URL.encode(Data(parts.joined(separator: "\n").utf8))
    }

    /// The two values of a cursor; nil for what is none of ours.
    static func parts(_ cursor: String) -> (first: String, second: String)? {
        guard cursor.utf8.count <= bytesMaximum, let data = Base64URL.decode(cursor),
            let text = String(validating: data, as: UTF8.self), !text.utf8.contains(0),
            let end = text.firstIndex(of: "\n")
        else { return nil }
        return (String(text[..<end]), String(text[text.index(after: end)...]))
    }

    /// A time of a cursor in microseconds since 1970; nil for what is none that the database can have.
    static func microseconds(_ text: String) -> Int64? {
        guard ReadingQuery.isDigits(text), let microseconds = Int64(text), microseconds <= microsecondsMaximum else {
            return nil
        }
        return microseconds
    }

    /// `?after=`: the place that the page before ended with; nil for the first page.
    ///
    /// - Parameter read: makes the place of the cursor's two values.
    /// - Throws: `ProblemDetails` for what is none of the list's cursors.
    static func position<Position>(
        _ request: Request, _ read: (_ first: String, _ second: String) -> Position?
    ) throws -> Position? {
        guard let text = ReadingQuery.text("after", in: request) else { return nil }
        guard let parts = parts(text), let position = read(parts.first, parts.second) else { throw invalid }
        return position
    }

    static let invalid = ProblemDetails.fieldInvalid("after", "the `next` of the page before, as it was")
}
