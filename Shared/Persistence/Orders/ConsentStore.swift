import Messages
package import Postgres
package import PurchaseModel

/// The table `rescinded_consents`: since when a child's purchases of an app may not be used.
package enum ConsentStore {
    /// What an order lost.
    package struct Frozen: Sendable {
        /// The order.
        package let key: OrderKey
        /// Whose entitlements they were.
        package let customer: Customer
        /// What may be used no more, by name.
        package var entitlements: [String]
        /// What Apple said of the order.
        package let transaction: Transaction
        /// How the order stands.
        package let state: OrderState
    }

    /// The advisory lock of this table and of `entitlements`.
    private static let advisoryLock: Int64 = 0x636f_6e73_656e_7473

    /// Locks entitlements against consents until the end of the caller's transaction: before any row of it, or
    /// transactions would wait for each other in a ring.
    ///
    /// Who gives entitlements, moves or shares them shares the lock; who takes up a consent has it alone. Without it an
    /// entitlement and a consent that are written at the same moment would not see each other.
    ///
    /// - Parameter takesUp: whether the transaction takes up consents.
    /// - Throws: `PostgresError`.
    package static func lock(takesUp: Bool, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            takesUp
                ? "SELECT pg_advisory_xact_lock($1)::text" : "SELECT pg_advisory_xact_lock_shared($1)::text",
            [.int8(advisoryLock)])
    }

    /// Takes consents up that are newer than what is known, and freezes what was bought until then.
    ///
    /// All of it is done in the caller's transaction, which has ``lock(takesUp:on:)``, after its balances and before its
    /// subscriptions. A consent that is known, or older, changes nothing.
    ///
    /// - Returns: what could be used until now, by order and account.
    /// - Throws: `PostgresError`.
    package static func rescind(
        _ consents: [RescindedConsent], on connection: PostgresConnection
    ) async throws -> [Frozen] {
        guard !consents.isEmpty else { return [] }
        let newer = try await write(consents + others(of: consents, on: connection), on: connection)
        guard !newer.isEmpty else { return [] }
        return try await EntitlementStore.freeze(by: newer, on: connection)
    }
}

extension ConsentStore {
    /// The same consents under the other ids that Apple gave the same customers in the app: periods of one subscription may
    /// differ in it.
    private static func others(
        of consents: [RescindedConsent], on connection: PostgresConnection
    ) async throws -> [RescindedConsent] {
        let result = try await connection.query(
            """
            SELECT DISTINCT of_customer.environment, of_customer.app, n.app_transaction_id, of_customer.signed_date
            FROM (
                SELECT DISTINCT environment, app, o.original_transaction_id, o.app_transaction_id, c.signed_date
                FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
                    AS c (environment, app, app_transaction_id, signed_date)
                JOIN orders o USING (environment, app, app_transaction_id)) of_customer
            JOIN orders n USING (environment, app, original_transaction_id)
            WHERE n.app_transaction_id <> of_customer.app_transaction_id
            """, columns(consents))
        return try result.rows.map(consent)
    }

    fileprivate static func consent(_ row: PostgresRow) throws -> RescindedConsent {
        RescindedConsent(
            environment: try row.environment(), bundleId: try row.decode("app"),
            appTransactionId: try row.decode("app_transaction_id"), signedDate: try row.decode("signed_date"))
    }
}

extension EntitlementStore {
    /// - Returns: what could be used until now, by order and account.
    fileprivate static func freeze(
        by consents: [RescindedConsent], on connection: PostgresConnection
    ) async throws -> [ConsentStore.Frozen] {
        let result = try await connection.query(
            """
            UPDATE entitlements e SET revoked_at = now(), revoked_because = 'consent_rescinded'
            FROM orders o
            JOIN unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
                AS c (environment, app, app_transaction_id, signed_date) USING (environment, app, app_transaction_id)
            WHERE (e.environment, e.transaction_id) = (o.environment, o.transaction_id)
                AND o.purchase_date <= c.signed_date AND e.revoked_at IS NULL
            RETURNING e.environment, e.transaction_id, e.app, e.account, e.entitlement, o.transaction, o.state,
                (e.expires_at IS NULL OR e.expires_at > now()) AS was_usable
            """, ConsentStore.columns(consents))
        return try frozen(result)
    }

    /// Freezes what consents that are known already reach only now.
    ///
    /// Those are orders of which a newer statement tells whose purchase of the app they belong to, or when they were made.
    ///
    /// - Returns: what could be used until now, by order and account.
    /// - Throws: `PostgresError`.
    package static func freeze(
        _ keys: [OrderKey], on connection: PostgresConnection
    ) async throws -> [ConsentStore.Frozen] {
        guard !keys.isEmpty else { return [] }
        let result = try await connection.query(
            """
            UPDATE entitlements e SET revoked_at = now(), revoked_because = 'consent_rescinded'
            FROM unnest($1::text[], $2::text[]) AS asked (environment, transaction_id)
            JOIN orders o USING (environment, transaction_id)
            JOIN rescinded_consents c
                ON (c.environment, c.app, c.app_transaction_id) = (o.environment, o.app, o.app_transaction_id)
            WHERE (e.environment, e.transaction_id) = (o.environment, o.transaction_id)
                AND o.purchase_date <= c.signed_date AND e.revoked_at IS NULL
            RETURNING e.environment, e.transaction_id, e.app, e.account, e.entitlement, o.transaction, o.state,
                (e.expires_at IS NULL OR e.expires_at > now()) AS was_usable
            """, OrderStore.keyColumns(keys))
        return try frozen(result)
    }

    private static func frozen(_ result: PostgresResult) throws -> [ConsentStore.Frozen] {
        var frozen: [Recipient: ConsentStore.Frozen] = [:]
        for row in result.rows where try row.decode("was_usable", as: Bool.self) {
            let recipient = try recipient(row)
            let name: String = try row.decode("entitlement")
            if frozen[recipient] != nil {
                frozen[recipient]?.entitlements.append(name)
            } else {
                frozen[recipient] = ConsentStore.Frozen(
                    key: recipient.key, customer: recipient.customer, entitlements: [name],
                    transaction: try row.json("transaction", as: Transaction.self), state: try row.orderState())
            }
        }
        return frozen.sorted { $0.key < $1.key }.map(\.value)
    }
}

extension ConsentStore {
    /// - Returns: those that are news.
    private static func write(
        _ consents: [RescindedConsent], on connection: PostgresConnection
    ) async throws -> [RescindedConsent] {
        // Of one id the newest; a statement may not touch a row twice.
        let sorted = consents.sorted { left, right in
            (left.environment.rawValue, left.bundleId, left.appTransactionId, right.signedDate)
                < (right.environment.rawValue, right.bundleId, right.appTransactionId, left.signedDate)
        }
        var list: [RescindedConsent] = []
        for consent in sorted {
            if let last = list.last, last.environment == consent.environment, last.bundleId == consent.bundleId,
                last.appTransactionId == consent.appTransactionId
            {
                continue
            }
            list.append(consent)
        }
        let result = try await connection.query(
            """
            INSERT INTO rescinded_consents (environment, app, app_transaction_id, signed_date)
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
            ON CONFLICT (environment, app, app_transaction_id) DO UPDATE SET signed_date = excluded.signed_date
                WHERE rescinded_consents.signed_date < excluded.signed_date
            RETURNING environment, app, app_transaction_id, signed_date
            """, columns(list))
        return try result.rows.map(consent)
    }

    /// `$1` to `$4`.
    fileprivate static func columns(_ consents: [RescindedConsent]) -> [PostgresValue] {
        [
            .textArray(consents.map(\.environment.rawValue)), .textArray(consents.map(\.bundleId)),
            .textArray(consents.map(\.appTransactionId)), .timestamptzArray(consents.map(\.signedDate)),
        ]
    }
}
