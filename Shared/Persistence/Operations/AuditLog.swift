import Foundation
import Postgres
import PurchaseModel

/// The table `audit_log`: a line for each act by hand, written in the transaction of the act.
enum AuditLog {
    /// A line that was written.
    struct Line: Sendable {
        let id: Int64
        let createdAt: Date
    }

    /// Among whose acts a line is: an app's, which reads it; or nobody's but the operator's.
    struct App: Sendable {
        /// The bundle id in SQL, where `subject` is the line's.
        fileprivate let sql: SQL

        /// Of no app, or of several.
        static let noApp = App(sql: "NULL::text")
        /// Whose submission the subject is.
        static let ofSubmission = App(sql: "(SELECT s.app FROM submissions s WHERE s.id = subject)")
        /// Whose event the subject is.
        static let ofEvent = App(sql: "(SELECT e.app FROM events e WHERE e.id = subject)")
        /// Whose endpoint the subject is, where that is told of one app alone.
        static let ofEndpoint = App(
            sql: "(SELECT w.apps[1] FROM webhook_endpoint_settings w WHERE w.id = subject AND cardinality(w.apps) = 1)")

        /// By its bundle id; nil for what is of all apps.
        static func named(_ app: String?) -> App { App(sql: "\(app)") }

        /// Whose order it is, by the order's own id.
        static func ofOrder(_ order: OrderKey) -> App {
            App(
                sql: """
                    (SELECT o.app FROM orders o
                    WHERE o.environment = \(order.environment) AND o.transaction_id = \(order.transactionId))
                    """)
        }
    }

    /// Writes one line.
    ///
    /// - Parameters:
    ///   - action: what was done.
    ///   - subject: to what.
    ///   - app: among whose acts it is.
    ///   - actor: who.
    ///   - reason: why, in the operator's words.
    /// - Throws: `PostgresError`.
    @inline(never)
    static func write(
        _ action: String, of subject: String, app: App, actor: String, reason: String,
        on connection: PostgresConnection
    ) async throws -> Line {
        let lines = try await write(action, of: [subject], app: app, actor: actor, reason: reason, on: connection)
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
        _ action: String, of subjects: [String], app: App, actor: String, reason: String,
        on connection: PostgresConnection
    ) async throws -> [Line] {
        guard !subjects.isEmpty else { return [] }
        let result = try await connection.query(
            """
            INSERT INTO audit_log (actor, action, subject, reason, app)
            SELECT \(actor), \(action), subject, \(reason), \(app.sql) FROM unnest(\(subjects)) WITH ORDINALITY AS new (subject, place) ORDER BY place
            RETURNING id, created_at
            """)
        return try result.map(Line.init)
    }
}
