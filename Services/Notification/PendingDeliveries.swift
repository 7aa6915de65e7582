import Postgres

/// How many deliveries wait, for the gauge.
struct PendingDeliveries: Sendable {
    private let pool: PostgresPool

    init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Pending deliveries by endpoint; endpoints without any are left out.
    ///
    /// - Throws: `PostgresError`.
    func count() async throws -> [String: Int64] {
        let result = try await pool.query(
            """
            SELECT endpoint_id, count(*) AS count FROM webhook_deliveries WHERE due_at IS NOT NULL GROUP BY endpoint_id
            """)
        var counts: [String: Int64] = [:]
        for row in result.rows { counts[try row.decode("endpoint_id")] = try row.decode("count") }
        return counts
    }
}
