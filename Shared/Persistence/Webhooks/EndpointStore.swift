package import Foundation
package import Postgres

/// The table `webhook_endpoints`: which endpoints were switched off by what they answered.
package struct EndpointStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Makes rows for endpoints that have none.
    ///
    /// - Throws: `PostgresError`.
    package func register(_ ids: [String]) async throws {
        _ = try await pool.query(
            "INSERT INTO webhook_endpoints (id) SELECT * FROM unnest($1::text[]) ON CONFLICT DO NOTHING",
            [.textArray(ids)])
    }

    /// Which of these endpoints are switched off.
    ///
    /// - Throws: `PostgresError`.
    package func disabled(among ids: [String]) async throws -> Set<String> {
        let result = try await pool.query(
            "SELECT id FROM webhook_endpoints WHERE id = ANY($1) AND disabled_at IS NOT NULL", [.textArray(ids)])
        return Set(try result.rows.map { try $0.decode("id", as: String.self) })
    }

    /// Switches an endpoint off; its deliveries stay pending and go out once it is switched on again.
    ///
    /// - Throws: `PostgresError`.
    package func disable(_ id: String, reason: String) async throws {
        _ = try await pool.query(
            """
            UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = $2
            WHERE id = $1 AND disabled_at IS NULL
            """, [.text(id), .text(reason)])
    }

    /// Notes a success or a failure of an endpoint.
    ///
    /// - Returns: since when it has only failed; nil after a success.
    /// - Throws: `PostgresError`.
    package func note(_ id: String, succeeded: Bool) async throws -> Date? {
        let result = try await pool.query(
            """
            UPDATE webhook_endpoints
            SET failing_since = CASE WHEN $2 THEN NULL ELSE coalesce(failing_since, now()) END
            WHERE id = $1 RETURNING failing_since
            """, [.text(id), .bool(succeeded)])
        return try result.rows.first?.decodeIfPresent("failing_since", as: Date.self)
    }
}
