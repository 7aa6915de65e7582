import Foundation
import Logging
import Metrics
import Persistence
import Postgres
import ServiceRuntime

/// Measures how long the oldest accepted purchase has been without an outcome: the number to watch, and to be woken by.
struct OldestSubmission: Sendable {
    /// How often it is asked; a scrape in between sees the last answer.
    static let interval = Duration.seconds(5)

    private let submissions: SubmissionStore
    private let gauge = Gauge(label: "countersign_oldest_submission_age_seconds")

    init(pool: PostgresPool) {
        submissions = SubmissionStore(pool: pool)
    }

    /// What measures it.
    func task(logger: Logger) -> PeriodicTask {
        PeriodicTask("oldest-submission", schedule: .init(every: Self.interval), logger: logger) {
            gauge.record(try await ageSeconds())
        }
    }

    /// The age in seconds; 0 when nothing is unsettled.
    ///
    /// - Throws: `PostgresError`.
    func ageSeconds() async throws -> Double {
        guard let oldest = try await submissions.oldestUnsettled() else { return 0 }
        return max(0, Date().timeIntervalSince(oldest))
    }
}
