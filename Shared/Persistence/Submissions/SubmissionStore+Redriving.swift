import Postgres

/// Gives settled submissions another run on a person's word, and writes down who did it and why.
///
/// It is harmless to granted orders: verification and granting are idempotent, so a run more changes nothing of them.
extension SubmissionStore {
    /// Which submissions.
    package enum Selection: Sendable {
        /// These, unless they are fulfilled.
        case ids([String])
        /// All that are parked.
        case parked
        /// All that were rejected for this reason.
        case rejected(reason: String)
    }

    /// A submission that runs again.
    package struct Redriven: Codable, Sendable {
        /// Its id.
        package let id: String
        /// The state it had.
        package let previousState: String
    }

    /// Sets submissions back to received and due now, with a row in `audit_log` for each, in one transaction.
    ///
    /// - Parameters:
    ///   - selection: which; those that are fulfilled, or have no proof any more, are always left alone.
    ///   - reason: why, in the operator's words.
    ///   - actor: who.
    ///   - limit: the most to redrive at once.
    /// - Throws: `PostgresError`; then nothing was changed.
    package func redrive(
        _ selection: Selection, reason: String, actor: String, limit: Int
    ) async throws -> [Redriven] {
        let (condition, argument): (String, PostgresValue) =
            switch selection {
            case .ids(let ids): ("id = ANY($1) AND state <> 'fulfilled'", .textArray(ids))
            case .parked: ("state = $1", .text("parked"))
            case .rejected(let reason): ("state = 'rejected' AND reason = $1", .text(reason))
            }
        return try await pool.withTransaction { connection in
            let result = try await connection.query(
                """
                WITH chosen AS (
                    SELECT id, state FROM submissions
                    -- Without a proof nothing can be judged: its account was forgotten, or retention has dropped it.
                    WHERE \(condition) AND \(Self.hasProof) ORDER BY id LIMIT $2 FOR UPDATE
                ), changed AS (
                    UPDATE submissions SET state = 'received', outcome = NULL, reason = NULL, settled_at = NULL,
                        due_at = now(), attempts = 0
                    FROM chosen WHERE submissions.id = chosen.id
                    RETURNING submissions.id, chosen.state
                )
                SELECT id, state FROM changed ORDER BY id
                """, [argument, .int8(Int64(limit))])
            let redriven = try result.rows.map { row in
                Redriven(id: try row.decode("id"), previousState: try row.decode("state"))
            }
            _ = try await AuditLog.write(
                "redrive", of: redriven.map(\.id), actor: actor, reason: reason, on: connection)
            return redriven
        }
    }
}
