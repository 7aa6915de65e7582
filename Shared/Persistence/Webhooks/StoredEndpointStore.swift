package import Foundation
package import Postgres

/// The tables `webhook_endpoint_settings` and `webhook_endpoint_secrets`: endpoints that the API and the tool make.
///
/// Each change is a transaction with a line in `audit_log`. Whether an endpoint is on, `EndpointStore` says.
package struct StoredEndpointStore: Sendable {
    /// The limits of what is stored.
    package enum Limit {
        /// Endpoints with the same list of apps, those of one app among them.
        package static let endpointsOfApps = 20
        /// Endpoints in all, which every notification process reads every few seconds.
        package static let endpoints = 500
        /// Live secrets of each scheme: the one in use, and the one before.
        package static let liveSecrets = 2
        /// Deliveries that are taken away in one statement once their endpoint is removed.
        package static let clearedPerStatement = 1_000
        /// How long a removed endpoint is looked at again: a process that was cut off may still have made deliveries.
        static let clearedForHours = 24
        /// Between these looks, once a minute has passed.
        package static let clearedEveryMinutes = 10
        /// Removed endpoints that one look takes.
        package static let clearedPerLook = 20
    }

    /// Whose endpoints somebody reaches.
    package enum Scope: Sendable, Equatable {
        /// Those that are told of this app and no other.
        case app(String)
        /// All, for operators.
        case all
    }

    /// Who changes something, for the audit log.
    package struct Asker: Sendable {
        package let actor: String
        package let reason: String

        /// Makes one.
        package init(actor: String, reason: String) {
            self.actor = actor
            self.reason = reason
        }
    }

    /// Why nothing was changed.
    package enum Refusal: Error, Sendable, Equatable {
        /// There are as many endpoints as there may be; the number.
        case tooMany(Int)
        /// As many secrets are live as may be; the last of the older ones expires then.
        case rotating(until: Date)
    }

    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Endpoints that are not removed, the oldest first.
    ///
    /// - Throws: `PostgresError`.
    package func list(_ scope: Scope) async throws -> [StoredEndpoint] {
        let result = try await pool.query(
            "\(Self.selection(scope)) ORDER BY s.created_at, s.id LIMIT \(Limit.endpoints)")
        let secrets = try await secrets(of: try result.rows.map { try $0.decode("id") })
        return try result.rows.map { row in try Self.endpoint(row, secrets) }
    }

    /// An endpoint that is not removed.
    ///
    /// - Throws: `PostgresError`.
    package func find(_ id: String, _ scope: Scope) async throws -> StoredEndpoint? {
        let result = try await pool.query("\(Self.selection(scope)) AND s.id = \(id)")
        guard let row = result.rows.first else { return nil }
        return try Self.endpoint(row, try await secrets(of: [id]))
    }

    /// Writes an endpoint down, which is on from now on.
    ///
    /// - Parameter secrets: at least one of the scheme `v1`.
    /// - Throws: `Refusal.tooMany`, `PostgresError`.
    @inline(never)
    package func create(
        _ id: String, _ settings: EndpointSettings, secrets: [NewEndpointSecret], asker: Asker
    ) async throws {
        try await pool.withTransaction { connection in
            try await Self.makeRoom(for: settings.apps, on: connection)
            _ = try await connection.query(
                """
                INSERT INTO webhook_endpoint_settings (id, url, description, apps, environments, events, schema_version,
                    is_ordered)
                VALUES (\(id), \(settings.url), \(settings.description), \(settings.apps), \(settings.environments),
                    \(settings.events), \(settings.schemaVersion), \(settings.isOrdered))
                """)
            try await Self.add(secrets, to: id, on: connection)
            _ = try await AuditLog.write(
                "create_endpoint", of: id, app: .ofEndpoint, actor: asker.actor, reason: asker.reason, on: connection)
        }
    }

    /// Changes what was chosen of an endpoint.
    ///
    /// - Parameter change: gets the settings as they are; what it throws leaves them so.
    /// - Returns: whether there is such an endpoint.
    /// - Throws: `Refusal.tooMany` where its apps become others that have as many as they may, `PostgresError`, and what
    ///   `change` throws.
    @inline(never)
    package func change(
        _ id: String, _ scope: Scope, asker: Asker,
        _ change: @escaping @Sendable (inout EndpointSettings) throws -> Void
    ) async throws -> Bool {
        try await pool.withTransaction { connection in
            guard let old = try await Self.lock(id, scope, on: connection) else { return false }
            var new = old
            try change(&new)
            guard new != old else { return true }
            if Set(new.apps) != Set(old.apps) { try await Self.makeRoom(for: new.apps, on: connection) }
            _ = try await connection.query(
                """
                UPDATE webhook_endpoint_settings SET url = \(new.url), description = \(new.description), apps = \(new.apps),
                    environments = \(new.environments), events = \(new.events), schema_version = \(new.schemaVersion),
                    is_ordered = \(new.isOrdered), changed_at = now()
                WHERE id = \(id)
                """)
            let changes = new.changes(from: old).joined(separator: ", ")
            _ = try await AuditLog.write(
                "change_endpoint", of: id, app: .ofEndpoint, actor: asker.actor,
                reason: "\(asker.reason) (\(changes))", on: connection)
            return true
        }
    }

    /// Removes an endpoint with its address and its secrets; what waits for it is taken away by the notification service.
    ///
    /// - Returns: whether there was one.
    /// - Throws: `PostgresError`.
    @inline(never)
    package func remove(_ id: String, _ scope: Scope, asker: Asker) async throws -> Bool {
        try await pool.withTransaction { connection in
            guard try await Self.lock(id, scope, on: connection) != nil else { return false }
            _ = try await connection.query("DELETE FROM webhook_endpoint_secrets WHERE endpoint_id = \(id)")
            _ = try await connection.query(
                """
                UPDATE webhook_endpoint_settings SET url = '', description = '', removed_at = now(), changed_at = now()
                WHERE id = \(id)
                """)
            try await WebhookPingStore.remove(of: id, on: connection)
            _ = try await AuditLog.write(
                "remove_endpoint", of: id, app: .ofEndpoint, actor: asker.actor, reason: asker.reason, on: connection)
            return true
        }
    }

    /// Makes room for one more endpoint with this list of apps.
    ///
    /// - Throws: `Refusal.tooMany`.
    @inline(never)
    private static func makeRoom(for apps: [String], on connection: PostgresConnection) async throws {
        // One at a time, so that two cannot both be the last.
        _ = try await connection.query("SELECT pg_advisory_xact_lock(\(lockKey))")
        let allApps = SQL.once(apps)
        let result = try await connection.query(
            """
            SELECT count(*) AS in_all, count(*) FILTER (WHERE apps @> \(allApps) AND apps <@ \(allApps)) AS of_apps
            FROM webhook_endpoint_settings WHERE removed_at IS NULL
            """)
        guard let (inAll, ofApps) = try result.rows.first?.decode((Int, Int).self) else { return }
        if ofApps >= Limit.endpointsOfApps { throw Refusal.tooMany(Limit.endpointsOfApps) }
        if inAll >= Limit.endpoints { throw Refusal.tooMany(Limit.endpoints) }
    }

    /// Of the advisory lock under which endpoints are counted; any number that nothing else uses.
    private static let lockKey: Int64 = 0x656E_6470_6F69

    /// The settings of an endpoint, whose row is locked until the transaction ends.
    @inline(never)
    static func lock(
        _ id: String, _ scope: Scope, on connection: PostgresConnection
    ) async throws -> EndpointSettings? {
        let result = try await connection.query(
            """
            SELECT * FROM webhook_endpoint_settings
            WHERE (cardinality(\(apps(scope))) = 0 OR apps = \(apps(scope))) AND removed_at IS NULL AND id = \(id) FOR UPDATE
            """)
        return try result.rows.first.map(settings)
    }
}

extension StoredEndpointStore {
    static func selection(_ scope: Scope) -> SQL {
        """
        SELECT s.*, e.disabled_at, e.disabled_reason, e.failing_since, e.succeeded_at,
            p.id AS ping_id, p.asked_at, p.finished_at, p.status, p.error, p.milliseconds
        FROM webhook_endpoint_settings s LEFT JOIN webhook_endpoints e ON e.id = s.id
        LEFT JOIN webhook_pings p ON p.endpoint_id = s.id
        WHERE (cardinality(\(apps(scope))) = 0 OR s.apps = \(apps(scope))) AND s.removed_at IS NULL
        """
    }

    static func apps(_ scope: Scope) -> [String] {
        switch scope {
        case .app(let app): [app]
        case .all: []
        }
    }

    static func settings(_ row: PostgresRow) throws -> EndpointSettings {
        EndpointSettings(
            url: try row.decode("url"), description: try row.decode("description"), apps: try row.decode("apps"),
            environments: try row.decode("environments"), events: try row.decode("events"),
            schemaVersion: try row.decode("schema_version"), isOrdered: try row.decode("is_ordered"))
    }

    private static func endpoint(
        _ row: PostgresRow, _ secrets: [String: [StoredEndpoint.Secret]]
    ) throws -> StoredEndpoint {
        let id: String = try row.decode("id")
        return StoredEndpoint(
            id: id, settings: try settings(row), createdAt: try row.decode("created_at"),
            changedAt: try row.decode("changed_at"),
            state: try EndpointStore.state(row), secrets: secrets[id] ?? [], ping: try WebhookPingStore.ping(row))
    }
}
