package import Foundation
package import Postgres

/// The table `webhook_pings`: the newest test message to each endpoint of the database.
///
/// Who asks writes a row; the notification service sends it, behind its guard against addresses of the own network.
package struct WebhookPingStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A test message, and what came of it.
    package struct Ping: Sendable, Equatable {
        /// `ping_` and 32 hexadecimal digits: the message's `webhook-id`.
        package let id: String
        package let askedAt: Date
        /// Nil until it was tried.
        package let finishedAt: Date?
        /// The status of the answer; nil where none came.
        package let status: Int?
        /// Why it was not taken.
        package let error: String?
        package let milliseconds: Int?
    }

    /// A message that is to be sent.
    package struct Due: Sendable, Equatable {
        package let id: String
        package let endpointId: String
    }

    /// What an attempt led to.
    package struct Outcome: Sendable {
        let status: Int?
        let error: String?
        let duration: Duration

        /// - Parameter error: nil where the endpoint took it.
        package init(status: Int?, error: String?, duration: Duration) {
            self.status = status
            self.error = error
            self.duration = duration
        }
    }

    /// Asks for a test message; one that was asked for before and not sent yet is forgotten.
    ///
    /// - Returns: its id.
    /// - Throws: `PostgresError`.
    package func ask(for endpointId: String) async throws -> String {
        let id = "ping_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        _ = try await pool.query(
            """
            INSERT INTO webhook_pings (endpoint_id, id) VALUES (\(endpointId), \(id))
            ON CONFLICT (endpoint_id) DO UPDATE SET id = excluded.id, asked_at = now(), due_at = now(),
                finished_at = NULL, status = NULL, error = NULL, milliseconds = NULL
            """)
        return id
    }

    /// The newest test message to an endpoint.
    ///
    /// - Throws: `PostgresError`.
    package func newest(of endpointId: String) async throws -> Ping? {
        let result = try await pool.query(
            """
            SELECT id AS ping_id, asked_at, finished_at, status, error, milliseconds FROM webhook_pings
            WHERE endpoint_id = \(endpointId)
            """)
        return try result.rows.first.flatMap { try Self.ping($0) }
    }

    static func ping(_ row: PostgresRow) throws -> Ping? {
        guard let id = try row.decodeIfPresent("ping_id", as: String.self) else { return nil }
        return Ping(
            id: id, askedAt: try row.decode("asked_at"), finishedAt: try row.decodeIfPresent("finished_at"),
            status: try row.decodeIfPresent("status", as: Int32.self).map(Int.init),
            error: try row.decodeIfPresent("error"),
            milliseconds: try row.decodeIfPresent("milliseconds", as: Int64.self).map(Int.init))
    }

    /// Takes messages that are to be sent to these endpoints, and leases each.
    ///
    /// - Parameter lease: after how long another process may send it if this one dies.
    /// - Throws: `PostgresError`.
    package func claimDue(endpointIds: [String], limit: Int, lease: Duration) async throws -> [Due] {
        try await pool.query(
            """
            UPDATE webhook_pings SET due_at = now() + \(lease)
            WHERE endpoint_id IN (
                SELECT endpoint_id FROM webhook_pings WHERE due_at <= now() AND endpoint_id = ANY(\(endpointIds))
                ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING id, endpoint_id
            """
        ).map(Due.init)
    }

    /// Forgets the messages to an endpoint, in the caller's transaction.
    @inline(never)
    static func remove(of endpointId: String, on connection: PostgresConnection) async throws {
        _ = try await connection.query("DELETE FROM webhook_pings WHERE endpoint_id = \(endpointId)")
    }

    /// Writes down what an attempt led to, unless another message was asked for meanwhile.
    ///
    /// - Throws: `PostgresError`.
    package func record(_ due: Due, _ outcome: Outcome) async throws {
        _ = try await pool.query(
            """
            UPDATE webhook_pings SET due_at = NULL, finished_at = now(),
                status = \(outcome.status.map { Int32(clamping: $0) }), error = \(outcome.error), milliseconds =
                \(outcome.duration.wholeMilliseconds)
            WHERE endpoint_id = \(due.endpointId) AND id = \(due.id) AND due_at IS NOT NULL
            """)
    }
}
