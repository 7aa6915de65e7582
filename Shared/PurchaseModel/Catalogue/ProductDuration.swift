package import Foundation

/// How long something is good: a calendar duration of days, weeks, months or years, such as `P30D`, `P1W`, `P3M`, `P1Y`.
///
/// Source: ISO 8601, as Apple's own `offerPeriod` writes it.
package struct ProductDuration: Sendable, Hashable, CustomStringConvertible {
    /// What is counted.
    package enum Unit: Character, Sendable, Hashable, CaseIterable {
        case day = "D"
        case week = "W"
        case month = "M"
        case year = "Y"
    }

    enum Limit {
        /// Above any real duration, and far below where dates end.
        static let count = 1...1_000
    }

    /// How many units, 1 to 1,000.
    package let count: Int
    /// What is counted.
    package let unit: Unit

    /// A duration of a number within the limit, which is the caller's to keep.
    init(count: Int, unit: Unit) {
        self.count = count
        self.unit = unit
    }

    /// Reads one unit with its number; nil for anything else.
    package init?(_ text: String) {
        guard text.first == "P", let last = text.last, let unit = Unit(rawValue: last) else { return nil }
        let digits = text.dropFirst().dropLast()
        guard !digits.isEmpty, digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
            let count = Int(digits), Limit.count.contains(count)
        else { return nil }
        self.count = count
        self.unit = unit
    }

    /// As it is written.
    package var description: String { "P\(count)\(unit.rawValue)" }

    /// The instant that lies so much later, by the Gregorian calendar in UTC; a month's end stays in its month.
    package func end(after start: Date) -> Date {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let component: Calendar.Component =
            switch unit {
            case .day: .day
            case .week: .weekOfYear
            case .month: .month
            case .year: .year
            }
        return calendar.date(byAdding: component, value: count, to: start) ?? start
    }
}
