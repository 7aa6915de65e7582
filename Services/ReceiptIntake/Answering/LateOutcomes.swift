import Logging
import Metrics
import Persistence
import ServiceRuntime

/// Finds outcomes whose hint was lost, or went to a topic that nobody reads while versions change: whoever has waited a
/// while is looked up in the database, and told as the hint would have told.
struct LateOutcomes: Sendable {
    enum Limit {
        /// The time between two looks.
        static let interval = Duration.seconds(1)
        /// How long somebody must have waited; most hints come within a tenth of it.
        static let patience = Duration.seconds(1)
        /// The most submissions of one look; further ones are in the looks that follow.
        static let idsMaximum = 1_000
        /// The longest wait after a look that failed: those who wait do so for seconds.
        static let failureDelayMaximum = Duration.seconds(5)
    }

    let waiters: OutcomeWaiters
    let statuses: PurchaseSubmissions.Statuses
    private let told = Counter(label: "countersign_late_outcomes_total")

    init(waiters: OutcomeWaiters, statuses: @escaping PurchaseSubmissions.Statuses) {
        self.waiters = waiters
        self.statuses = statuses
    }

    /// What looks again and again.
    func task(logger: Logger) -> PeriodicTask {
        PeriodicTask(
            "late-outcomes",
            schedule: .init(every: Limit.interval, failureDelayMaximum: Limit.failureDelayMaximum), logger: logger
        ) {
            _ = try await look(at: .now)
        }
    }

    /// Looks once, with one query; with none when nobody has waited so long.
    ///
    /// An outcome that a waiter passes over ends no wait, and is not counted.
    ///
    /// - Parameter now: what waits are measured by.
    /// - Returns: how many submissions it looked for.
    /// - Throws: `PostgresError`.
    func look(at now: ContinuousClock.Instant) async throws -> Int {
        let ids = waiters.overdue(at: now, after: Limit.patience, maximum: Limit.idsMaximum)
        guard !ids.isEmpty else { return 0 }
        for (id, status) in try await statuses(ids) {
            guard let outcome = status.outcome else { continue }
            told.increment(by: waiters.resolve(id, with: outcome))
        }
        return ids.count
    }
}
