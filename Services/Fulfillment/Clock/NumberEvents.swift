import Logging
import Metrics
import Persistence
import Postgres
import ServiceRuntime

/// The use case: events that are committed get their positions, by which readers pull them.
///
/// Apart from batches of purchases, which write one row more and wait for nothing.
struct NumberEvents: Sendable {
    private let store: EventPositionStore

    enum Pace {
        /// How often it looks: the longest that a reader waits for an event, beside its own looks.
        static let interval = Duration.milliseconds(200)
        /// Steps of one look; the next look goes on.
        static let stepsPerLook = 50
    }

    init(pool: PostgresPool) {
        store = EventPositionStore(pool: pool)
    }

    /// What looks again and again.
    func task(logger: Logger) -> PeriodicTask {
        PeriodicTask("event-numbering", schedule: .init(every: Pace.interval), logger: logger) { try await look() }
    }

    /// Looks once.
    ///
    /// - Throws: `PostgresError`; the next look goes on.
    func look() async throws {
        for _ in 0..<Pace.stepsPerLook {
            let step = try await store.number()
            Counter(label: "countersign_events_numbered").increment(by: step.count)
            guard step.isMoreDue else { return }
            try Task.checkCancellation()
        }
    }
}
