package import Foundation
package import Postgres
import PurchaseModel

/// The table `sweep_tasks`: what Apple is asked again and again, shared by leases among any number of workers.
package struct SweepTaskStore: Sendable {
    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Takes tasks that are due, the most urgent first, and gives each a lease.
    ///
    /// A row that another worker has just taken is passed over. Whoever dies leaves its tasks due when their leases end.
    ///
    /// - Parameters:
    ///   - limit: the most to take.
    ///   - lease: after which a task is somebody else's.
    /// - Throws: `PostgresError`.
    package func claim(limit: Int, lease: Duration) async throws -> [SweepTask] {
        let result = try await pool.query(
            """
            WITH due AS MATERIALIZED (
                SELECT next.id FROM generate_series(0, 9) AS p (priority) CROSS JOIN LATERAL (
                    SELECT id, due_at FROM sweep_tasks
                    WHERE priority = p.priority AND due_at <= now() ORDER BY due_at LIMIT \(limit)) next
                ORDER BY p.priority, next.due_at LIMIT \(limit)
            ), taken AS MATERIALIZED (
                -- Seen anew once it is locked: another worker may have taken it between the two looks.
                SELECT id FROM sweep_tasks WHERE id IN (SELECT id FROM due) AND due_at <= now()
                ORDER BY id FOR UPDATE SKIP LOCKED
            )
            UPDATE sweep_tasks SET due_at = now() + \(lease), claimed_at = now(),
                lease_number = lease_number + 1
            FROM taken WHERE sweep_tasks.id = taken.id
            RETURNING priority::int4, sweep_tasks.id, kind, app, environment, customer, subject, cause, lease_number,
                failures, mismatches, covered_until, window_start, window_end, page, revision, run_id
            """)
        let tasks = try result.map {
            (
                priority: Int32, id: Int64, kind: SweepTask.Kind, app: String, environment: String, customer: String,
                subject: String, cause: String, lease: Int32, failures: Int32, mismatches: Int32, coveredUntil: Date?,
                start: Date?, end: Date?, page: String?, revision: String?, run: Int64?
            ) in
            var window: Range<Date>?
            if let start, let end, start < end { window = start..<end }
            return (
                priority,
                SweepTask(
                    id: id, kind: kind, app: app, environment: StoreEnvironment(rawValue: environment),
                    customer: customer, subject: subject, cause: SweepTask.Cause(rawValue: cause) ?? .schedule,
                    lease: lease, failures: Int(failures), mismatches: Int(mismatches), coveredUntil: coveredUntil,
                    window: window, page: page, revision: revision, run: run)
            )
        }
        return tasks.sorted { ($0.0, $0.1.id) < ($1.0, $1.1.id) }.map(\.1)
    }

    /// Where a round has come to: what is kept when the worker dies.
    package struct Progress: Sendable, Hashable {
        /// The window of the round, of an app.
        package var window: Range<Date>?
        /// Where the next page is; nil for the first.
        package var page: String?
        /// Apple's mark, of a customer.
        package var revision: String?
        /// Pages that were read since the progress before.
        package var calls: Int
        /// What was found on them.
        package var found: Int

        package init(
            window: Range<Date>? = nil, page: String? = nil, revision: String? = nil, calls: Int = 0, found: Int = 0
        ) {
            self.window = window
            self.page = page
            self.revision = revision
            self.calls = calls
            self.found = found
        }
    }

    /// Keeps the progress of a round that goes on, and makes its lease anew.
    ///
    /// - Returns: false where the task is another worker's by now.
    /// - Throws: `PostgresError`.
    package func keep(_ progress: Progress, of task: SweepTask, lease: Duration) async throws -> Bool {
        let result = try await pool.query(
            """
            UPDATE sweep_tasks SET window_start = \(progress.window?.lowerBound),
                window_end = \(progress.window?.upperBound), page = \(progress.page),
                revision = \(Self.revision(progress)), calls = calls + \(progress.calls),
                found = found + \(progress.found), failures = 0, mismatches = 0, last_error = NULL,
                due_at = now() + \(lease)
            WHERE id = \(task.id) AND lease_number = \(task.lease) AND claimed_at IS NOT NULL
            """)
        return result.affectedRows > 0
    }

    /// Apple's mark of a round, unless somebody has wanted everything read since it began: that takes the mark away.
    private static func revision(_ progress: Progress) -> SQL {
        "CASE WHEN revision IS NULL AND asked_at > claimed_at THEN NULL ELSE \(progress.revision)::text END"
    }

    /// Ends a round: everything was read.
    ///
    /// - Parameters:
    ///   - coveredUntil: the new last good point; nil leaves it.
    ///   - next: when the next round begins; nil for never. Whatever wanted it asked during this round has it asked at once.
    /// - Returns: false where the task is another worker's by now.
    /// - Throws: `PostgresError`.
    package func finish(
        _ task: SweepTask, _ progress: Progress, coveredUntil: Date? = nil, next: Duration?
    ) async throws -> Bool {
        let result = try await pool.query(
            """
            UPDATE sweep_tasks SET window_start = NULL, window_end = NULL, page = NULL,
                revision = \(Self.revision(progress)), calls = calls + \(progress.calls), found = found + \(progress.found), failures = 0, mismatches = 0,
                last_error = NULL, claimed_at = NULL,
                -- Whoever wanted it asked meanwhile may have wanted an earlier window, too.
                covered_until = CASE WHEN asked_at > claimed_at THEN covered_until ELSE coalesce(\(coveredUntil), covered_until) END,
                due_at = CASE WHEN asked_at > claimed_at THEN now() ELSE now() + \(next) END,
                priority = CASE WHEN asked_at > claimed_at THEN priority ELSE \(Int32(task.kind.priority)) END,
                cause = CASE WHEN asked_at > claimed_at THEN cause ELSE 'schedule' END,
                run_id = CASE WHEN asked_at > claimed_at THEN run_id END, finished_at = now()
            WHERE id = \(task.id) AND lease_number = \(task.lease) AND claimed_at IS NOT NULL
            """)
        return result.affectedRows > 0
    }

    /// Puts a round off that could not go on; its progress stays.
    ///
    /// - Parameters:
    ///   - reason: nil where nothing went wrong: the worker leaves.
    ///   - startsAnew: where what is kept of the round is of no use any more.
    ///   - isMismatch: where the page had what does not verify.
    /// - Throws: `PostgresError`.
    package func putOff(
        _ task: SweepTask, by delay: Duration, reason: String?, startsAnew: Bool = false, isMismatch: Bool = false
    ) async throws {
        _ = try await pool.query(
            """
            UPDATE sweep_tasks SET due_at = now() + \(delay), claimed_at = NULL,
                failures = CASE WHEN \(reason) IS NULL THEN failures ELSE failures + 1 END, last_error = \(reason),
                mismatches = CASE WHEN \(isMismatch) THEN mismatches + 1 ELSE mismatches END,
                page = CASE WHEN \(startsAnew) THEN NULL ELSE page END,
                revision = CASE WHEN \(startsAnew) THEN NULL ELSE revision END,
                window_start = CASE WHEN \(startsAnew) THEN NULL ELSE window_start END,
                window_end = CASE WHEN \(startsAnew) THEN NULL ELSE window_end END
            WHERE id = \(task.id) AND lease_number = \(task.lease) AND claimed_at IS NOT NULL
            """)
    }

    /// Tasks that are due and not taken, and what is under way: for metrics.
    package struct Backlog: Sendable, Hashable {
        package let kind: String
        /// At most ``UndeliveredStore/countMaximum``.
        package let due: Int64
        /// Seconds since the oldest of them was due.
        package let oldestSeconds: Double
    }

    /// What is due, by kind; kinds of which nothing is due are left out.
    ///
    /// - Throws: `PostgresError`.
    package func backlog() async throws -> [Backlog] {
        let result = try await pool.query(
            """
            SELECT kind, count(*) AS due, extract(epoch FROM now() - min(due_at))::float8 AS oldest_seconds
            FROM (SELECT next.kind, next.due_at FROM generate_series(0, 9) AS p (priority) CROSS JOIN LATERAL (
                SELECT kind, due_at FROM sweep_tasks WHERE priority = p.priority AND due_at <= now()
                ORDER BY due_at LIMIT \(UndeliveredStore.countMaximum)) next) rows
            GROUP BY kind ORDER BY kind
            """)
        return try result.map(Backlog.init)
    }
}

extension SweepTaskStore {
    /// How far the comparison of an app's notifications is.
    package struct Look: Sendable, Hashable {
        package let app: String
        package let environment: String
        /// Seconds since the last good point; nil where there is none.
        package let coveredSeconds: Double?
        /// For how many seconds it has been due and not taken, or failing; 0 where it is in time.
        package let overdueSeconds: Double
        /// Why it failed the last time; nil where it did not.
        package let lastError: String?
    }

    /// How far the comparison of notifications is, of each app and environment.
    ///
    /// - Throws: `PostgresError`.
    package func looks() async throws -> [Look] {
        let result = try await pool.query(
            """
            SELECT app, environment, extract(epoch FROM now() - covered_until)::float8 AS covered_seconds,
                greatest(extract(epoch FROM now() - due_at), CASE WHEN failures > 0
                    THEN extract(epoch FROM now() - coalesce(finished_at, created_at)) END, 0)::float8 AS overdue_seconds,
                last_error
            FROM sweep_tasks WHERE kind = 'notifications' ORDER BY app, environment
            """)
        return try result.map(Look.init)
    }

    /// Apps with orders of production whose notifications nobody compares.
    ///
    /// - Throws: `PostgresError`.
    package func unaskedApps() async throws -> [String] {
        // One step of the index for each app, however many orders it has.
        let result = try await pool.query(
            """
            WITH RECURSIVE sold (app) AS (
                SELECT min(app) FROM orders
                UNION ALL
                SELECT (SELECT min(o.app) FROM orders o WHERE o.app > sold.app) FROM sold WHERE sold.app IS NOT NULL
            )
            SELECT app FROM sold
            WHERE EXISTS (SELECT FROM orders o WHERE o.app = sold.app AND o.environment = 'production')
                AND NOT EXISTS (SELECT FROM sweep_tasks t
                    WHERE t.kind = 'notifications' AND t.app = sold.app AND t.environment = 'production')
            ORDER BY app
            """)
        return try result.rows.map { try $0.decode(String.self) }
    }
}
