import Logging
import Metrics
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime

/// Measures what waits in the database: above all what may be paid and is not delivered.
///
/// Every process tells the same numbers: they are the database's.
actor BacklogGauges {
    /// How often it is asked; a scrape in between sees the last answer.
    static let interval = Duration.seconds(15)
    /// A submission may take as long as this before it counts as undelivered: Apple is asked about some.
    static let undecidedAge = Duration.seconds(60)

    /// One line of a page of metrics.
    struct Series: Hashable, Sendable {
        let name: String
        let labels: [String: String]
    }

    private let undelivered: UndeliveredStore
    private let dueRows: DueRowsStore
    private let events: EventStore
    private let calls: AppleCallStore
    private let positions: EventPositionStore
    /// How long an event may wait for the notification service.
    private let eventAge: Duration
    /// Measured at least once, so that they go back to zero; environments, reasons and tables are a few fixed words.
    private var measured: Set<Series> = []

    init(pool: PostgresPool, eventAge: Duration = EventStore.WaitingLimit.ageDefault) {
        undelivered = UndeliveredStore(pool: pool)
        dueRows = DueRowsStore(pool: pool)
        events = EventStore(pool: pool)
        calls = AppleCallStore(pool: pool)
        positions = EventPositionStore(pool: pool)
        self.eventAge = eventAge
    }

    /// What measures it.
    nonisolated func task(logger: Logger) -> PeriodicTask {
        PeriodicTask("backlog-gauges", schedule: .init(every: BacklogGauges.interval), logger: logger) {
            _ = try await self.measure()
        }
    }

    /// Asks and tells.
    ///
    /// - Returns: what was told; zero where there is none any more.
    /// - Throws: `PostgresError`.
    func measure() async throws -> [Series: Double] {
        var values = Dictionary(uniqueKeysWithValues: measured.map { ($0, 0.0) })
        func tell(_ stage: String, _ environment: String, _ reason: String, _ count: Int64, _ oldest: Double) {
            let labels = ["stage": stage, "environment": environment, "reason": reason]
            values[Series(name: FulfillmentMetrics.undelivered, labels: labels)] = Double(count)
            values[Series(name: FulfillmentMetrics.undeliveredAge, labels: labels)] = max(0, oldest)
        }
        for group in try await undelivered.parked() {
            tell("parked", group.environment, group.reason.rawValue, group.count, group.oldestSeconds)
        }
        for group in try await undelivered.undecided(olderThan: BacklogGauges.undecidedAge) {
            // In which environment it was bought is known when there is a verdict.
            tell("undecided", "unknown", group.reason.rawValue, group.count, group.oldestSeconds)
        }
        for group in try await undelivered.untold() {
            tell("untold", group.environment, "webhook_abandoned", group.count, group.oldestSeconds)
        }
        for queue in try await dueRows.queues() {
            for (age, count) in zip(DueRowsStore.ages, queue.counts) {
                let labels = ["table": queue.table, "older_than_seconds": "\(age)"]
                values[Series(name: FulfillmentMetrics.dueRows, labels: labels)] = Double(count)
            }
            values[Series(name: FulfillmentMetrics.dueAge, labels: ["table": queue.table])] = max(
                0, queue.oldestSeconds)
        }
        let waiting = try await events.waiting(longerThan: eventAge)
        values[Series(name: FulfillmentMetrics.events, labels: [:])] = Double(waiting.count)
        values[Series(name: FulfillmentMetrics.eventsAge, labels: [:])] = max(0, waiting.oldestSeconds)
        values[Series(name: FulfillmentMetrics.unnumberedAge, labels: [:])] = try await positions.oldestWaitSeconds()
        for requests in try await calls.openRequests() {
            let labels = ["waits_for": requests.waiting.rawValue]
            values[Series(name: FulfillmentMetrics.openRequests, labels: labels)] = Double(requests.count)
            values[Series(name: FulfillmentMetrics.requestSecondsLeft, labels: labels)] = requests.secondsLeft
        }
        measured.formUnion(values.keys)
        for (series, value) in values {
            Gauge(label: series.name, dimensions: series.labels.map { ($0.key, $0.value) }).record(value)
        }
        return values
    }
}
