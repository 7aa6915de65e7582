import Postgres

/// What a person must decide about purchases.
extension BacklogStore {
    /// Signed data that contradicts an order, and nobody has looked at it yet.
    package struct OpenConflicts: Sendable {
        package let count: Int64
        /// Seconds since the oldest was recorded.
        package let oldestSeconds: Double
        /// The environment and transaction id of the oldest.
        package let oldest: String
    }

    /// What accounts got of one purchase more than once, and nobody has decided about it yet.
    package struct OpenDoubleGrants: Sendable {
        package let count: Int64
        /// Seconds since the first of their orders was merged; nil where no merge is recorded.
        package let oldestSeconds: Double?
    }

    /// Open conflicts; nil where there are none.
    ///
    /// - Throws: `PostgresError`.
    package func openConflicts() async throws -> OpenConflicts? {
        let result = try await pool.query(
            """
            SELECT count(*) OVER () AS count, extract(epoch FROM now() - created_at)::float8 AS oldest_seconds,
                environment || ' ' || transaction_id AS oldest
            FROM purchase_conflicts WHERE resolved_at IS NULL ORDER BY created_at, id LIMIT 1
            """)
        return try result.rows.first.map { row in
            OpenConflicts(
                count: try row.decode("count"), oldestSeconds: try row.decode("oldest_seconds"),
                oldest: try row.decode("oldest"))
        }
    }

    /// Open double grants; nil where there are none.
    ///
    /// - Throws: `PostgresError`.
    package func openDoubleGrants() async throws -> OpenDoubleGrants? {
        let result = try await pool.query(
            """
            SELECT count(*) AS count, extract(epoch FROM now() - min(merged_at))::float8 AS oldest_seconds
            FROM double_grants LEFT JOIN (
                SELECT environment, order_transaction_id, min(merged_at) AS merged_at FROM merged_orders GROUP BY 1, 2) m
                USING (environment, order_transaction_id)
            WHERE state = 'open' HAVING count(*) > 0
            """)
        return try result.rows.first.map { row in
            OpenDoubleGrants(
                count: try row.decode("count"), oldestSeconds: try row.decodeIfPresent("oldest_seconds"))
        }
    }
}
