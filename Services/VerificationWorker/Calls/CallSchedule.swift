import AppStoreServerAPI
import Persistence

/// When a call that Apple did not take is made again, and when it is given up.
enum CallSchedule {
    /// The pause after the first failure; it doubles.
    static let delayFirst = Duration.seconds(30)
    /// Where doubling ends for what nobody waits for.
    static let delayMaximum = Duration.seconds(3_600)
    /// The same for what has a deadline.
    static let answerDelayMaximum = Duration.seconds(600)
    /// While Apple does not accept the key: somebody has to mend it.
    static let unauthorizedDelay = Duration.seconds(900)
    /// The least pause after one that our own pace put off, or Apple's limit.
    static let turnDelay = Duration.seconds(5)
    /// So long Apple may not know what it sold, as for lookups.
    static let notFoundAge = AppStoreSettings.notFoundAgeDefault
    /// What nobody waits for is given up after a month of trying.
    static let ageMaximum = Duration.seconds(30 * 86_400)

    /// The pause before the next attempt.
    ///
    /// - Parameters:
    ///   - asked: seconds that Apple, or our own pace, asks for.
    ///   - chance: from -1 to 1.
    static func delay(_ call: AppleCallStore.Due, asked: Double, chance: Double) -> Duration {
        let hasDeadline = [.consumption, .extension].contains(call.kind)
        let maximum = hasDeadline ? Self.answerDelayMaximum : Self.delayMaximum
        let doubled = min(Self.delayFirst * (1 << min(call.attempts, 16)), maximum) * (1 + 0.2 * chance)
        return max(doubled, .seconds(min(asked, maximum.inSeconds)))
    }

    /// The pause before the next attempt of a call that had no turn: it does not double, since nothing went wrong.
    ///
    /// - Parameters:
    ///   - asked: seconds until there is room again, as far as is known.
    ///   - chance: from -1 to 1.
    static func turn(asked: Double, chance: Double) -> Duration {
        max(Self.turnDelay, .seconds(min(asked, Self.answerDelayMaximum.inSeconds))) * (1 + 0.2 * chance)
    }

    /// Whether it is too late for another attempt after a pause.
    static func isOver(_ call: AppleCallStore.Due, after delay: Duration) -> Bool {
        let age = call.ageSeconds + delay.inSeconds
        guard let left = call.secondsLeft else { return age > Self.ageMaximum.inSeconds }
        return delay.inSeconds > left && age > AppleCallStore.Limit.lateTime.inSeconds
    }

    /// Whether Apple may take the same call later although it refused it.
    static func mayComeRight(_ error: AppStoreServerError, _ call: AppleCallStore.Due) -> Bool {
        switch error.category {
        case .unauthorized: true
        case .notFound: error.isRetryable || call.ageSeconds < Self.notFoundAge.inSeconds
        default: error.isRetryable
        }
    }
}
