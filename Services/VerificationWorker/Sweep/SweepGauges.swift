import Logging
import Metrics
import Persistence
import ServiceRuntime

/// Measures what the sweep has not come to; every worker tells the same numbers, which are the database's.
actor SweepGauges {
    /// How often the database is asked.
    static let interval = Duration.seconds(30)

    static let due = "countersign_sweep_due"
    static let age = "countersign_sweep_due_oldest_age_seconds"

    private let tasks: SweepTaskStore
    /// Measured at least once, so that they go back to zero.
    private var measured: Set<String> = []

    init(tasks: SweepTaskStore) {
        self.tasks = tasks
    }

    /// What measures it.
    nonisolated func task(logger: Logger) -> PeriodicTask {
        PeriodicTask("sweep-gauges", schedule: .init(every: SweepGauges.interval), logger: logger) {
            try await self.measure()
        }
    }

    /// Asks and tells.
    ///
    /// - Throws: `PostgresError`.
    func measure() async throws {
        let backlog = try await tasks.backlog()
        measured.formUnion(backlog.map(\.kind))
        for kind in measured {
            let row = backlog.first { $0.kind == kind }
            Gauge(label: Self.due, dimensions: [("kind", kind)]).record(Double(row?.due ?? 0))
            Gauge(label: Self.age, dimensions: [("kind", kind)]).record(max(0, row?.oldestSeconds ?? 0))
        }
    }
}
