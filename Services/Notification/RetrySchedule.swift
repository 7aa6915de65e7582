import Foundation

/// How long to wait before a delivery is tried again, and after how many attempts its schedule is used up.
struct RetrySchedule: Sendable, Hashable {
    /// The schedule that Standard Webhooks recommends: ten attempts in about 75 hours, so that a weekend passes.
    ///
    /// Source: github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md, "Deliverability and reliability".
    static let standardWebhooks = RetrySchedule(delays: [
        .seconds(5), .seconds(5 * 60), .seconds(30 * 60), .seconds(2 * 3600), .seconds(5 * 3600), .seconds(10 * 3600),
        .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
    ])
    /// By which part of itself a delay may be shorter or longer, so that what failed together does not come together.
    static let jitter = 0.1
    /// The longest delay that may be configured: a week.
    static let delaySecondsMaximum = 7.0 * 86_400

    /// The shortest pause of what waits for its endpoint: that may last for days, however short the schedule is.
    static let outageDelayMinimum = Duration.seconds(60)

    /// The pause after the first attempt, the second, and so on.
    let delays: [Duration]
    private let outageDelayMinimum: Duration

    init(delays: [Duration], outageDelayMinimum: Duration = outageDelayMinimum) {
        self.delays = delays
        self.outageDelayMinimum = outageDelayMinimum
    }

    /// A schedule of numbers of seconds; nil when one is none, or out of range.
    init?(secondsTexts: [String]) {
        var delays: [Duration] = []
        for text in secondsTexts {
            guard let seconds = Double(text), seconds >= 0, seconds <= Self.delaySecondsMaximum else { return nil }
            delays.append(.seconds(seconds))
        }
        self.init(delays: delays)
    }

    /// The pause after a failed attempt; nil when it was the last.
    ///
    /// - Parameters:
    ///   - attempts: attempts made, this one included.
    ///   - chance: from -1 to 1.
    func delay(afterAttempts attempts: Int, chance: Double) -> Duration? {
        guard attempts >= 1, attempts <= delays.count else { return nil }
        return delays[attempts - 1] * (1 + Self.jitter * chance)
    }

    /// The pause of a delivery whose schedule is used up, and that waits for its endpoint: the last one of the schedule.
    ///
    /// - Parameter chance: from -1 to 1.
    func outageDelay(chance: Double) -> Duration {
        max(delays.last ?? .zero, outageDelayMinimum) * (1 + Self.jitter * chance)
    }
}

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
