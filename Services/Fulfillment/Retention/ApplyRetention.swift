import Logging
import Metrics
import Persistence
import Postgres
import ServiceRuntime

/// The use case: months are made ahead of their time, and what retention says goes.
///
/// Every process may do this at once: a month is made and dropped once, and a row that another process removes is passed
/// over.
struct ApplyRetention: Sendable {
    let partitions: PartitionStore
    let submissions: SubmissionStore
    let listed: AppleNotificationStore
    let calls: AppleCallStore
    let recoveries: RecoveryStore
    let questions: SweepTaskStore
    let acts: RememberedActStore
    let views: ViewStore
    let retention: Retention
    let logger: Logger

    enum Pace {
        /// How often it looks.
        static let interval = Duration.seconds(300)
        /// Months that are made ahead, beside the one that it is.
        static let monthsAhead = 2
        /// How often it tries to have the tables for itself for a moment.
        static let tries = 20
        /// How long others go first.
        static let pause = Duration.milliseconds(500)
    }

    init(pool: PostgresPool, retention: Retention, logger: Logger) {
        partitions = PartitionStore(pool: pool)
        submissions = SubmissionStore(pool: pool)
        listed = AppleNotificationStore(pool: pool)
        calls = AppleCallStore(pool: pool)
        recoveries = RecoveryStore(pool: pool)
        questions = SweepTaskStore(pool: pool)
        acts = RememberedActStore(pool: pool)
        views = ViewStore(pool: pool)
        self.retention = retention
        self.logger = logger
    }

    /// What looks again and again.
    func task() -> PeriodicTask {
        PeriodicTask("retention", schedule: .init(every: Pace.interval), logger: logger) { try await look() }
    }

    /// Looks once: first what is missing, then what is to go.
    ///
    /// - Throws: `PostgresError`, `CancellationError`; the next look goes on.
    func look() async throws {
        for table in PartitionStore.Table.allCases { try await make(table) }
        try await tellAhead()
        try await remove("remembered_acts") { limit -> Int in try await acts.removeOld(limit: limit) }
        if let age = retention.views {
            try await remove("views") { limit -> Int in try await views.removeOld(olderThan: age, limit: limit) }
        }
        if let age = retention.rejectedProofs {
            try await remove("rejected_proofs") { limit -> SubmissionStore.RemovedRows in
                try await submissions.removeRejectedProofs(olderThan: age, limit: limit)
            }
        }
        if let age = retention.proofs { try await drop(.submissionProofs, age) }
        if let age = retention.notifications {
            try await remove(.notifications, age)
            try await remove("listed_notifications") { limit -> Int in
                try await listed.remove(olderThan: age, limit: limit)
            }
        }
        if let age = retention.appleCalls {
            try await remove("apple_calls") { limit -> Int in
                try await calls.removeEnded(olderThan: age, limit: limit)
            }
        }
        if let age = retention.recoveries {
            try await remove("recoveries") { limit -> Int in
                try await recoveries.remove(olderThan: age, limit: limit)
            }
            try await remove("sweep_tasks") { limit -> Int in
                try await questions.removeOver(olderThan: age, limit: limit)
            }
        }
        if let age = retention.rejected { try await remove(.rejected, age) }
        if let age = retention.attempts { try await drop(.webhookAttempts, age) }
        // Deliveries before events: an event stays as long as a delivery of it.
        if let age = retention.deliveries { try await drop(.webhookDeliveries, age) }
        if let age = retention.events {
            try await drop(.events, age)
            try await drop(.eventPositions, age)
        }
    }

    private func make(_ table: PartitionStore.Table) async throws {
        for _ in 0..<Pace.tries {
            if try await partitions.makeMonths(of: table, ahead: Pace.monthsAhead) { return }
            try await Task.sleep(for: Pace.pause)
        }
        tellBusy("months were not made", table)
    }

    private func tellBusy(_ what: String, _ table: PartitionStore.Table) {
        logger.warning(
            "\(what): somebody holds the table for longer than a moment; the next look tries again",
            metadata: ["table": "\(table.rawValue)"])
    }

    private func tellAhead() async throws {
        let seconds = try await partitions.secondsAhead()
        for table in PartitionStore.Table.allCases {
            Gauge(label: FulfillmentMetrics.monthsAhead, dimensions: [("table", table.rawValue)])
                .record(max(0, seconds[table] ?? 0))
        }
    }

    private func remove(
        _ what: String, _ step: (_ limit: Int) async throws -> SubmissionStore.RemovedRows
    ) async throws {
        for _ in 0..<Retention.batchesPerLook {
            let batch = try await step(Retention.batchMaximum)
            Counter(label: "countersign_retention_rows_removed", dimensions: [("what", what)]).increment(
                by: batch.removed)
            if batch.looked < Retention.batchMaximum { return }
            try Task.checkCancellation()
        }
    }

    /// The same, where every row that is looked at is removed.
    private func remove(_ what: String, _ step: (_ limit: Int) async throws -> Int) async throws {
        try await remove(what) { limit -> SubmissionStore.RemovedRows in
            let count = try await step(limit)
            return SubmissionStore.RemovedRows(looked: count, removed: count)
        }
    }

    private func remove(_ what: PartitionStore.Removable, _ age: Duration) async throws {
        try await remove(what.rawValue) { limit -> Int in
            try await partitions.remove(what, olderThan: age, limit: limit)
        }
    }

    private func drop(_ table: PartitionStore.Table, _ age: Duration) async throws {
        let ended = try await partitions.ended(of: table, before: age)
        var overdue = ended.count
        // Whatever ends this look: how many are beyond their time is told.
        defer {
            Gauge(label: FulfillmentMetrics.monthsOverdue, dimensions: [("table", table.rawValue)]).record(overdue)
        }
        for partition in ended {
            if table == .submissionProofs { try await carry(out: partition) }
            guard try await drop(partition, table) else { return }
            overdue -= 1
        }
    }

    private func carry(out partition: PartitionStore.Partition) async throws {
        for _ in 0..<Retention.batchesPerLook {
            let count = try await submissions.carryProofs(outOf: partition, limit: Retention.batchMaximum)
            if count < Retention.batchMaximum { return }
            try Task.checkCancellation()
        }
    }

    /// Whether it is gone.
    private func drop(_ partition: PartitionStore.Partition, _ table: PartitionStore.Table) async throws -> Bool {
        for _ in 0..<Pace.tries {
            switch try await partitions.drop(partition, of: table) {
            case .dropped:
                logger.notice("a month was dropped: its retention is over", metadata: ["table": "\(partition.name)"])
                Counter(label: "countersign_partitions_dropped", dimensions: [("table", table.rawValue)]).increment()
                return true
            case .stays(let reason):
                logger.notice(
                    "a month stays beyond its retention",
                    metadata: ["table": "\(partition.name)", "reason": "\(reason)"])
                return false
            case .busy: try await Task.sleep(for: Pace.pause)
            }
        }
        tellBusy("a month was not dropped", table)
        return false
    }
}
