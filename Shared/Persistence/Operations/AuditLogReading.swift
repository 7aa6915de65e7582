package import Foundation
package import Postgres

/// Reads what was done by hand, for an operator.
package struct AuditLogReading: Sendable {
    /// Which lines; all conditions have to be true.
    package struct Selection: Sendable {
        /// What was done, such as `forget`.
        package var action: String?
        package var actor: String?
        /// To what, as it stands in the line.
        package var subject: String?
        package var since: Date?

        package init() {}
    }

    /// One line.
    package struct Line: Codable, Sendable, Hashable {
        package let id: Int64
        package let createdAt: Date
        package let actor: String
        package let action: String
        package let subject: String
        package let reason: String
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The newest lines of a selection, the newest first.
    ///
    /// The log is read backwards by its key; people write it, so it is small.
    ///
    /// - Throws: `PostgresError`.
    package func lines(_ selection: Selection, limit: Int) async throws -> [Line] {
        let result = try await pool.query(
            """
            SELECT id, created_at, actor, action, subject, reason FROM audit_log
            WHERE ($1::text IS NULL OR action = $1) AND ($2::text IS NULL OR actor = $2)
                AND ($3::text IS NULL OR subject = $3) AND ($4::timestamptz IS NULL OR created_at >= $4)
            ORDER BY id DESC LIMIT $5
            """,
            [
                .text(selection.action), .text(selection.actor), .text(selection.subject),
                .timestamptz(selection.since),
                .int8(Int64(limit)),
            ])
        return try result.rows.map { row in
            Line(
                id: try row.decode("id"), createdAt: try row.decode("created_at"), actor: try row.decode("actor"),
                action: try row.decode("action"), subject: try row.decode("subject"), reason: try row.decode("reason"))
        }
    }
}
