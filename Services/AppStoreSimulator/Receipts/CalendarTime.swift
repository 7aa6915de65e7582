/// An instant as the calendar has it, in UTC or on Apple's west coast; written by hand, for formatters are slow and a
/// receipt's answer has thousands of dates.
struct CalendarTime: Sendable, Equatable {
    var year: Int64
    var month: Int64
    var day: Int64
    var hour: Int64
    var minute: Int64
    var second: Int64

    private static let secondsOfDay: Int64 = 86_400

    /// - Parameter seconds: since 1970, in UTC.
    init(seconds: Int64) {
        let (days, rest) = Self.quotientAndRemainder(seconds, Self.secondsOfDay)
        // The Gregorian calendar repeats every 146,097 days (400 years); years are counted from 1 March on.
        let (era, dayOfEra) = Self.quotientAndRemainder(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shifted + 2) / 5 + 1
        month = shifted < 10 ? shifted + 3 : shifted - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60)
    }

    /// The time on the clocks of Los Angeles: eight hours behind, in summer seven.
    ///
    /// Summer is from the second Sunday of March to the first of November: the law since 2007, and the store sells
    /// nothing older.
    ///
    /// - Parameter pacificSeconds: since 1970, in UTC.
    init(pacificSeconds seconds: Int64) {
        let year = Self(seconds: seconds).year
        let isSummer =
            seconds >= Self.sunday(2, of: 3, year) + 10 * 3_600 && seconds < Self.sunday(1, of: 11, year) + 9 * 3_600
        self.init(seconds: seconds - (isSummer ? 7 : 8) * 3_600)
    }

    /// Reads `2025-04-30T02:17:37Z` or `2025-04-30T02:17:37.250Z`: the whole seconds since 1970; nil when it is
    /// something else.
    static func seconds(_ text: String) -> Int64? {
        var bytes = Array(text.utf8)
        if bytes.count == 24, bytes[19] == 0x2E { bytes.removeSubrange(19..<23) }
        guard bytes.count == 20, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[10] == 0x54, bytes[19] == 0x5A else {
            return nil
        }
        func number(_ range: Range<Int>) -> Int64? {
            var number: Int64 = 0
            for byte in bytes[range] {
                guard (0x30...0x39).contains(byte) else { return nil }
                number = number * 10 + Int64(byte - 0x30)
            }
            return number
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
            let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month),
            (1...31).contains(day)
        else { return nil }
        return days(year, month, day) * secondsOfDay + hour * 3_600 + minute * 60 + second
    }

    /// Adds `2025-04-30`, `between`, and `02:17:37`.
    func append(to bytes: inout [UInt8], between: UInt8) {
        Self.append(year, digits: 4, to: &bytes)
        bytes.append(0x2D)
        Self.append(month, digits: 2, to: &bytes)
        bytes.append(0x2D)
        Self.append(day, digits: 2, to: &bytes)
        bytes.append(between)
        Self.append(hour, digits: 2, to: &bytes)
        bytes.append(0x3A)
        Self.append(minute, digits: 2, to: &bytes)
        bytes.append(0x3A)
        Self.append(second, digits: 2, to: &bytes)
    }

    /// `2025-04-30 02:17:37`.
    var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes, between: UInt8(ascii: " "))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `2025-04-30T02:17:37Z`, as dates stand in receipts (RFC 3339).
    var internetText: String { internetText(fraction: nil) }

    /// The same, or `2025-04-30T02:17:37.250Z` with a fraction of a second in milliseconds.
    func internetText(fraction: Int64?) -> String {
        var bytes: [UInt8] = []
        append(to: &bytes, between: UInt8(ascii: "T"))
        if let fraction {
            bytes.append(UInt8(ascii: "."))
            Self.append(fraction, digits: 3, to: &bytes)
        }
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(_ number: Int64, digits: Int, to bytes: inout [UInt8]) {
        var divisor: Int64 = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            bytes.append(0x30 + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }

    /// Days since 1970-01-01.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = quotientAndRemainder(year, 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// When the n-th Sunday of a month begins in UTC, in seconds since 1970.
    private static func sunday(_ number: Int64, of month: Int64, _ year: Int64) -> Int64 {
        let first = days(year, month, 1)
        // 1970-01-01 was a Thursday, three days before a Sunday.
        let untilSunday = quotientAndRemainder(3 - first, 7).1
        return (first + untilSunday + (number - 1) * 7) * secondsOfDay
    }

    private static func quotientAndRemainder(_ value: Int64, _ divisor: Int64) -> (Int64, Int64) {
        let remainder = value % divisor
        return remainder < 0 ? (value / divisor - 1, remainder + divisor) : (value / divisor, remainder)
    }
}
