public import Foundation
public import Postgres
public import PurchaseModel

/// The tables `ledger_entries`, `balances` and `entitlements`: what accounts were given.
public enum GrantStore {
    /// What one order gives to one account.
    public struct Grant: Sendable {
        /// The order.
        public let key: OrderKey
        /// The app.
        public let app: String
        /// The account.
        public let account: String
        /// What is credited.
        public let items: [Catalogue.ItemGrant]
        /// What may be used from now on.
        public let entitlements: [String]
        /// When the entitlements end; nil for ever.
        public let expiresDate: Date?

        /// Makes a grant.
        public init(
            key: OrderKey, app: String, account: String, items: [Catalogue.ItemGrant], entitlements: [String],
            expiresDate: Date?
        ) {
            self.key = key
            self.app = app
            self.account = account
            self.items = items
            self.entitlements = entitlements
            self.expiresDate = expiresDate
        }
    }

    /// Writes the entries, adds them to the balances, and writes the entitlements, in the caller's transaction.
    ///
    /// A second grant of the same order breaks `ledger_entries_once_per_order` and with it the whole transaction.
    ///
    /// - Throws: `PostgresError`.
    public static func write(_ grants: [Grant], on connection: PostgresConnection) async throws {
        try await writeEntries(grants, on: connection)
        try await writeEntitlements(grants, on: connection)
    }

    private static func writeEntries(_ grants: [Grant], on connection: PostgresConnection) async throws {
        var entries: [(grant: Grant, sequence: Int32, item: Catalogue.ItemGrant)] = []
        for grant in grants {
            for (index, item) in grant.items.enumerated() {
                entries.append((grant, Int32(index + 1), item))
            }
        }
        guard !entries.isEmpty else { return }
        // Balances are locked in the order of their key, the same in every process, or two batches could dead-lock.
        _ = try await connection.query(
            """
            WITH new AS (
                SELECT * FROM unnest($1::text[], $2::text[], $3::int4[], $4::text[], $5::text[], $6::text[], $7::int8[])
                    AS new (environment, transaction_id, sequence, app, account, item, amount)
            ), entries AS (
                INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount)
                SELECT environment, transaction_id, 'grant', sequence, app, account, item, amount FROM new
            )
            INSERT INTO balances (environment, app, account, item, amount)
            SELECT environment, app, account, item, sum(amount)::int8 FROM new
            GROUP BY account, app, environment, item ORDER BY account, app, environment, item
            ON CONFLICT (account, app, environment, item)
                DO UPDATE SET amount = balances.amount + excluded.amount
            """,
            [
                .textArray(entries.map(\.grant.key.environment.rawValue)),
                .textArray(entries.map(\.grant.key.transactionId)), .int4Array(entries.map(\.sequence)),
                .textArray(entries.map(\.grant.app)), .textArray(entries.map(\.grant.account)),
                .textArray(entries.map(\.item.item)), .int8Array(entries.map(\.item.amount)),
            ])
    }

    private static func writeEntitlements(_ grants: [Grant], on connection: PostgresConnection) async throws {
        var rows: [(grant: Grant, name: String)] = []
        for grant in grants {
            for name in Set(grant.entitlements).sorted() { rows.append((grant, name)) }
        }
        guard !rows.isEmpty else { return }
        _ = try await connection.query(
            """
            INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, expires_at)
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
            """,
            [
                .textArray(rows.map(\.grant.key.environment.rawValue)), .textArray(rows.map(\.grant.app)),
                .textArray(rows.map(\.grant.account)), .textArray(rows.map(\.name)),
                .textArray(rows.map(\.grant.key.transactionId)), .timestamptzArray(rows.map(\.grant.expiresDate)),
            ])
    }
}
