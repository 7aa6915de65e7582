package import Postgres

/// The lines of `audit_log` about dead letters that an operator has sent again.
///
/// A topic is in no transaction of the database: the line stands before the message is sent, so no message is sent without one.
package struct DeadLetterActs: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Writes a line for each letter: that somebody sends it again, and why.
    ///
    /// - Parameter letters: what each is called, with its place.
    /// - Returns: the ids of the lines, in the letters' order.
    /// - Throws: `PostgresError`.
    package func write(_ letters: [String], actor: String, reason: String) async throws -> [Int64] {
        try await pool.withTransaction { connection in
            try await AuditLog.write(
                "send_dead_letter", of: letters, app: .noApp, actor: actor, reason: reason, on: connection
            ).map(\.id)
        }
    }
}
