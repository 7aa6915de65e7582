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

    let pool: PostgresPool

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
            WHERE \(Self.condition(selection))
            ORDER BY id DESC LIMIT \(limit)
            """)
        return try result.map(Line.init)
    }

    /// A page of an app's lines, the newest first; there may be fewer than the limit although there is a next one.
    ///
    /// - Throws: `PostgresError`.
    package func page(
        of app: String, _ selection: Selection, after position: ListPosition?, limit: Int
    ) async throws -> ListPage<Line> {
        try await ListLook.page(after: position, limit: limit, on: pool, Self.line) {
            Self.statement(app, selection, $0)
        }
    }

    static func statement(_ app: String, _ selection: Selection, _ look: ListLook) -> SQL {
        let rest: SQL = look.position.map { "AND id < \($0.number)" } ?? ""
        let branch: SQL = """
            SELECT id, created_at, actor, action, subject, reason, id AS number, '' AS list_id, '' AS list_environment
            FROM audit_log WHERE app = \(app) \(rest) ORDER BY id DESC \(look.end)
            """
        return look.statement([branch], where: condition(selection))
    }

    private static func line(_ row: PostgresRow) throws -> Line {
        Line(
            id: try row.decode("id"), createdAt: try row.decode("created_at"), actor: try row.decode("actor"),
            action: try row.decode("action"), subject: try row.decode("subject"), reason: try row.decode("reason"))
    }

    private static func condition(_ selection: Selection) -> SQL {
        """
        (\(selection.action) IS NULL OR action = \(selection.action)) AND (\(selection.actor) IS NULL OR actor = \(selection.actor))
            AND (\(selection.subject) IS NULL OR subject = \(selection.subject)) AND (\(selection.since) IS NULL OR created_at >= \(selection.since))
        """
    }
}
