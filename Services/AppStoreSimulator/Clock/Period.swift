import Foundation

/// A calendar period as App Store Connect has them, written as in ISO 8601: `P1W`, `P1M`, `P3D`, `P1Y`.
struct Period: Codable, Sendable, Equatable, CustomStringConvertible {
    enum Unit: String, Sendable {
        case day = "D"
        case week = "W"
        case month = "M"
        case year = "Y"
    }

    enum Limit {
        /// A period has at most this many units.
        static let count = 1_000
    }

    var count: Int
    var unit: Unit

    init(_ count: Int, _ unit: Unit) {
        self.count = count
        self.unit = unit
    }

    /// Reads `P1M`; nil when it is something else.
    init?(_ text: String) {
        guard text.hasPrefix("P"), let last = text.last, let unit = Unit(rawValue: String(last)),
            let count = Int(text.dropFirst().dropLast()), (1...Limit.count).contains(count)
        else { return nil }
        self.init(count, unit)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let period = Period(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a period such as P1M")
        }
        self = period
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    var description: String { "P\(count)\(unit.rawValue)" }

    /// About how many months it is; the sandbox counts in months.
    var months: Double {
        switch unit {
        case .day: Double(count) / 30
        case .week: Double(count) / 4
        case .month: Double(count)
        case .year: Double(count) * 12
        }
    }

    /// The instant a period after another, in the Gregorian calendar and UTC; both in milliseconds since 1970.
    ///
    /// A month after 31 January is the last of February, as Apple bills it.
    func added(to instant: Int64) -> Int64 {
        let milliseconds = instant % 1_000
        let date = Date(timeIntervalSince1970: Double(instant / 1_000))
        let component: Calendar.Component =
            switch unit {
            case .day: .day
            case .week: .weekOfYear
            case .month: .month
            case .year: .year
            }
        guard let later = Self.calendar.date(byAdding: component, value: count, to: date) else { return instant }
        return Int64(later.timeIntervalSince1970) * 1_000 + milliseconds
    }

    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()
}
