import Foundation

/// The header `Retry-After`: how long an endpoint asks to be left alone.
///
/// Source: RFC 9110, sections 10.2.3 and 5.6.7.
enum RetryAfter {
    /// The longest that is honoured; an endpoint that asks for more is tried after this.
    static let maximum = Duration.seconds(24 * 3600)

    /// The three forms of a date that a recipient must understand, the current one first.
    private static let dateFormats = [
        "EEE, dd MMM yyyy HH:mm:ss 'GMT'", "EEEE, dd-MMM-yy HH:mm:ss 'GMT'", "EEE MMM d HH:mm:ss yyyy",
    ]

    /// The delay that a header's value means, at most ``maximum``; nil when it is neither seconds nor a date.
    static func delay(_ value: String, now: Date) -> Duration? {
        let text = value.trimmingCharacters(in: .whitespaces)
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // More digits than fit are a very long time, too.
            return Int64(text).map { min(.seconds($0), maximum) } ?? maximum
        }
        guard let date = date(text) else { return nil }
        let seconds = date.timeIntervalSince(now)
        return seconds <= 0 ? .zero : min(.seconds(seconds), maximum)
    }

    private static func date(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        for format in dateFormats {
            formatter.dateFormat = format
            if let date = formatter.date(from: text) { return date }
        }
        return nil
    }
}
