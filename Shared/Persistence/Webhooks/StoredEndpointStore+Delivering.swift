import Postgres

/// What the notification service reads of stored endpoints, and what it takes away of removed ones.
extension StoredEndpointStore {
    /// An endpoint as it is delivered to: what was chosen of it, and what signs, still sealed.
    package struct Live: Sendable, Equatable {
        package let id: String
        package let settings: EndpointSettings
        /// Live ones, the newest first.
        package let secrets: [Sealed]
    }

    /// A secret as the table has it.
    package struct Sealed: Sendable, Equatable {
        package let id: String
        /// `v1`, `v1a`.
        package let scheme: String
        package let sealed: String
    }

    /// Every endpoint that is not removed, in the order of their ids.
    ///
    /// - Throws: `PostgresError`.
    package func live() async throws -> [Live] {
        let result = try await pool.query(
            """
            SELECT s.*, secret.ids, secret.schemes, secret.sealed FROM webhook_endpoint_settings s
            CROSS JOIN LATERAL (
                SELECT coalesce(array_agg(id ORDER BY expires_at DESC NULLS FIRST, created_at DESC), '{}') AS ids,
                    coalesce(array_agg(scheme ORDER BY expires_at DESC NULLS FIRST, created_at DESC), '{}') AS schemes,
                    coalesce(array_agg(sealed ORDER BY expires_at DESC NULLS FIRST, created_at DESC), '{}') AS sealed
                FROM webhook_endpoint_secrets WHERE endpoint_id = s.id AND coalesce(expires_at > now(), true)
            ) secret
            WHERE s.removed_at IS NULL ORDER BY s.id LIMIT \(Limit.endpoints)
            """)
        return try result.rows.map { row in
            let ids: [String] = try row.decode("ids")
            let schemes: [String] = try row.decode("schemes")
            let sealed: [String] = try row.decode("sealed")
            let secrets = zip(ids, zip(schemes, sealed)).map { Sealed(id: $0, scheme: $1.0, sealed: $1.1) }
            return Live(id: try row.decode("id"), settings: try Self.settings(row), secrets: secrets)
        }
    }

    /// Takes away what waits for endpoints that were removed; what it does not end is gone on with at the next call.
    ///
    /// Of some endpoints, those that were looked at longest ago: however many were removed, a call is short.
    ///
    /// - Returns: how many deliveries were taken away.
    /// - Throws: `PostgresError`.
    @discardableResult
    package func clearRemoved() async throws -> Int64 {
        let removed = try await pool.query(
            """
            SELECT id FROM webhook_endpoint_settings WHERE removed_at IS NOT NULL AND (cleared_at IS NULL
                -- What was being taken over as it was removed is there within the minute.
                OR cleared_at < removed_at + interval '1 minute'
                OR cleared_at < now() - \(Limit.clearedEveryMinutes) * interval '1 minute' AND removed_at > now() -
                    \(Limit.clearedForHours) * interval '1 hour')
            ORDER BY cleared_at NULLS FIRST, removed_at LIMIT \(Limit.clearedPerLook)
            """)
        var dropped: Int64 = 0
        for id in try removed.map({ (id: String) in id }) {
            dropped += try await clear(id)
        }
        return dropped
    }

    private func clear(_ id: String) async throws -> Int64 {
        let result = try await pool.query(
            "SELECT drop_deliveries_of_removed(\(id), \(Limit.clearedPerStatement)) AS dropped")
        let dropped: Int64 = try result.rows.first?.decode(Int64.self) ?? 0
        guard dropped < Limit.clearedPerStatement else { return dropped }
        _ = try await pool.query(
            "UPDATE webhook_endpoint_settings SET cleared_at = now() WHERE id = \(id)")
        return dropped
    }
}
