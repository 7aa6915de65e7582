import Postgres

/// Submissions that wait for their time, and are to be sent at once.
extension SubmissionStore {
    /// Has submissions without an outcome sent now, those first that would be last, with a row in `audit_log` for each.
    ///
    /// - Parameters:
    ///   - ids: which; all that wait where none is named.
    ///   - limit: the most of them.
    /// - Returns: the ids of those that were not due yet.
    /// - Throws: `PostgresError`.
    package func hasten(_ ids: [String], limit: Int, reason: String, actor: String) async throws -> [String] {
        try await pool.withTransaction { connection in
            let ids = SQL.once(ids)
            let result = try await connection.query(
                """
                WITH chosen AS (
                    SELECT id FROM submissions WHERE due_at > now() AND (cardinality(\(ids)) = 0 OR id = ANY(\(ids)))
                    ORDER BY due_at DESC LIMIT \(limit) FOR UPDATE SKIP LOCKED
                )
                UPDATE submissions SET due_at = now() WHERE id = ANY(ARRAY(SELECT id FROM chosen)) RETURNING id
                """)
            let hastened = try result.map { (id: String) in id }.sorted()
            // The word of `redrive`, by which an account that is forgotten is taken out of the log.
            _ = try await AuditLog.write(
                "redrive", of: hastened, app: .ofSubmission, actor: actor, reason: reason, on: connection)
            return hastened
        }
    }
}
