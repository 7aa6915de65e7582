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
                WHERE endpoint_id = $1 AND scheme = ANY($2) GROUP BY scheme HAVING count(*) >= $3
                """, [.text(id), .textArray(schemes), .int8(Int64(Limit.liveSecrets))])
            if let row = live.rows.first {
                throw Refusal.rotating(until: try row.decodeIfPresent("until") ?? .distantFuture)
            }
            _ = try await connection.query(
                """
                UPDATE webhook_endpoint_secrets SET expires_at = now() + $3 * interval '1 millisecond'
                WHERE endpoint_id = $1 AND scheme = ANY($2) AND expires_at IS NULL
                """, [.text(id), .textArray(schemes), .int8(overlap.wholeMilliseconds)])
            try await Self.add(secrets, to: id, on: connection)
            // Without an overlap those before have expired just now.
            try await Self.removeExpired(of: id, on: connection)
            _ = try await AuditLog.write(
                "rotate_secret", of: id, actor: asker.actor, reason: asker.reason, on: connection)
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
                "DELETE FROM webhook_endpoint_secrets WHERE endpoint_id = $1 AND expires_at IS NOT NULL RETURNING id",
                [.text(id)])
            guard !removed.rows.isEmpty else { return 0 }
            _ = try await AuditLog.write(
                "expire_secret", of: id, actor: asker.actor, reason: asker.reason, on: connection)
            return removed.rows.count
        }
    }

    @inline(never)  // The optimizer of Swift 6.3 crashes on throwing async functions inside closures.
    static func add(
        _ secrets: [NewEndpointSecret], to id: String, on connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            """
            INSERT INTO webhook_endpoint_secrets (endpoint_id, id, scheme, sealed, public_key)
            SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[])
            """,
            [
                .text(id), .textArray(secrets.map(\.id)), .textArray(secrets.map(\.scheme)),
                .textArray(secrets.map(\.sealed)), .textArray(secrets.map(\.publicKey)),
            ])
    }

    @inline(never)  // The optimizer of Swift 6.3 crashes on throwing async functions inside closures.
    private static func removeExpired(of id: String, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            "DELETE FROM webhook_endpoint_secrets WHERE endpoint_id = $1 AND expires_at <= now()", [.text(id)])
    }

    func secrets(of ids: [String]) async throws -> [String: [StoredEndpoint.Secret]] {
        guard !ids.isEmpty else { return [:] }
        let result = try await pool.query(
            """
            SELECT endpoint_id, id, scheme, public_key, created_at, expires_at FROM webhook_endpoint_secrets
            WHERE endpoint_id = ANY($1) AND coalesce(expires_at > now(), true)
            ORDER BY scheme, expires_at DESC NULLS FIRST, created_at DESC
            """, [.textArray(ids)])
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
