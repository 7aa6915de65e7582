package import Foundation
import JSONText

/// How every message and event is written as JSON: keys sorted (so that the same content is the same bytes), dates as
/// RFC 3339 in UTC with milliseconds, slashes as they are.
package enum MessageCoding {
    private static let encoder = JSONTextEncoder(dateText: MessageDate.text)
    private static let decoder = JSONTextDecoder(date: MessageDate.date, usualDate: MessageDate.exact)

    /// A date as text, `2026-01-01T00:00:00.000Z`.
    package static func text(_ date: Date) -> String { MessageDate.text(date) }

    /// The date that a text means; nil when it is none.
    package static func date(_ text: String) -> Date? { MessageDate.date(text) }

    /// The time that somebody names by RFC 3339; nil for anything else, such as a day that its month has not.
    ///
    /// Years have four digits, so that the database can hold it. ``date(_:)`` also reads what Foundation makes a date of.
    package static func strictDate(_ text: String) -> Date? { MessageDate.strict(text) }

    /// The bytes of a value.
    ///
    /// - Throws: `EncodingError`, for a value that JSON cannot hold.
    package static func encode(_ value: some Encodable) throws -> [UInt8] { try encoder.encode(value) }

    /// The value that bytes mean; unknown fields are ignored.
    ///
    /// - Parameters:
    ///   - nestingDepthMaximum: how deep objects and arrays may nest; the outermost is the first.
    ///   - keepsUnreadable: whether it is read nevertheless where a value that nobody asks for is beyond the limits.
    /// - Throws: `DecodingError`, for anything that is not such a value.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8], nestingDepthMaximum: Int = JSONTextDecoder.nestingDepthMaximum,
        keepsUnreadable: Bool = false
    ) throws -> Value {
        try decoder.decode(
            type, from: bytes, nestingDepthMaximum: nestingDepthMaximum, keepsUnreadable: keepsUnreadable)
    }
}

/// Dates of messages as RFC 3339 in UTC with milliseconds: `2026-01-01T00:00:00.000Z`.
///
/// Foundation's formatter and parser take microseconds for each; a message has five dates. What is not in exactly this
/// form, or outside the years 1 to 9999, is theirs still.
enum MessageDate {
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    private static let wholeSecondStyle = Date.ISO8601FormatStyle(includingFractionalSeconds: false)
    private static let secondsADay = 86_400
    /// Days from 0000-03-01 to 2001-01-01, from which `Date` counts.
    private static let daysBeforeReference = 730_791
    /// The years 1 to 9999, in seconds from 2001-01-01; a day is left at either end.
    private static let ordinary = -63_113_817_600.0..<252_423_907_200.0

    /// A date as text.
    static func text(_ date: Date) -> String {
        // Half a millisecond is added because the style cuts where a reader expects rounding.
        let time = date.addingTimeInterval(0.0005).timeIntervalSinceReferenceDate
        guard ordinary.contains(time) else { return date.addingTimeInterval(0.0005).formatted(style) }
        let whole = time.rounded(.down)
        let seconds = Int(whole)
        let days = (seconds - positiveRemainder(seconds, secondsADay)) / secondsADay
        let (year, month, day) = civil(days)
        return String(unsafeUninitializedCapacity: 24) { text in
            var place = 0
            func put(_ value: Int, digits: Int, then separator: UInt8) {
                var value = value
                for offset in stride(from: digits - 1, through: 0, by: -1) {
                    text[place + offset] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10)
                    value /= 10
                }
                text[place + digits] = separator
                place += digits + 1
            }
            let second = positiveRemainder(seconds, secondsADay)
            put(year, digits: 4, then: UInt8(ascii: "-"))
            put(month, digits: 2, then: UInt8(ascii: "-"))
            put(day, digits: 2, then: UInt8(ascii: "T"))
            put(second / 3_600, digits: 2, then: UInt8(ascii: ":"))
            put(second / 60 % 60, digits: 2, then: UInt8(ascii: ":"))
            put(second % 60, digits: 2, then: UInt8(ascii: "."))
            put(Int((time - whole) * 1_000), digits: 3, then: UInt8(ascii: "Z"))
            return place
        }
    }

    /// The date that a text means; nil when it is none.
    static func date(_ text: String) -> Date? {
        exact(text) ?? (try? style.parse(text)) ?? (try? wholeSecondStyle.parse(text))
    }

    /// The date of a text by RFC 3339, in whatever zone and as precise as it is; nil for any other text.
    static func strict(_ text: String) -> Date? {
        if let date = exact(text) { return date }
        let form = /([0-9\-]{10})[Tt]([0-9:]{8})(\.[0-9]+)?(?:[Zz]|([+\-])([0-9]{2}):([0-9]{2}))/
        guard let parts = text.wholeMatch(of: form)?.output, let second = exact("\(parts.1)T\(parts.2).000Z") else {
            return nil
        }
        let (hours, minutes) = (parts.5.flatMap { Int($0) } ?? 0, parts.6.flatMap { Int($0) } ?? 0)
        guard hours < 24, minutes < 60 else { return nil }
        let fraction = parts.3.flatMap { Double("0\($0)") } ?? 0
        let offset = Double(hours * 3_600 + minutes * 60)
        return second + fraction + (parts.4 == "-" ? offset : -offset)
    }

    private static func exact(_ text: String) -> Date? {
        var text = text
        return text.withUTF8 { exact($0) }
    }

    /// The date of a text in just the form that is written here; nil for any other, which may mean a date all the same.
    static func exact(_ text: UnsafeBufferPointer<UInt8>) -> Date? {
        guard text.count == 24, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] == UInt8(ascii: "T"), text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            text[19] == UInt8(ascii: "."), text[23] == UInt8(ascii: "Z"),
            let year = number(text, 0..<4), let month = number(text, 5..<7), let day = number(text, 8..<10),
            let hour = number(text, 11..<13), let minute = number(text, 14..<16),
            let second = number(text, 17..<19), let millisecond = number(text, 20..<23),
            year > 0, (1...12).contains(month), (1...days(in: month, of: year)).contains(day),
            hour < 24, minute < 60, second < 60
        else { return nil }
        // Added up as Foundation does, so that the last bit is the same.
        let time = Double(hour * 3_600 + minute * 60 + second) + Double(millisecond) / 1_000
        return Date(timeIntervalSinceReferenceDate: Double(days(year, month, day) * secondsADay) + time)
    }

    @inline(__always)
    private static func number(_ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Int? {
        var value = 0
        for place in range {
            let digit = text[place] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value * 10 + Int(digit)
        }
        return value
    }

    private static func positiveRemainder(_ value: Int, _ divisor: Int) -> Int {
        let remainder = value % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // The calendar counts from March, so that a leap day is a year's last: Neri and Schneider, "Euclidean affine functions
    // and their application to calendar algorithms" (2022), explain the factors.

    /// Days from 2001-01-01 to a date of the Gregorian calendar.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let month = month <= 2 ? month + 12 : month
        let century = year / 100
        return 1_461 * year / 4 - century + century / 4 + (979 * month - 2_919) / 32 + day - 1 - daysBeforeReference
    }

    /// The date of the Gregorian calendar so many days after 2001-01-01.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let quarters = 4 * (days + daysBeforeReference) + 3
        let century = quarters / 146_097
        let quartersOfCentury = quarters % 146_097 / 4 * 4 + 3
        let year = 100 * century + quartersOfCentury / 1_461
        let dayOfYear = quartersOfCentury % 1_461 / 4
        let place = 2_141 * dayOfYear + 197_913
        let month = place >> 16
        let day = (place & 0xFFFF) / 2_141 + 1
        return month > 12 ? (year + 1, month - 12, day) : (year, month, day)
    }
}
