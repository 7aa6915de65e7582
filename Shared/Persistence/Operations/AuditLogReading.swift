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
            WHERE (\(selection.action) IS NULL OR action = \(selection.action)) AND (\(selection.actor) IS NULL OR actor = \(selection.actor))
                AND (\(selection.subject) IS NULL OR subject = \(selection.subject)) AND (\(selection.since) IS NULL OR created_at >= \(selection.since))
            ORDER BY id DESC LIMIT \(limit)
            """)
        return try result.map(Line.init)
    }
}
