import Logging
import Persistence
import ServiceRuntime

/// The use case: tells of events that nobody has taken over for too long, a line for each, once in its life.
///
/// It runs here, and not where events are taken over: what is not running raises no alarm.
struct RaiseEventAlarms: Sendable {
    let store: EventStore
    let age: Duration
    /// Writes one line; the logger's in the process.
    let write: @Sendable (_ message: String, _ fields: [(name: String, value: String)]) -> Void

    enum Limit {
        /// Lines of one batch: when nobody takes events over, all wait at once; the rest is one line more.
        static let linesPerBatch = 50
        /// Events that are marked in one statement.
        static let batch = 1_000
        /// Batches of one look; the next look goes on.
        static let batchesPerLook = 10
    }

    /// How often it looks.
    static let interval = Duration.seconds(5)

    /// What looks again and again.
    func task(logger: Logger) -> PeriodicTask {
        PeriodicTask("event-alarms", schedule: .init(every: Self.interval), logger: logger) { try await look() }
    }

    /// Looks once.
    ///
    /// - Throws: `PostgresError`.
    func look() async throws {
        for _ in 1...Limit.batchesPerLook {
            let alarms = try await store.raiseAlarms(olderThan: age, limit: Limit.batch)
            tell(alarms)
            if alarms.count < Limit.batch { return }
        }
    }

    /// Tells of alarms that are committed.
    private func tell(_ alarms: [EventStore.Alarm]) {
        for alarm in alarms.prefix(Limit.linesPerBatch) {
            write(
                "an event has no delivery: the notification service has not taken it over; it is sent again and again",
                [
                    (name: LogKey.event.rawValue, value: alarm.eventId), (name: "type", value: alarm.type),
                    (name: "age_seconds", value: "\(Int(min(alarm.ageSeconds, 1e12)))"),
                ])
        }
        let unnamed = alarms.count - Limit.linesPerBatch
        if unnamed > 0 {
            write(
                "more events have no delivery; `countersign doctor` tells how many",
                [(name: LogKey.count.rawValue, value: "\(unnamed)")])
        }
    }

    /// Writes to a log, at level error.
    static func logging(to logger: Logger, store: EventStore, age: Duration) -> RaiseEventAlarms {
        RaiseEventAlarms(store: store, age: age) { message, fields in
            var metadata = Logger.Metadata()
            for field in fields { metadata[field.name] = "\(field.value)" }
            logger.error("\(message)", metadata: metadata)
        }
    }
}
