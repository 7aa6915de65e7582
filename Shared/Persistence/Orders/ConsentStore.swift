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
                ? "SELECT pg_advisory_xact_lock(\(advisoryLock))::text"
                : "SELECT pg_advisory_xact_lock_shared(\(advisoryLock))::text")
    }

    /// Takes consents up that are newer than what is known, and freezes what was bought until then.
    ///
    /// All of it is done in the caller's transaction, which has ``lock(takesUp:on:)``, after its balances and before its
    /// subscriptions. A consent that is known, or older, changes nothing.
    ///
    /// - Returns: what could be used until now, by order and account.
    /// - Throws: `PostgresError`.
    package static func rescind(
        _ withdrawals: [Withdrawal], on connection: PostgresConnection
    ) async throws -> [Frozen] {
        var news = try await write(withdrawals, on: connection)
        var reached: Set<OrderKey> = []
        // Each time a name of the customer's is new, or has a newer date: so it ends.
        while !news.isEmpty {
            let found = try await orders(of: news, on: connection)
            reached.formUnion(found.map(\.key))
            news = try await write(found.flatMap(\.withdrawals), on: connection)
        }
        return try await EntitlementStore.freeze(reached.sorted(), on: connection)
    }

    /// - Returns: those that are news.
    private static func write(
        _ withdrawals: [Withdrawal], on connection: PostgresConnection
    ) async throws -> [Withdrawal] {
        // Of one name the newest; a statement may not touch a row twice.
        let newest = Dictionary(withdrawals.map { ($0.name, $0.signedDate) }, uniquingKeysWith: max)
        guard !newest.isEmpty else { return [] }
        let list = newest.map { Withdrawal(name: $0.key, signedDate: $0.value) }.sorted { $0.name < $1.name }
        let result = try await connection.query(
            """
            INSERT INTO rescinded_consents (environment, app, customer, signed_date)
            SELECT * FROM unnest(\(names(list.map(\.name))), \(list.map(\.signedDate)))
            ON CONFLICT (environment, app, customer) DO UPDATE SET signed_date = excluded.signed_date
                WHERE rescinded_consents.signed_date < excluded.signed_date
            RETURNING environment, app, customer, signed_date
            """)
        return try result.map(Withdrawal.init(environment:app:customer:signedDate:))
    }
}

extension EntitlementStore {
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
            FROM \(SQL.rows(of: keys)) AS asked (environment, transaction_id)
            JOIN orders o USING (environment, transaction_id)
            WHERE (e.environment, e.transaction_id) = (o.environment, o.transaction_id)
                AND \(ConsentStore.isWithdrawn) AND e.revoked_at IS NULL
            RETURNING e.environment, e.transaction_id, e.app, e.account, e.entitlement, o.transaction, o.state,
                (e.expires_at IS NULL OR e.expires_at > now()) AS was_usable
            """)
        return try frozen(result)
    }

    private static func frozen(_ result: PostgresResult) throws -> [ConsentStore.Frozen] {
        var frozen: [Recipient: ConsentStore.Frozen] = [:]
        let rows = try result.map {
            (
                environment: StoreEnvironment, transactionId: String, app: String, account: Account,
                entitlement: String,
                transaction: JSONColumn<Transaction>, state: OrderState, wasUsable: Bool
            ) in
            (
                recipient: Recipient(
                    key: OrderKey(environment: environment, transactionId: transactionId),
                    customer: Customer(environment: environment, app: app, account: account)),
                name: entitlement, transaction: transaction.value, state: state, wasUsable: wasUsable
            )
        }
        for (recipient, name, transaction, state, wasUsable) in rows where wasUsable {
            if frozen[recipient] != nil {
                frozen[recipient]?.entitlements.append(name)
            } else {
                frozen[recipient] = ConsentStore.Frozen(
                    key: recipient.key, customer: recipient.customer, entitlements: [name],
                    transaction: transaction, state: state)
            }
        }
        return frozen.sorted { $0.key < $1.key }.map(\.value)
    }
}
