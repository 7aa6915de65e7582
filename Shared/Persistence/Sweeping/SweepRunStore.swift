package import Foundation
package import Postgres

/// The table `sweep_runs`: reconciliations after a restore of the database, each until everything was asked.
package struct SweepRunStore: Sendable {
    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A reconciliation, and how far it is.
    package struct Run: Sendable, Hashable {
        package let id: Int64
        /// From when on Apple's notifications are compared.
        package let since: Date
        package let requestedAt: Date
        /// When everything was asked; nil until then.
        package let finishedAt: Date?
        /// Questions that are not answered yet.
        package let waiting: Int64
        /// Those of them that failed the last time, and why one of them did.
        package let failing: Int64
        package let lastError: String?
        /// What was found and has an outcome, and what has none yet.
        package let settled: Int64
        package let unsettled: Int64
        /// Calls of Apple's servers that all questions have taken so far.
        package let calls: Int64
        /// Whether any worker has done anything since it was asked for.
        package let isUnderWay: Bool
    }

    /// No worker has made a task yet that could be asked again.
    package struct NothingToAsk: Error {}

    /// Has everything asked anew: each app's notifications from a point of time on, and every customer that is known.
    ///
    /// - Parameters:
    ///   - since: before the backup that was restored was made.
    ///   - app: only this one's; nil for all, and for customers who have no tasks yet.
    ///   - isFull: whether histories are read from their beginning, and not from the mark that the restored database has.
    ///   - actor: who, for the audit log.
    ///   - reason: why, in the operator's words.
    /// - Returns: its id, and how many questions are asked.
    /// - Throws: `PostgresError`; ``NothingToAsk``, and then nothing was written.
    package func begin(
        since: Date, app: String? = nil, isFull: Bool, actor: String, reason: String
    ) async throws -> (id: Int64, tasks: Int64) {
        try await pool.withTransaction { connection in
            let made = try await connection.query(
                "INSERT INTO sweep_runs (since, app, is_full) VALUES (\(since), \(app), \(isFull)) RETURNING id")
            guard let id = try made.rows.first?.decode(Int64.self) else {
                throw PostgresError(code: .decodingFailed, reason: "sweep_runs gave no id")
            }
            let tasks = try await SweepTaskStore.askAgain(
                since: since, app: app, readsAll: isFull, run: id, on: connection)
            guard tasks > 0 else { throw NothingToAsk() }
            _ = try await AuditLog.write(
                "reconcile", of: "\(app.map { "\($0) " } ?? "")since \(since.ISO8601Format())", app: .named(app),
                actor: actor, reason: reason, on: connection)
            return (id, tasks)
        }
    }

    /// The newest reconciliation, or one of them; nil where there is none.
    ///
    /// - Throws: `PostgresError`.
    package func run(_ id: Int64? = nil) async throws -> Run? {
        try await pool.query(Self.runStatement(id)).map(Run.init).first
    }

    private static func runStatement(_ id: Int64?) -> SQL {
        """
        SELECT r.id, r.since, r.requested_at, r.finished_at, t.waiting, t.failing, t.last_error, f.settled, f.unsettled,
            c.calls, c.is_under_way
        FROM sweep_runs r
        CROSS JOIN LATERAL (
            SELECT count(*) AS waiting, count(*) FILTER (WHERE failures > 0) AS failing, max(last_error) AS last_error
            FROM sweep_tasks WHERE run_id = r.id) t
        CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE s.state <> 'received'
                    OR s.state IS NULL AND v.found_at <= now() - interval '1 day') AS settled,
                -- One without its row is a finding of a worker that died, or was dropped by retention long since.
                count(*) FILTER (WHERE s.state = 'received' OR s.state IS NULL AND v.found_at > now() - interval '1 day')
                    AS unsettled
            FROM recoveries v LEFT JOIN submissions s ON s.id = v.submission_id WHERE v.found_at >= r.requested_at) f
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(calls), 0)::int8 AS calls,
                coalesce(bool_or(claimed_at >= r.requested_at OR finished_at >= r.requested_at), false) AS is_under_way
            FROM sweep_tasks) c
        WHERE \(id) IS NULL OR r.id = \(id) ORDER BY r.id DESC LIMIT 1
        """
    }

    /// Notes that a reconciliation is over: everything was asked, and what was found has an outcome.
    ///
    /// - Throws: `PostgresError`.
    package func finish(_ id: Int64) async throws {
        _ = try await pool.query(
            "UPDATE sweep_runs SET finished_at = coalesce(finished_at, now()) WHERE id = \(id)")
    }

    /// What became of the transactions that were recovered, by state and reason.
    package struct Outcome: Sendable, Hashable {
        package let environment: String
        /// The order's; `none` where no order is known: a notification about none, or one that is not settled yet.
        package let state: String
        package let reason: String?
        package let count: Int64
    }

    /// What became of everything that was found from a point of time on.
    ///
    /// - Throws: `PostgresError`.
    package func outcomes(since: Date) async throws -> [Outcome] {
        let result = try await pool.query(
            """
            SELECT v.environment, coalesce(o.state, 'none') AS state, o.reason, count(DISTINCT
                coalesce(o.transaction_id, v.submission_id)) AS count
            FROM recoveries v
            LEFT JOIN order_transactions t ON (t.environment, t.transaction_id) = (v.environment, v.transaction_id)
            LEFT JOIN orders o ON (o.environment, o.transaction_id) = (t.environment, t.order_transaction_id)
            WHERE v.found_at >= \(since) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
            """)
        return try result.map(Outcome.init)
    }
}
