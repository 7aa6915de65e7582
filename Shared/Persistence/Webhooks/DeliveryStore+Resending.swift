import Postgres

/// Deliveries that somebody asked to be made again.
extension DeliveryStore {
    /// Makes deliveries due that were asked for, of these endpoints: their schedule begins anew.
    ///
    /// One whose state is another by now is left alone, and so is one that is being tried, or will be within the lease.
    ///
    /// - Parameters:
    ///   - limit: the most requests to take up.
    ///   - lease: the time after which a delivery falls due that is being tried.
    /// - Returns: how many requests were taken up, and how many deliveries are due because of them.
    /// - Throws: `PostgresError`.
    package func takeUp(
        endpointIds: [String], limit: Int, lease: Duration
    ) async throws -> (requests: Int, deliveries: Int) {
        let result = try await pool.query(
            """
            WITH asked AS (
                DELETE FROM webhook_resends WHERE (endpoint_id, event_id) IN (
                    SELECT endpoint_id, event_id FROM webhook_resends WHERE endpoint_id = ANY(\(endpointIds))
                    ORDER BY endpoint_id, event_id LIMIT \(limit) FOR UPDATE SKIP LOCKED)
                RETURNING endpoint_id, event_id, state
            ), changed AS (
                UPDATE webhook_deliveries d SET state = 'pending', due_at = now() + asked.place * interval '1 microsecond',
                    attempts_forgiven = d.attempts, failed_at = NULL, delivered_at = NULL
                FROM (SELECT *, row_number() OVER (ORDER BY event_id) AS place FROM asked) asked
                WHERE d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id AND d.state = asked.state
                    AND (d.state <> 'pending' OR d.due_at > now() + \(lease))
                RETURNING 1 AS one
            )
            SELECT (SELECT count(*) FROM asked) AS requests, (SELECT count(*) FROM changed) AS deliveries
            """)
        return try result.rows.first?.decode((Int, Int).self) ?? (0, 0)
    }
}
