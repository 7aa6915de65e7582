import Foundation
import Logging
import Messages
import Persistence
import Postgres
import ServiceRuntime

/// The use case: events are published in the public topic, in the order of their positions.
///
/// Apart from ``NumberEvents``, which does not wait for Kafka: events can be pulled while it is away.
struct PublishEvents: Sendable {
    private let store: EventPositionStore
    private let publish: @Sendable ([EventStore.StoredEvent]) async throws -> Void

    /// - Parameter publish: sends to topics; throws where the broker does not have all of it.
    init(pool: PostgresPool, publish: @escaping @Sendable ([(topic: String, event: CloudEvent)]) async throws -> Void) {
        store = EventPositionStore(pool: pool)
        self.publish = { events in
            let now = Date()
            try await publish(events.map { (Topics.events, AnnounceOutcomes.message($0, at: now)) })
        }
    }

    /// What looks again and again.
    func task(logger: Logger) -> PeriodicTask {
        PeriodicTask("event-topic", schedule: .init(every: NumberEvents.Pace.interval), logger: logger) {
            try await look()
        }
    }

    /// Looks once.
    ///
    /// - Throws: `PostgresError`, `KafkaError`; the next look goes on.
    func look() async throws {
        for _ in 0..<NumberEvents.Pace.stepsPerLook {
            guard try await store.publishNext(publish).isMoreDue else { return }
            try Task.checkCancellation()
        }
    }
}
