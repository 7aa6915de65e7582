import Postgres

/// Events that wait for their time, and are to be sent at once.
extension EventStore {
    /// Has events that the notification service does not have sent now, with a row in `audit_log` for each.
    ///
    /// - Parameters:
    ///   - ids: which; all that wait where none is named.
    ///   - limit: the most of them.
    /// - Returns: the ids of those that were not due yet.
    /// - Throws: `PostgresError`.
    package func hasten(_ ids: [String], limit: Int, reason: String, actor: String) async throws -> [String] {
        try await pool.withTransaction { connection in
            let allIds = SQL.once(ids)
            let result = try await connection.query(
                """
                WITH chosen AS (
                    SELECT event_id FROM event_outbox WHERE due_at > now()
                        AND (cardinality(\(allIds)) = 0 OR event_id = ANY(\(allIds)))
                    ORDER BY due_at DESC LIMIT \(limit) FOR UPDATE SKIP LOCKED
                )
                UPDATE event_outbox SET due_at = now() WHERE event_id = ANY(ARRAY(SELECT event_id FROM chosen))
                RETURNING event_id
                """)
            let hastened = try result.map { (id: String) in id }.sorted()
            _ = try await AuditLog.write(
                "hasten", of: hastened, app: .ofEvent, actor: actor, reason: reason, on: connection)
            return hastened
        }
    }
}
