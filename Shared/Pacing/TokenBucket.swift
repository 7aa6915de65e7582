/// The tokens of one budget: how many there are, and when the next ones come.
///
/// Each request takes one. They come at a steady rate up to a capacity, so that between any two instants no more are taken
/// than the rate times the time between, and the capacity once. A value without a clock: whoever calls says what time it is.
struct TokenBucket: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Limit {
        /// More than any server allows; keeps the arithmetic far from the edges of its numbers.
        static let perSecondMaximum = 1_000_000.0
        /// Below one request in eleven days a rate is none.
        static let rateMinimum = 0.000_001
        /// A 429 holds for a day at most: Apple counts by the hour, and a Retry-After may be misread.
        static let closureMaximum = Duration.seconds(24 * 3600)
        /// A turn further away than a year is never.
        static let turnMaximum = Duration.seconds(365 * 24 * 3600)
        /// What a token may lack by rounding.
        ///
        /// It stays owed, so it never adds up.
        static let tolerance = 0.000_001
    }

    private let perSecond: Double
    private let burst: Double
    /// The part of the limit that is ours, 0...1.
    private(set) var share = 1.0
    /// As of ``countedAt``.
    private var tokens = 0.0
    /// The share for which the tokens were counted: that of now, or the last one before it became 0.
    private var tokensShare = 1.0
    /// In the future while the bucket is closed.
    private var countedAt: Instant

    /// A bucket with the tokens of one second, or one: so restarts do not add up.
    init(limit: RateBudget.Limit, share: Double, now: Instant) {
        perSecond = limit.perSecond > 0 ? min(limit.perSecond, Limit.perSecondMaximum) : 0
        burst = limit.burst > 0 ? min(limit.burst, Limit.perSecondMaximum) : 0
        countedAt = now
        tokens = tokensAtFirst
        setShare(share, now: now)
    }

    /// Tokens a second.
    var rate: Double {
        let rate = perSecond * share
        return rate >= Limit.rateMinimum ? rate : 0
    }

    /// How many tokens the bucket holds.
    ///
    /// Never less than one, or a small share of a small limit would admit nothing at all.
    private var capacity: Double {
        max(1, burst * tokensShare)
    }

    /// What a new bucket holds.
    private var tokensAtFirst: Double {
        min(capacity, max(1, perSecond * tokensShare))
    }

    /// Whether a new bucket in the place of this one would admit no more than this one.
    func isResting(_ now: Instant) -> Bool {
        closedUntil(now) == nil && count(now) >= tokensAtFirst - Limit.tolerance
    }

    /// From one token to the next; nil when none come.
    var interval: Duration? {
        rate > 0 ? Self.duration(seconds: 1 / rate) : nil
    }

    /// Until when nothing is admitted, if the bucket is closed.
    func closedUntil(_ now: Instant) -> Instant? {
        countedAt > now ? countedAt : nil
    }

    /// The tokens there are.
    func count(_ now: Instant) -> Double {
        closedUntil(now) == nil ? min(capacity, tokens + countedAt.duration(to: now).inSeconds * rate) : 0
    }

    /// Whether somebody may take one now.
    func isReady(_ now: Instant) -> Bool {
        rate > 0 && closedUntil(now) == nil && count(now) >= 1 - Limit.tolerance
    }

    /// When the token comes, or came, for who stands at `position` (from 1), if everybody takes theirs at once.
    ///
    /// - Returns: nil when no tokens come at all.
    func turn(_ position: Int) -> Instant? {
        guard rate > 0 else { return nil }
        let missing = Double(position) - tokens
        if missing <= Limit.tolerance { return countedAt }
        return countedAt + Self.duration(seconds: missing / rate)
    }

    /// Counts the tokens that came until now.
    mutating func refill(_ now: Instant) {
        guard now > countedAt else { return }
        tokens = count(now)
        countedAt = now
    }

    /// Takes one; call it only when ``isReady(_:)``.
    mutating func take(_ now: Instant) {
        refill(now)
        tokens -= 1
    }

    /// Takes one back that was not used.
    mutating func giveBack(_ now: Instant) {
        refill(now)
        tokens = min(closedUntil(now) == nil ? capacity : 1, tokens + 1)
    }

    /// Admits nothing for `duration`, if it is not closed for longer already.
    ///
    /// Then there is one token, whatever there was before: who was told to slow down does not come back with a burst.
    mutating func close(for duration: Duration, now: Instant) {
        refill(now)
        let end = now + duration.bounded(by: Limit.closureMaximum)
        guard end > countedAt else { return }
        tokens = min(1, tokens + countedAt.duration(to: end).inSeconds * rate)
        countedAt = end
    }

    /// Changes the part of the limit that is ours.
    ///
    /// Tokens do not grow with the share, and shrink with it down to one: what others were given, we do not keep. A share
    /// of 0 (or none at all: not a number) freezes them.
    mutating func setShare(_ newShare: Double, now: Instant) {
        refill(now)
        share = newShare > 0 ? min(newShare, 1) : 0
        guard share > 0 else { return }
        if share < tokensShare { tokens = max(min(tokens, 1), tokens * share / tokensShare) }
        tokensShare = share
        tokens = min(tokens, capacity)
    }

    /// Whole nanoseconds, rounded up, so that the token is there when one comes back for it.
    private static func duration(seconds: Double) -> Duration {
        let nanoseconds = (seconds * 1e9 - 1e-3).rounded(.up)
        return .nanoseconds(Int64(min(max(1, nanoseconds), Limit.turnMaximum.inSeconds * 1e9)))
    }
}
