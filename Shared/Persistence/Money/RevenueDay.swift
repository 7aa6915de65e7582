package import Postgres

/// A day of the calendar in UTC, as the money views count days: `2026-03-15`.
package struct RevenueDay: Codable, Sendable, Hashable, Comparable, CustomStringConvertible, PostgresDecodable {
    private enum Limit {
        /// The App Store sold nothing before, and no date here is later.
        static let years = 1970...9999
    }

    /// `YYYY-MM-DD`.
    package let description: String

    /// Reads a day that the calendar has; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2],
            parts.allSatisfy({ $0.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) }),
            let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2]), Limit.years.contains(year),
            (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day)
        else { return nil }
        description = text
    }

    /// A day that the database wrote as text.
    ///
    /// - Throws: `PostgresError`.
    package static func decode(_ cell: PostgresCell) throws(PostgresError) -> RevenueDay {
        RevenueDay(description: try String.decode(cell))
    }

    private init(description: String) {
        self.description = description
    }

    /// By time; the text sorts as the days do.
    package static func < (left: RevenueDay, right: RevenueDay) -> Bool { left.description < right.description }

    /// As its text.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let day = RevenueDay(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a day such as 2026-03-15")
        }
        self = day
    }

    /// As its text.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    private static func days(in month: Int, of year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    }
}
