import Kafka
import Logging
import ServiceRuntime
import Synchronization

/// A consumer under a monitor's eyes: its health, what the cluster says of its group, and what was told about it.
final class WatchedConsumer: Sendable {
    /// What was told at error level, and is told again only when it changes.
    private enum Complaint: Equatable {
        case stalled, handlingTooLong
        case troubled(KafkaError.Code)
    }

    private struct State {
        var health: ConsumerHealth
        var view: GroupView?
        var standing = ConsumerStanding.starting
        var complaint: Complaint?
    }

    let consumer: KafkaConsumer
    let group: String
    let topic: String
    private let check: HealthCheck
    private let logger: Logger
    private let state: Mutex<State>

    init(
        _ consumer: KafkaConsumer, group: String, topic: String, limits: ConsumerHealth.Limits, check: HealthCheck,
        logger: Logger
    ) {
        self.consumer = consumer
        self.group = group
        self.topic = topic
        self.check = check
        var logger = logger
        logger[metadataKey: "topic"] = "\(topic)"
        logger[metadataKey: "group"] = "\(group)"
        self.logger = logger
        state = Mutex(State(health: ConsumerHealth(limits: limits)))
    }

    /// What the cluster said last; nil before it was asked.
    var view: GroupView? { state.withLock { $0.view } }
    /// How the consumer was at the last look.
    var standing: ConsumerStanding { state.withLock { $0.standing } }

    /// Notes what the cluster says.
    func see(_ view: GroupView) {
        state.withLock { $0.view = view }
    }

    /// Judges, tells what is new, and has the client replaced when it is time.
    func look() {
        let progress = consumer.progress
        let (verdict, news) = state.withLock { state in
            let verdict = state.health.judge(progress, view: state.view, at: .now)
            state.standing = verdict.standing
            let before = state.complaint
            state.complaint = Self.complaint(of: verdict.standing, after: before)
            return (verdict, state.complaint == before ? nil : Optional(state.complaint))
        }
        // Before and after its run the consumer says itself how it is.
        if verdict.standing != .starting {
            check.set(ready: verdict.standing.isReady, detail: verdict.standing.sentence)
        }
        switch news {
        case .some(.some): logger.error("the consumer does not go on", metadata: reason(verdict.standing))
        case .some(nil): logger.notice("the consumer goes on", metadata: reason(verdict.standing))
        case nil: break
        }
        if verdict.replaces, consumer.replaceClient() {
            logger.warning("the consumer's client is replaced", metadata: reason(verdict.standing))
        }
    }

    private func reason(_ standing: ConsumerStanding) -> Logger.Metadata { ["reason": "\(standing.sentence)"] }

    /// What there is to complain about; it stands until the consumer is ready again.
    private static func complaint(of standing: ConsumerStanding, after before: Complaint?) -> Complaint? {
        switch standing {
        case .stalled: .stalled
        case .handlingTooLong: .handlingTooLong
        case .troubled(let trouble): .troubled(trouble.error.code)
        default: standing.isReady ? nil : before
        }
    }
}
