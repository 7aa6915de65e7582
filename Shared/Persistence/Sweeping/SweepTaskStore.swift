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
                    WHERE priority = p.priority AND due_at <= now() ORDER BY due_at LIMIT $1) next
                ORDER BY p.priority, next.due_at LIMIT $1
            ), taken AS MATERIALIZED (
                -- Seen anew once it is locked: another worker may have taken it between the two looks.
                SELECT id FROM sweep_tasks WHERE id IN (SELECT id FROM due) AND due_at <= now()
                ORDER BY id FOR UPDATE SKIP LOCKED
            )
            UPDATE sweep_tasks SET due_at = now() + $2 * interval '1 millisecond', claimed_at = now(),
                lease_number = lease_number + 1
            FROM taken WHERE sweep_tasks.id = taken.id
            RETURNING sweep_tasks.id, kind, app, environment, customer, subject, cause, priority::int4, lease_number, failures,
                covered_until, window_start, window_end, page, revision, run_id
            """, [.int8(Int64(limit)), .int8(lease.wholeMilliseconds)])
        let tasks = try result.rows.map { (try $0.decode("priority", as: Int32.self), try Self.task($0)) }
        return tasks.sorted { ($0.0, $0.1.id) < ($1.0, $1.1.id) }.map(\.1)
    }

    private static func task(_ row: PostgresRow) throws -> SweepTask {
        let kind = try row.decode("kind", as: String.self)
        guard let known = SweepTask.Kind(rawValue: kind) else {
            throw PostgresError(code: .decodingFailed, reason: "sweep_tasks has a kind that is not known: \(kind)")
        }
        let start = try row.decodeIfPresent("window_start", as: Date.self)
        let end = try row.decodeIfPresent("window_end", as: Date.self)
        var window: Range<Date>?
        if let start, let end, start < end { window = start..<end }
        return SweepTask(
            id: try row.decode("id"), kind: known, app: try row.decode("app"),
            environment: StoreEnvironment(rawValue: try row.decode("environment")),
            customer: try row.decode("customer"), subject: try row.decode("subject"),
            cause: SweepTask.Cause(rawValue: try row.decode("cause")) ?? .schedule,
            lease: try row.decode("lease_number"), failures: Int(try row.decode("failures", as: Int32.self)),
            coveredUntil: try row.decodeIfPresent("covered_until"), window: window,
            page: try row.decodeIfPresent("page"), revision: try row.decodeIfPresent("revision"),
            run: try row.decodeIfPresent("run_id"))
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
            UPDATE sweep_tasks SET window_start = $3, window_end = $4, page = $5, revision = $6, calls = calls + $7,
                found = found + $8, failures = 0, last_error = NULL, due_at = now() + $9 * interval '1 millisecond'
            WHERE id = $1 AND lease_number = $2 AND claimed_at IS NOT NULL RETURNING id
            """,
            [
                .int8(task.id), .int4(task.lease), .timestamptz(progress.window?.lowerBound),
                .timestamptz(progress.window?.upperBound), .text(progress.page), .text(progress.revision),
                .int8(Int64(progress.calls)), .int8(Int64(progress.found)), .int8(lease.wholeMilliseconds),
            ])
        return !result.rows.isEmpty
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
            UPDATE sweep_tasks SET window_start = NULL, window_end = NULL, page = NULL, revision = $3,
                calls = calls + $4, found = found + $5, failures = 0, last_error = NULL, claimed_at = NULL,
                -- Whoever wanted it asked meanwhile may have wanted an earlier window, too.
                covered_until = CASE WHEN asked_at > claimed_at THEN covered_until ELSE coalesce($6, covered_until) END,
                due_at = CASE WHEN asked_at > claimed_at THEN now() ELSE now() + $7 * interval '1 millisecond' END,
                priority = CASE WHEN asked_at > claimed_at THEN priority ELSE $8 END,
                cause = CASE WHEN asked_at > claimed_at THEN cause ELSE 'schedule' END,
                run_id = CASE WHEN asked_at > claimed_at THEN run_id END, finished_at = now()
            WHERE id = $1 AND lease_number = $2 AND claimed_at IS NOT NULL RETURNING id
            """,
            [
                .int8(task.id), .int4(task.lease), .text(progress.revision), .int8(Int64(progress.calls)),
                .int8(Int64(progress.found)), .timestamptz(coveredUntil), .int8(next?.wholeMilliseconds),
                .int4(Int32(task.kind.priority)),
            ])
        return !result.rows.isEmpty
    }

    /// Puts a round off that could not go on; its progress stays.
    ///
    /// - Parameters:
    ///   - reason: nil where nothing went wrong: the worker leaves.
    ///   - startsAnew: where what is kept of the round is of no use any more.
    /// - Throws: `PostgresError`.
    package func putOff(
        _ task: SweepTask, by delay: Duration, reason: String?, startsAnew: Bool = false
    ) async throws {
        _ = try await pool.query(
            """
            UPDATE sweep_tasks SET due_at = now() + $3 * interval '1 millisecond', claimed_at = NULL,
                failures = CASE WHEN $4::text IS NULL THEN failures ELSE failures + 1 END, last_error = $4,
                page = CASE WHEN $5 THEN NULL ELSE page END, revision = CASE WHEN $5 THEN NULL ELSE revision END,
                window_start = CASE WHEN $5 THEN NULL ELSE window_start END,
                window_end = CASE WHEN $5 THEN NULL ELSE window_end END
            WHERE id = $1 AND lease_number = $2 AND claimed_at IS NOT NULL
            """,
            [
                .int8(task.id), .int4(task.lease), .int8(delay.wholeMilliseconds), .text(reason), .bool(startsAnew),
            ])
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
            SELECT kind, count(*) AS due, extract(epoch FROM now() - min(due_at))::float8 AS oldest
            FROM (SELECT next.kind, next.due_at FROM generate_series(0, 9) AS p (priority) CROSS JOIN LATERAL (
                SELECT kind, due_at FROM sweep_tasks WHERE priority = p.priority AND due_at <= now()
                ORDER BY due_at LIMIT $1) next) rows
            GROUP BY kind ORDER BY kind
            """, [.int8(Int64(UndeliveredStore.countMaximum))])
        return try result.rows.map {
            Backlog(kind: try $0.decode("kind"), due: try $0.decode("due"), oldestSeconds: try $0.decode("oldest"))
        }
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

        package init(
            app: String, environment: String, coveredSeconds: Double?, overdueSeconds: Double, lastError: String?
        ) {
            self.app = app
            self.environment = environment
            self.coveredSeconds = coveredSeconds
            self.overdueSeconds = overdueSeconds
            self.lastError = lastError
        }
    }

    /// How far the comparison of notifications is, of each app and environment.
    ///
    /// - Throws: `PostgresError`.
    package func looks() async throws -> [Look] {
        let result = try await pool.query(
            """
            SELECT app, environment, extract(epoch FROM now() - covered_until)::float8 AS covered,
                greatest(extract(epoch FROM now() - due_at), CASE WHEN failures > 0
                    THEN extract(epoch FROM now() - coalesce(finished_at, created_at)) END, 0)::float8 AS overdue,
                last_error
            FROM sweep_tasks WHERE kind = 'notifications' ORDER BY app, environment
            """)
        return try result.rows.map {
            Look(
                app: try $0.decode("app"), environment: try $0.decode("environment"),
                coveredSeconds: try $0.decodeIfPresent("covered"), overdueSeconds: try $0.decode("overdue"),
                lastError: try $0.decodeIfPresent("last_error"))
        }
    }

    /// Whether there is any order.
    ///
    /// - Throws: `PostgresError`.
    package func isAnythingSold() async throws -> Bool {
        let result = try await pool.query("SELECT EXISTS (SELECT FROM orders) AS sold")
        return try result.rows.first?.decode("sold") ?? false
    }
}
