import Foundation

/// The 429s of one budget that follow one another: each doubles the least pause.
///
/// A value without a clock.
struct RateLimitStreak: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Limit {
        /// The longest that a 429 is believed: Apple counts by the hour.
        static let named = Duration.seconds(2 * 3_600)
        /// What doubling the least pause ends at.
        static let least = Duration.seconds(60)
    }

    /// What Apple means that says nothing.
    private static let usual = Duration.seconds(RetryTime.rateLimited)

    /// None at the first 429: Apple's instant is kept to the millisecond.
    private var least = Duration.zero
    private var end: Instant?

    /// How long until the instant that Apple names; nil where it names none, or one that is past by our clock.
    static func wait(until instant: Date?, now: Date) -> Duration? {
        guard let instant, instant > now else { return nil }
        let milliseconds = (instant.timeIntervalSince(now) * 1_000).rounded(.up)
        return Duration.milliseconds(Int64(min(milliseconds, Limit.named.inSeconds * 1_000)))
    }

    /// How long a 429 keeps us away.
    ///
    /// - Parameters:
    ///   - named: how long Apple says, if it does.
    ///   - sent: when the call went out.
    mutating func pause(_ named: Duration?, sent: Instant, now: Instant) -> Duration {
        // What went out before the pause is limited by the same, and says nothing of what comes after it.
        if let end, sent >= end { least = min(max(least, Self.usual) * 2, Limit.least) }
        let pause = max(named ?? Self.usual, least)
        end = max(end ?? now, now + pause)
        return pause
    }

    /// Whether it is over once a call that went out then was answered otherwise.
    func isOver(byAnswerToCallSent sent: Instant) -> Bool {
        end.map { sent >= $0 } ?? true
    }
}
