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
        return try result.map(OpenConflicts.init).first
    }
}
