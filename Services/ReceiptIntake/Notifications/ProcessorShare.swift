/// How much of a processor a kind of work may use: a part of one core, which may be saved up to a limit.
///
/// It is counted in processor time and not in pieces, since what strangers send may be cheap or dear.
struct ProcessorShare: Sendable {
    private let share: Double
    private let saved: Duration
    private var left: Duration
    private var last: ContinuousClock.Instant

    /// - Parameters:
    ///   - share: of a core, from 0 to 1.
    ///   - saved: the processor time that may be used at once after a pause; so much is there at first.
    init(_ share: Double, saved: Duration, now: ContinuousClock.Instant = .now) {
        self.share = share
        self.saved = saved
        left = saved
        last = now
    }

    /// Whether work may begin; what it takes then is spent afterwards, even when it is more than is left.
    mutating func isLeft(at now: ContinuousClock.Instant = .now) -> Bool {
        left = min(saved, left + (now - last) * share)
        last = now
        return left > .zero
    }

    /// Counts processor time that was used.
    mutating func spend(_ time: Duration) {
        left -= time
    }
}
