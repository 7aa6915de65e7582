import Foundation
import Postgres

/// Secrets of stored endpoints: written sealed, changed for others, and expired.
extension StoredEndpointStore {
    /// Writes new secrets down; those before them sign for a while longer.
    ///
    /// - Parameters:
    ///   - secrets: of each scheme whose secret changes, one.
    ///   - overlap: for how long those before sign as well.
    /// - Returns: whether there is such an endpoint.
    /// - Throws: `Refusal.rotating` while as many are live as may be, `PostgresError`.
    @inline(never)
    package func rotate(
        _ id: String, _ scope: Scope, secrets: [NewEndpointSecret], overlap: Duration, asker: Asker
    ) async throws -> Bool {
        try await pool.withTransaction { connection in
            guard try await Self.lock(id, scope, on: connection) != nil else { return false }
            try await Self.removeExpired(of: id, on: connection)
            let schemes = secrets.map(\.scheme)
            let live = try await connection.query(
                """
                SELECT count(*) AS count, max(expires_at) AS until FROM webhook_endpoint_secrets
                WHERE endpoint_id = \(id) AND scheme = ANY(\(schemes)) GROUP BY scheme
                    HAVING count(*) >= \(Limit.liveSecrets)
                """)
            if let row = live.rows.first {
                throw Refusal.rotating(until: try row.decodeIfPresent("until") ?? .distantFuture)
            }
            _ = try await connection.query(
                """
                UPDATE webhook_endpoint_secrets SET expires_at = now() + \(overlap)
                WHERE endpoint_id = \(id) AND scheme = ANY(\(schemes)) AND expires_at IS NULL
                """)
            try await Self.add(secrets, to: id, on: connection)
            // Without an overlap those before have expired just now.
            try await Self.removeExpired(of: id, on: connection)
            _ = try await AuditLog.write(
                "rotate_secret", of: id, app: .ofEndpoint, actor: asker.actor, reason: asker.reason, on: connection)
            return true
        }
    }

    /// Ends the secrets that newer ones took the place of, at once.
    ///
    /// - Returns: how many, or nil where there is no such endpoint.
    /// - Throws: `PostgresError`.
    @inline(never)
    package func expireSecrets(of id: String, _ scope: Scope, asker: Asker) async throws -> Int? {
        try await pool.withTransaction { connection in
            guard try await Self.lock(id, scope, on: connection) != nil else { return nil }
            let removed = try await connection.query(
                "DELETE FROM webhook_endpoint_secrets WHERE endpoint_id = \(id) AND expires_at IS NOT NULL RETURNING id"
            )
            guard !removed.rows.isEmpty else { return 0 }
            _ = try await AuditLog.write(
                "expire_secret", of: id, app: .ofEndpoint, actor: asker.actor, reason: asker.reason, on: connection)
            return removed.rows.count
        }
    }

    @inline(never)
    static func add(
        _ secrets: [NewEndpointSecret], to id: String, on connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            """
            INSERT INTO webhook_endpoint_secrets (endpoint_id, id, scheme, sealed, public_key)
            SELECT \(id), * FROM unnest(\(secrets.map(\.id)), \(secrets.map(\.scheme)), \(secrets.map(\.sealed)),
                \(secrets.map(\.publicKey)))
            """)
    }

    @inline(never)
    private static func removeExpired(of id: String, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            "DELETE FROM webhook_endpoint_secrets WHERE endpoint_id = \(id) AND expires_at <= now()")
    }

    func secrets(of ids: [String]) async throws -> [String: [StoredEndpoint.Secret]] {
        guard !ids.isEmpty else { return [:] }
        let result = try await pool.query(
            """
            SELECT endpoint_id, id, scheme, public_key, created_at, expires_at FROM webhook_endpoint_secrets
            WHERE endpoint_id = ANY(\(ids)) AND coalesce(expires_at > now(), true)
            ORDER BY scheme, expires_at DESC NULLS FIRST, created_at DESC
            """)
        var secrets: [String: [StoredEndpoint.Secret]] = [:]
        for row in result.rows {
            secrets[try row.decode("endpoint_id"), default: []].append(
                .init(
                    id: try row.decode("id"), scheme: try row.decode("scheme"),
                    publicKey: try row.decodeIfPresent("public_key"), createdAt: try row.decode("created_at"),
                    expiresAt: try row.decodeIfPresent("expires_at")))
        }
        return secrets
    }
}
