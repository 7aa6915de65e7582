import Foundation
import Postgres

/// The table `audit_log`: a line for each act by hand, written in the transaction of the act.
enum AuditLog {
    /// A line that was written.
    struct Line: Sendable {
        let id: Int64
        let createdAt: Date
    }

    /// Writes one line.
    ///
    /// - Parameters:
    ///   - action: what was done.
    ///   - subject: to what.
    ///   - actor: who.
    ///   - reason: why, in the operator's words.
    /// - Throws: `PostgresError`.
    @inline(never)
    static func write(
        _ action: String, of subject: String, actor: String, reason: String, on connection: PostgresConnection
    ) async throws -> Line {
        let lines = try await write(action, of: [subject], actor: actor, reason: reason, on: connection)
        guard let line = lines.first else {
            throw PostgresError(code: .decodingFailed, reason: "audit_log gave no id")
        }
        return line
    }

    /// Writes a line for each subject, in their order.
    ///
    /// - Throws: `PostgresError`.
    @inline(never)
    static func write(
        _ action: String, of subjects: [String], actor: String, reason: String, on connection: PostgresConnection
    ) async throws -> [Line] {
        guard !subjects.isEmpty else { return [] }
        let result = try await connection.query(
            """
            INSERT INTO audit_log (actor, action, subject, reason)
            SELECT \(actor), \(action), subject, \(reason) FROM unnest(\(subjects)) WITH ORDINALITY AS new (subject, place) ORDER BY place
            RETURNING id, created_at
            """)
        return try result.map(Line.init)
    }
}
