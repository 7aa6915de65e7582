import Postgres

/// The deliveries of an endpoint that is switched on again: due at once, the oldest event first.
extension DeliveryStore {
    /// What a delivery that is brought back falls due within, before the endpoint was resumed: the oldest first.
    private static let span: SQL = "interval '1 second'"
    /// Deliveries that are older than this are brought back before all others, in no order; of others, those that are
    /// some seconds apart keep theirs.
    private static let ageMaximum: SQL = "interval '60 days'"

    /// Brings a part of an endpoint's deliveries back: each is due, and its schedule begins anew.
    ///
    /// Nothing may be claimed for the endpoint until all of them are, which `EndpointStore.finishResuming` writes down. Any
    /// number of processes may do this at once. A row that is locked by another is that one's.
    ///
    /// - Parameter limit: the most to bring back, of those that were due already and of those that were not, each.
    /// - Returns: whether that was all.
    /// - Throws: `PostgresError`.
    package func resume(_ endpointId: String, limit: Int) async throws -> Bool {
        var isAll = true
        for condition: SQL in [
            "d.due_at < e.resumed_at - \(Self.span)",
            // What waits for its turn goes on waiting for it.
            "d.due_at > e.resumed_at AND d.due_at < \(Self.behind) AND d.created_at <= e.resumed_at",
        ] {
            let result = try await pool.query(Self.resuming(endpointId, where: condition, limit: limit))
            if try result.rows.first?.decode(Int.self) ?? 0 >= limit { isAll = false }
        }
        return isAll
    }

    private static func resuming(_ endpointId: String, where condition: SQL, limit: Int) -> SQL {
        """
        WITH chosen AS (
            SELECT d.event_id
            FROM (SELECT id, resumed_at FROM webhook_endpoints
                WHERE id = \(endpointId) AND is_holding AND disabled_at IS NULL AND resumed_at IS NOT NULL OFFSET 0) e
            CROSS JOIN LATERAL (
                SELECT d.event_id FROM webhook_deliveries d
                WHERE d.endpoint_id = e.id AND \(condition) ORDER BY d.due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            ) d
        ), changed AS (
            UPDATE webhook_deliveries d SET attempts_forgiven = d.attempts, failed_at = NULL,
                due_at = e.resumed_at - \(span) * extract(epoch FROM least(
                    greatest(e.resumed_at - d.created_at, interval '0'), \(ageMaximum)))::float8
                    / extract(epoch FROM \(ageMaximum))::float8
            -- An array: one look into the index for each, however many the planner expects.
            FROM webhook_endpoints e
            WHERE e.id = \(endpointId) AND d.endpoint_id = e.id AND d.event_id = ANY(ARRAY(SELECT event_id FROM chosen))
            RETURNING 1 AS one
        )
        SELECT count(*) AS count FROM changed
        """
    }
}
