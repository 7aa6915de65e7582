package import Foundation
package import Postgres

/// The table `webhook_endpoints`: how endpoints fare, and which were switched off by what they answered.
package struct EndpointStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Endpoints that nothing may be sent to.
    package struct Closed: Sendable, Equatable {
        /// Those that are switched off.
        package let disabled: Set<String>
        /// Those that were switched on again, and whose deliveries are to be brought back first.
        package let resuming: Set<String>
    }

    /// Makes rows for endpoints that have none.
    ///
    /// - Throws: `PostgresError`.
    package func register(_ ids: [String]) async throws {
        _ = try await pool.query(
            "INSERT INTO webhook_endpoints (id) SELECT * FROM unnest(\(ids)) ON CONFLICT DO NOTHING")
    }

    /// Which of these endpoints nothing may be sent to.
    ///
    /// However an endpoint was switched off or on, also by hand, its row says from here on that it holds its deliveries,
    /// and since when it is resumed.
    ///
    /// - Throws: `PostgresError`.
    package func closed(among ids: [String]) async throws -> Closed {
        let allIds = SQL.once(ids)
        let result = try await pool.query(
            """
            WITH changed AS (
                UPDATE webhook_endpoints SET is_holding = true, resumed_at = CASE WHEN disabled_at IS NULL THEN now() END
                WHERE id = ANY(\(allIds)) AND CASE WHEN disabled_at IS NULL THEN is_holding AND resumed_at IS NULL
                    ELSE NOT is_holding OR resumed_at IS NOT NULL END
            )
            SELECT id, disabled_at IS NOT NULL AS is_disabled FROM webhook_endpoints
            WHERE id = ANY(\(allIds)) AND (disabled_at IS NOT NULL OR is_holding)
            """)
        var (disabled, resuming): (Set<String>, Set<String>) = ([], [])
        for (id, isDisabled) in try result.map({ (id: String, isDisabled: Bool) in (id, isDisabled) }) {
            if isDisabled { disabled.insert(id) } else { resuming.insert(id) }
        }
        return Closed(disabled: disabled, resuming: resuming)
    }

    /// Writes down that all deliveries of an endpoint are brought back.
    ///
    /// - Throws: `PostgresError`.
    package func finishResuming(_ id: String) async throws {
        _ = try await pool.query(
            """
            UPDATE webhook_endpoints SET is_holding = false, resumed_at = NULL
            WHERE id = \(id) AND disabled_at IS NULL AND is_holding AND resumed_at IS NOT NULL
            """)
    }

    /// Switches an endpoint off; its deliveries stay pending and go out once it is switched on again.
    ///
    /// - Throws: `PostgresError`.
    package func disable(_ id: String, reason: String) async throws {
        _ = try await pool.query(
            """
            UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = \(reason), is_holding = true,
                resumed_at = NULL
            WHERE id = \(id) AND disabled_at IS NULL
            """)
    }

    /// Switches an endpoint off because somebody says so, with a row in `audit_log`, in one transaction.
    ///
    /// - Returns: the id of the row; nil when it was off already: nothing was changed then.
    /// - Throws: `PostgresError`.
    @inline(never)
    package func switchOff(_ id: String, actor: String, reason: String) async throws -> Int64? {
        try await pool.withTransaction { connection in
            let result = try await connection.query(
                """
                INSERT INTO webhook_endpoints (id, disabled_at, disabled_reason) VALUES (\(id), now(), \(reason))
                ON CONFLICT (id) DO UPDATE SET disabled_at = now(), disabled_reason = \(reason)
                    WHERE webhook_endpoints.disabled_at IS NULL
                RETURNING id
                """)
            guard !result.rows.isEmpty else { return nil }
            return try await AuditLog.write(
                "disable_endpoint", of: id, app: .ofEndpoint, actor: actor, reason: reason, on: connection
            ).id
        }
    }

    /// Switches an endpoint on again, with a row in `audit_log`, in one transaction.
    ///
    /// - Returns: the id of the row; nil when the endpoint is not known, or not off: nothing was changed then.
    /// - Throws: `PostgresError`.
    @inline(never)
    package func enable(_ id: String, actor: String, reason: String) async throws -> Int64? {
        try await pool.withTransaction { connection in
            let result = try await connection.query(
                """
                UPDATE webhook_endpoints SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL
                WHERE id = \(id) AND disabled_at IS NOT NULL RETURNING id
                """)
            guard !result.rows.isEmpty else { return nil }
            return try await AuditLog.write(
                "enable_endpoint", of: id, app: .ofEndpoint, actor: actor, reason: reason, on: connection
            ).id
        }
    }

    /// How endpoints fare, by id; those that no process has registered yet are left out.
    ///
    /// - Throws: `PostgresError`.
    package func states(of ids: [String]) async throws -> [String: StoredEndpoint.State] {
        let result = try await pool.query(
            "SELECT * FROM webhook_endpoints WHERE id = ANY(\(ids))")
        var states: [String: StoredEndpoint.State] = [:]
        for row in result.rows { states[try row.decode("id")] = try Self.state(row) }
        return states
    }

    static func state(_ row: PostgresRow) throws -> StoredEndpoint.State {
        .init(
            disabledAt: try row.decodeIfPresent("disabled_at"),
            disabledReason: try row.decodeIfPresent("disabled_reason"),
            failingSince: try row.decodeIfPresent("failing_since"),
            succeededAt: try row.decodeIfPresent("succeeded_at"))
    }

    /// Notes that an endpoint has taken something.
    ///
    /// - Parameter ifFailing: whether only that is to be noted which ends failures.
    /// - Throws: `PostgresError`.
    package func noteSuccess(_ id: String, ifFailing: Bool) async throws {
        _ = try await pool.query(
            """
            UPDATE webhook_endpoints SET failing_since = NULL, succeeded_at = now()
            WHERE id = \(id) AND (failing_since IS NOT NULL OR NOT \(ifFailing))
            """)
    }

    /// Notes a failure of an endpoint.
    ///
    /// - Returns: since when it has only failed.
    /// - Throws: `PostgresError`.
    package func noteFailure(_ id: String) async throws -> Date? {
        let result = try await pool.query(
            """
            UPDATE webhook_endpoints SET failing_since = coalesce(failing_since, now())
            WHERE id = \(id) RETURNING failing_since
            """)
        return try result.rows.first?.decode("failing_since", as: Date.self)
    }
}
