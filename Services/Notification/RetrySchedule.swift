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
