import Logging
import Persistence
import ServiceRuntime

/// The use case: tells of events that nobody has taken over for too long, a line for each, once in its life.
///
/// It runs here, and not where events are taken over: what is not running raises no alarm.
struct RaiseEventAlarms: Sendable {
    let store: EventStore
    let age: Duration
    let logger: Logger

    /// Lines of one batch: when nobody takes events over, all wait at once; the rest is one line more.
    static let linesPerBatch = 50
    /// Events that are marked in one statement.
    static let batchMaximum = 1_000
    /// Batches of one look; the next look goes on.
    static let batchesPerLook = 10

    /// How often it looks.
    static let interval = Duration.seconds(5)

    /// What looks again and again.
    func task() -> PeriodicTask {
        PeriodicTask("event-alarms", schedule: .init(every: Self.interval), logger: logger) { try await look() }
    }

    /// Looks once.
    ///
    /// - Throws: `PostgresError`.
    func look() async throws {
        for _ in 1...Self.batchesPerLook {
            let alarms = try await store.raiseAlarms(olderThan: age, limit: Self.batchMaximum)
            tell(alarms)
            if alarms.count < Self.batchMaximum { return }
        }
    }

    /// Tells of alarms that are committed.
    private func tell(_ alarms: [EventStore.Alarm]) {
        for alarm in alarms.prefix(Self.linesPerBatch) {
            logger.error(
                "an event has no delivery: the notification service has not taken it over; it is sent again and again",
                metadata: [
                    LogKey.event.rawValue: "\(alarm.eventId)", "type": "\(alarm.type)",
                    "age_seconds": "\(Int(min(alarm.ageSeconds, 1e12)))",
                ])
        }
        let unnamed = alarms.count - Self.linesPerBatch
        if unnamed > 0 {
            logger.error(
                "more events have no delivery; `countersign doctor` tells how many",
                metadata: .fields([.count: "\(unnamed)"]))
        }
    }
}
