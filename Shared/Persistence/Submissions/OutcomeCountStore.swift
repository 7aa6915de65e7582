package import Postgres
package import PurchaseModel

/// How many submissions were rejected lately, and how many are parked, by reason: what an operator asks.
package struct OutcomeCountStore: Sendable {
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

        package init(reason: ReasonCode, count: Int64, oldestSeconds: Double) {
            self.reason = reason
            self.count = count
            self.oldestSeconds = oldestSeconds
        }
    }

    /// Those that were rejected no longer ago than this; a bound, since rejections stay for ever.
    ///
    /// - Throws: `PostgresError`.
    package func rejected(within time: Duration) async throws -> [Count] {
        // The index submissions_rejected holds all that is asked.
        try await counts(
            "state = 'rejected' AND settled_at > now() - $1 * interval '1 millisecond'", [.int8(time.wholeMilliseconds)]
        )
    }

    /// Those that are parked.
    ///
    /// - Throws: `PostgresError`.
    package func parked() async throws -> [Count] {
        // The index submissions_parked holds all that is asked.
        try await counts("state = 'parked'", [])
    }

    private func counts(_ condition: String, _ parameters: [PostgresValue]) async throws -> [Count] {
        let result = try await pool.query(
            """
            SELECT coalesce(reason, '') AS reason, count(*) AS count,
                extract(epoch FROM now() - min(settled_at))::float8 AS oldest
            FROM submissions WHERE \(condition) GROUP BY 1 ORDER BY 1
            """, parameters)
        return try result.rows.map { row in
            Count(
                reason: ReasonCode(rawValue: try row.decode("reason")), count: try row.decode("count"),
                oldestSeconds: try row.decode("oldest"))
        }
    }
}
