/// Keeps attempts away from an endpoint that only fails: one at a time, and between two of them a pause that grows.
///
/// What waits meanwhile is not attempted, so that its schedule is not used up; once an attempt succeeds, all of it goes out.
/// A value without a clock, of one process: each finds out for itself.
struct EndpointBreaker: Sendable, Equatable {
    /// When it opens, and for how long.
    struct Settings: Sendable, Equatable {
        /// Failures in a row that open it.
        var failures = 5
        /// The first pause; each one after another failure is twice as long.
        var pause = Duration.seconds(1)
        /// The longest pause.
        var pauseMaximum = Duration.seconds(30)
    }

    /// Failures in a row; those that tell nothing new do not count.
    private var failures = 0
    private var pause: Duration?
    /// When the next attempt may begin; nil while it is closed.
    private(set) var nextAttempt: ContinuousClock.Instant?

    /// Whether attempts are held back.
    var isOpen: Bool { nextAttempt != nil }

    /// Whether an attempt may begin.
    func allows(_ now: ContinuousClock.Instant) -> Bool {
        nextAttempt.map { $0 <= now } ?? true
    }

    /// An attempt has failed.
    mutating func failed(now: ContinuousClock.Instant, _ settings: Settings) {
        failures += 1
        guard failures >= settings.failures else { return }
        // One that began before it was opened tells nothing new.
        guard allows(now) else { return }
        let next = min(pause.map { $0 * 2 } ?? settings.pause, settings.pauseMaximum)
        pause = next
        nextAttempt = now + next
    }
}
