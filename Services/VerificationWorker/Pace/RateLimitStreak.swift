import Foundation

/// The 429s of one budget that follow one another: where Apple names no instant, each doubles the pause.
///
/// A value without a clock.
struct RateLimitStreak: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Limit {
        /// The longest that a 429 is believed: Apple counts by the hour.
        static let named = Duration.seconds(2 * 3_600)
        /// What doubling the pause ends at.
        static let unnamed = Duration.seconds(60)
    }

    /// What Apple means that says nothing.
    private static let usual = Duration.seconds(RetryTime.rateLimited)

    private var unnamed = Self.usual
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
        // Apple's instant is kept to the millisecond, however often one comes: players wait behind it.
        // What went out before the pause is limited by the same, and says nothing of what comes after it.
        if named == nil, let end, sent >= end { unnamed = min(unnamed * 2, Limit.unnamed) }
        let pause = named ?? unnamed
        end = max(end ?? now, now + pause)
        return pause
    }

    /// Whether it is over once a call that went out then was answered otherwise.
    func isOver(byAnswerToCallSent sent: Instant) -> Bool {
        end.map { sent >= $0 } ?? true
    }
}
