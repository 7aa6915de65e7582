import Logging
import Metrics
import Persistence
import PurchaseModel
import ServiceRuntime

/// The use case: tells of submissions that are too old without an outcome, a line and a count for each, once in its life.
///
/// It looks at the table and not at verdicts: what is held up before it gets one is the worst of all.
struct RaiseAlarms: Sendable {
    let store: SubmissionStore
    let age: Duration
    let logger: Logger

    /// Lines of one look: an outage of an hour alarms for everything at once; the rest is one line more.
    static let linesPerLook = 50
    /// Submissions of one statement.
    static let batchMaximum = 1_000
    /// Statements of one look.
    ///
    /// While millions are too old, marking them must not keep the database from the purchases that come. The oldest are
    /// marked first, and one alarm is enough to wake somebody.
    static let batchesPerLook = 5

    /// How often it looks.
    static let interval = Duration.seconds(5)

    /// What looks again and again.
    func task() -> PeriodicTask {
        PeriodicTask("submission-alarms", schedule: .init(every: Self.interval), logger: logger) { try await look() }
    }

    /// Looks once; what is too old beyond `batchesPerLook` is left to the next look.
    ///
    /// - Throws: `PostgresError`; what was marked before is told of.
    func look() async throws {
        var alarms: [SubmissionStore.Alarm] = []
        defer { tell(alarms) }
        for _ in 0..<Self.batchesPerLook {
            let found = try await store.raiseAlarms(olderThan: age, limit: Self.batchMaximum)
            alarms += found
            if found.count < Self.batchMaximum { return }
        }
    }

    /// Tells of alarms that are committed: no proof and no account, since the id leads to both.
    private func tell(_ alarms: [SubmissionStore.Alarm]) {
        for alarm in alarms {
            Counter(label: "countersign_submission_alarms_total", dimensions: [("reason", alarm.reason.rawValue)])
                .increment()
        }
        for alarm in alarms.prefix(Self.linesPerLook) {
            logger.error(
                "a submission is too old without an outcome; it stays due",
                metadata: [
                    "submission_id": "\(alarm.submissionId)", "reason": "\(alarm.reason.rawValue)",
                    "age_seconds": "\(Int(min(alarm.ageSeconds, 1e12)))",
                ])
        }
        let unnamed = alarms.count - Self.linesPerLook
        if unnamed > 0 {
            logger.error(
                "more submissions are too old without an outcome; `countersign doctor` tells of them by reason",
                metadata: ["count": "\(unnamed)"])
        }
    }
}

/// Measures how many submissions have an alarm and no outcome: `countersign_submissions_alarmed{reason}`, of each reason
/// `SubmissionStore.alarmedCountMaximum` at the most.
///
/// Every process tells the same number: it is the database's.
actor AlarmedGauge {
    /// How often it is asked; a scrape in between sees the last answer.
    static let interval = Duration.seconds(15)

    private let store: SubmissionStore
    /// Measured at least once, so that they go back to zero; the reasons are a few fixed words.
    private var measured: Set<ReasonCode> = []

    init(store: SubmissionStore) {
        self.store = store
    }

    /// What measures it.
    nonisolated func task(logger: Logger) -> PeriodicTask {
        PeriodicTask("alarmed-submissions", schedule: .init(every: Self.interval), logger: logger) {
            _ = try await self.measure()
        }
    }

    /// Asks and tells.
    ///
    /// - Returns: the number of each reason; zero where there is none any more.
    /// - Throws: `PostgresError`.
    func measure() async throws -> [ReasonCode: Int64] {
        let alarmed = try await store.alarmed()
        var counts = Dictionary(uniqueKeysWithValues: measured.map { ($0, Int64(0)) })
        for group in alarmed { counts[group.reason] = group.count }
        measured.formUnion(counts.keys)
        for (reason, count) in counts {
            Gauge(label: "countersign_submissions_alarmed", dimensions: [("reason", reason.rawValue)]).record(count)
        }
        return counts
    }
}
