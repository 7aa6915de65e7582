import Foundation

/// When a subscription's period ends: calendar periods in UTC, or the sandbox's short ones.
///
/// Instants are milliseconds since 1970.
enum BillingCalendar {
    enum Limit {
        /// The shortest period and grace of a fast sandbox, in milliseconds: Apple's dates are whole seconds.
        static let shortest: Int64 = 1_000
        /// How many times a sandbox subscription renews before it ends by itself (apple-facts C9).
        static let sandboxRenewals = 12
    }

    /// How long the billing attempts go on after a failure (apple-facts C15).
    static let billingRetry: Int64 = 60 * day
    /// A lapse of at most this is no new start of a subscription (Apple: recentSubscriptionStartDate).
    static let lapse: Int64 = 60 * day
    /// The grace of subscriptions of a week or less, whatever the app chose beyond it (App Store Connect).
    static let weeklyGrace: Int64 = 6 * day
    static let day: Int64 = 86_400_000

    /// The length of a subscription's period when the product names none.
    static let defaultPeriod = Period(1, .month)

    /// The end of a period that begins at `start`.
    ///
    /// - Parameters:
    ///   - billingDay: the day of the month on which it was first bought. A start at the end of a shorter month comes back
    ///     to it in a longer one: 31 January, 28 February, 31 March.
    ///   - sandboxMonth: how long a month takes instead.
    static func end(of period: Period, from start: Int64, billingDay: Int?, sandboxMonth: Int64?) -> Int64 {
        if let sandboxMonth {
            let length = Int64((period.months * Double(sandboxMonth)).rounded())
            return start + max(length / 1_000 * 1_000, Limit.shortest)
        }
        let end = period.added(to: start)
        guard period.isOfMonths, let billingDay, isMonthsEnd(start), billingDay > dayOfMonth(end) else { return end }
        return end + Int64(min(billingDay, daysInMonth(end)) - dayOfMonth(end)) * day
    }

    /// The billing day of a period: it stays while the start is only short of it, and is the start's day otherwise.
    static func billingDay(_ known: Int?, from start: Int64) -> Int {
        let own = dayOfMonth(start)
        guard let known, isMonthsEnd(start), known > own else { return own }
        return known
    }

    /// A span of real time, as long as it is in the sandbox: a month of 30 days takes `sandboxMonth`.
    static func scaled(_ span: Int64, sandboxMonth: Int64?) -> Int64 {
        guard let sandboxMonth else { return span }
        return max(Int64(Double(span) / Double(30 * day) * Double(sandboxMonth)), Limit.shortest)
    }

    static func dayOfMonth(_ instant: Int64) -> Int { calendar.component(.day, from: date(instant)) }

    private static func isMonthsEnd(_ instant: Int64) -> Bool { dayOfMonth(instant) == daysInMonth(instant) }

    private static func daysInMonth(_ instant: Int64) -> Int {
        calendar.range(of: .day, in: .month, for: date(instant))?.count ?? 31
    }

    private static func date(_ instant: Int64) -> Date { Date(timeIntervalSince1970: Double(instant / 1_000)) }

    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()
}

extension Period {
    fileprivate var isOfMonths: Bool { unit == .month || unit == .year }

    /// Whether it is a week or less.
    var isShort: Bool { unit == .day && count <= 7 || unit == .week && count == 1 }

    /// Whether two are as long: a year is twelve months, a week seven days.
    func isAsLong(as other: Period) -> Bool {
        let (own, others) = (normalized, other.normalized)
        return own.count == others.count && own.unit == others.unit
    }

    private var normalized: Period {
        switch unit {
        case .year: Period(count * 12, .month)
        case .week: Period(count * 7, .day)
        case .month, .day: self
        }
    }
}

extension ProductRecord {
    /// A subscription's period; a month when none was named.
    var billedPeriod: Period { period ?? BillingCalendar.defaultPeriod }
}
