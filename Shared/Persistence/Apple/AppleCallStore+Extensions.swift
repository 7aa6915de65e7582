import Postgres
package import PurchaseModel

/// Renewal dates that people have extended.
extension AppleCallStore {
    package enum ExtensionLimit {
        /// An extension that Apple could not be asked for within a day is given up: who asked should hear of it.
        package static let time = Duration.seconds(86_400)
        /// Extensions of a subscription that are listed, the newest; Apple takes two a year.
        package static let listed = 100
    }

    /// Asks for an extension, with the act's line in `audit_log`; a worker has Apple extend it.
    ///
    /// - Returns: nil where the app has no such subscription.
    /// - Throws: `PostgresError`.
    package func extend(
        _ originalTransactionId: String, in environment: StoreEnvironment, by asked: RenewalExtension, app: String,
        actor: String, reason: String
    ) async throws -> AskedExtension? {
        try await pool.withTransaction { connection in
            // A subscription is kept under one of its original ids, whichever of them is named.
            let found = try await connection.query(
                """
                SELECT s.transaction_id FROM subscriptions s
                WHERE s.environment = \(environment) AND s.app = \(app) AND s.original_transaction_id = coalesce(
                    (SELECT lineage_id FROM lineage_members m WHERE m.environment = \(environment)
                        AND m.original_transaction_id = \(originalTransactionId) AND m.app = \(app)), \(originalTransactionId))
                """)
            guard let order = try found.rows.first?.decode("transaction_id", as: String.self) else { return nil }
            let line = try await AuditLog.write(
                "extend", of: "\(environment.rawValue) \(originalTransactionId)", app: .named(app), actor: actor,
                reason: reason, on: connection)
            let new = try await connection.query(
                """
                INSERT INTO apple_calls (kind, environment, app, transaction_id, order_transaction_id, state, due_at, deadline_at,
                    answer, audit_id)
                VALUES (\(Kind.extension), \(environment), \(app), \(originalTransactionId), \(order), 'ready', now(),
                    now() + \(ExtensionLimit.time), \(json: Self.json(asked)), \(line.id))
                RETURNING id
                """)
            guard let id = try new.rows.first?.decode("id", as: Int64.self) else { return nil }
            return try await Self.extensions(where: "c.id = \(id)", on: connection).first
        }
    }

    /// The extensions of one of an app's subscriptions, the newest first.
    ///
    /// - Throws: `PostgresError`.
    package func extensions(
        of originalTransactionId: String, in environment: StoreEnvironment, app: String
    ) async throws -> [AskedExtension] {
        try await pool.withConnection { connection in
            try await Self.extensions(
                where: """
                    c.environment = \(environment) AND c.transaction_id = \(originalTransactionId) AND c.app = \(app)
                    """, on: connection)
        }
    }

    /// One extension; nil where there is none.
    ///
    /// - Throws: `PostgresError`.
    package func extensionAsked(_ id: Int64) async throws -> AskedExtension? {
        try await pool.withConnection { try await Self.extensions(where: "c.id = \(id)", on: $0).first }
    }

    private static func extensions(
        where condition: SQL, on connection: PostgresConnection
    ) async throws -> [AskedExtension] {
        let result = try await connection.query(
            """
            SELECT c.*, a.actor, a.reason AS note FROM apple_calls c LEFT JOIN audit_log a ON a.id = c.audit_id
            WHERE c.kind = 'extension' AND \(condition) ORDER BY c.id DESC LIMIT \(ExtensionLimit.listed)
            """)
        return try result.rows.map(asked)
    }

    private static func asked(_ row: PostgresRow) throws -> AskedExtension {
        AskedExtension(
            id: try row.decode("id"), environment: try row.decode("environment"),
            originalTransactionId: try row.decode("transaction_id"),
            asked: try row.decode("answer", as: JSONColumn<RenewalExtension>.self).value,
            state: try row.decode("state"),
            createdAt: try row.decode("created_at"), finishedAt: try row.decodeIfPresent("finished_at"),
            renewsAt: try row.decodeIfPresent("renews_at"),
            status: try row.decodeIfPresent("status", as: Int32.self).map(Int.init),
            code: try row.decodeIfPresent("code"), outcome: try row.decodeIfPresent("outcome"),
            auditId: try row.decodeIfPresent("audit_id"), actor: try row.decodeIfPresent("actor"),
            note: try row.decodeIfPresent("note"))
    }
}
