import Kafka
package import Logging
package import Messages
package import ServiceRuntime
import Synchronization

/// Knows how long what is sent takes through some consumer groups, one after the other, of which this process is no member.
///
/// It needs the right to describe the groups and their topics. Where the cluster does not tell, nothing is known, and whoever
/// asks does without.
package final class GroupLagWatch: Sendable {
    /// The time between two looks.
    package static let interval = Duration.seconds(2)
    /// How long an answer counts: during an outage of the broker nothing is known.
    private static let answerAgeMaximum = Duration.seconds(30)

    private struct State {
        var progress: [TopicUse.Group: ReadProgress] = [:]
        var answeredAt: ContinuousClock.Instant?
        /// The last reason why nothing was told.
        var refusal: KafkaError.Code?
    }

    private let groups: [TopicUse.Group]
    private let monitor: KafkaMonitor
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameters:
    ///   - groups: in the order in which what is sent goes through them.
    ///   - monitor: whose connections to the cluster it uses.
    package init(_ groups: [TopicUse.Group], monitor: KafkaMonitor, logger: Logger) {
        self.groups = groups
        self.monitor = monitor
        self.logger = logger
    }

    /// What looks again and again.
    package func task() -> PeriodicTask {
        PeriodicTask("consumer-lag", schedule: .init(every: Self.interval), logger: logger) { await self.look() }
    }

    /// The lags of all groups together: what was sent longer ago is through; nil when that is not known.
    package var lag: Duration? {
        let now = ContinuousClock.now
        return state.withLock { state in
            guard let answeredAt = state.answeredAt, answeredAt.duration(to: now) <= Self.answerAgeMaximum else {
                return nil
            }
            var sum = Duration.zero
            for group in groups {
                guard let lag = state.progress[group]?.lag(at: now) else { return nil }
                sum += lag
            }
            return sum
        }
    }

    /// Asks the cluster once.
    package func look() async {
        do throws(KafkaError) {
            for group in groups {
                let places = try await monitor.places(of: group)
                state.withLock { $0.progress[group, default: ReadProgress()].see(places, at: .now) }
            }
            state.withLock { ($0.answeredAt, $0.refusal) = (.now, nil) }
        } catch {
            let isNew = state.withLock { state in
                defer { state.refusal = error.code }
                return state.refusal != error.code
            }
            guard isNew else { return }
            logger.notice(
                "the cluster does not tell how far the consumers are; what is due is sent again all the same",
                metadata: ["error": "\(error)"])
        }
    }
}
