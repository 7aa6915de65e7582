import Foundation

/// Reads the dates of receipts, RFC 3339 by bytes; formatters are slow, and a receipt can have thousands of dates.
enum ReceiptDate {
    /// The shortest: `2020-07-22T17:39:08Z`.
    private static let bytesMinimum = 20
    /// With nine digits of a fraction and an offset.
    private static let bytesMaximum = 35
    private static let secondsOfDay: Int64 = 86_400

    /// The time that a text is; nil when it is anything else.
    ///
    /// Fractions of a second are read to the millisecond. There is no leap second: Apple writes none.
    static func date(_ text: ArraySlice<UInt8>) -> Date? {
        guard (bytesMinimum...bytesMaximum).contains(text.count) else { return nil }
        let start = text.startIndex
        guard text[start + 4] == UInt8(ascii: "-"), text[start + 7] == UInt8(ascii: "-"),
            text[start + 10] == UInt8(ascii: "T"), text[start + 13] == UInt8(ascii: ":"),
            text[start + 16] == UInt8(ascii: ":"), let year = number(text, start, 4),
            let month = number(text, start + 5, 2), let day = number(text, start + 8, 2),
            let hour = number(text, start + 11, 2), let minute = number(text, start + 14, 2),
            let second = number(text, start + 17, 2), year >= 1, (1...12).contains(month), day >= 1,
            day <= daysOfMonth(month, year: year), hour < 24, minute < 60, second < 60
        else { return nil }
        guard let (milliseconds, offset) = tail(text[(start + 19)...]) else { return nil }
        let seconds = days(year, month, day) * secondsOfDay + hour * 3_600 + minute * 60 + second - offset
        return Date(timeIntervalSince1970: Double(seconds * 1_000 + milliseconds) / 1_000)
    }

    /// What follows the seconds: a fraction in milliseconds, and the offset from UTC in seconds.
    private static func tail(_ text: ArraySlice<UInt8>) -> (milliseconds: Int64, offset: Int64)? {
        var rest = text
        var milliseconds: Int64 = 0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix { isDigit($0) }
            guard !digits.isEmpty else { return nil }
            for place in 0..<3 {
                let digit = place < digits.count ? digits[digits.startIndex + place] - UInt8(ascii: "0") : 0
                milliseconds = milliseconds * 10 + Int64(digit)
            }
            rest = rest[digits.endIndex...]
        }
        guard let sign = rest.first else { return nil }
        if sign == UInt8(ascii: "Z") { return rest.count == 1 ? (milliseconds, 0) : nil }
        let start = rest.startIndex
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), rest.count == 6,
            rest[start + 3] == UInt8(ascii: ":"), let hours = number(rest, start + 1, 2),
            let minutes = number(rest, start + 4, 2), hours < 24, minutes < 60
        else { return nil }
        let offset = hours * 3_600 + minutes * 60
        return (milliseconds, sign == UInt8(ascii: "-") ? -offset : offset)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func number(_ text: ArraySlice<UInt8>, _ start: Int, _ count: Int) -> Int64? {
        var number: Int64 = 0
        for index in start..<start + count {
            guard isDigit(text[index]) else { return nil }
            number = number * 10 + Int64(text[index] - UInt8(ascii: "0"))
        }
        return number
    }

    private static func daysOfMonth(_ month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 in the Gregorian calendar; years begin in March, so that the leap day is their last.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let era = marchYear / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
