package import Postgres
package import PurchaseModel

/// How many submissions were rejected lately, and how many are parked, by reason: what an operator asks.
package struct OutcomeCountStore: Sendable {
    /// Rows that are counted at most: in all of the rejected, of each reason of the parked; as many means "at least".
    package static let countMaximum = 10_000

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Submissions that were settled for one reason.
    package struct Count: Sendable, Hashable {
        package let reason: ReasonCode
        package let count: Int64
        /// Seconds since the oldest of them was settled.
        package let oldestSeconds: Double
    }

    /// Those that were rejected no longer ago than this; of more than ``countMaximum`` the newest.
    ///
    /// - Throws: `PostgresError`.
    package func rejected(within time: Duration) async throws -> [Count] {
        // The index submissions_rejected holds all that is asked.
        let result = try await pool.query(
            """
            SELECT coalesce(reason, '') AS reason, count(*) AS count,
                extract(epoch FROM now() - min(settled_at))::float8 AS oldest_seconds
            FROM (
                SELECT reason, settled_at FROM submissions
                WHERE state = 'rejected' AND settled_at > now() - \(time)
                ORDER BY settled_at DESC LIMIT \(Self.countMaximum)) newest
            GROUP BY 1 ORDER BY 1
            """)
        return try result.map(Count.init)
    }

    /// Those that are parked; at most ``countMaximum`` of each reason, the oldest exactly.
    ///
    /// - Throws: `PostgresError`.
    package func parked() async throws -> [Count] {
        // The index submissions_parked holds all that is asked: from one reason to the next, each from its oldest row on.
        let result = try await pool.query(
            """
            WITH RECURSIVE reasons AS (
                (SELECT reason FROM submissions WHERE state = 'parked' AND reason IS NOT NULL
                ORDER BY reason LIMIT 1)
                UNION ALL
                SELECT next.reason FROM reasons CROSS JOIN LATERAL (
                    SELECT reason FROM submissions WHERE state = 'parked' AND reason > reasons.reason
                    ORDER BY reason LIMIT 1) next
            )
            SELECT reasons.reason, oldest.count, extract(epoch FROM now() - oldest.settled_at)::float8 AS oldest_seconds
            FROM reasons CROSS JOIN LATERAL (
                SELECT count(*) AS count, min(settled_at) AS settled_at FROM (
                    SELECT settled_at FROM submissions WHERE state = 'parked' AND reason = reasons.reason
                    ORDER BY settled_at LIMIT \(Self.countMaximum)) s) oldest
            ORDER BY reasons.reason
            """)
        return try result.map(Count.init)
    }
}
