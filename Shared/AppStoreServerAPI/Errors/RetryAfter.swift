import Foundation

/// The header `Retry-After`, as Apple writes it and as everybody else does.
///
/// Apple: UNIX time in milliseconds (ADP, Identifying rate limits). RFC 9110, section 10.2.3: seconds from now, or a date.
/// How large a number is decides what it means.
enum RetryAfter {
    enum Limit {
        /// From here on a number is milliseconds since 1970: this is 1973.
        static let milliseconds: Int64 = 100_000_000_000
        /// From here on a number is seconds since 1970: this is 2001; as a delay it is 31 years.
        static let seconds: Int64 = 1_000_000_000
        /// The latest that is believed: the year 9999.
        static let latest: Int64 = 253_402_300_799_000
    }

    private static let format = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"

    /// The instant that a header's value means; nil when it means none.
    static func date(_ value: String, now: Date) -> Date? {
        let text = value.trimmingCharacters(in: .whitespaces)
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.timeZone = TimeZone(secondsFromGMT: 0)
            formatter.dateFormat = format
            return formatter.date(from: text)
        }
        guard let number = Int64(text), number <= Limit.latest else { return nil }
        if number >= Limit.milliseconds { return Date(timeIntervalSince1970: Double(number) / 1_000) }
        if number >= Limit.seconds { return Date(timeIntervalSince1970: Double(number)) }
        return now.addingTimeInterval(Double(number))
    }
}
