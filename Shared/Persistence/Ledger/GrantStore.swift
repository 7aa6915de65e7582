package import Foundation
package import Postgres
package import PurchaseModel

/// What orders bring to accounts: entries and balances by `LedgerStore`, entitlements by `EntitlementStore`.
package enum GrantStore {
    /// What one order gives to one account.
    package struct Grant: Sendable {
        /// The order.
        package let key: OrderKey
        /// The app.
        package let app: String
        /// The account.
        package let account: Account
        /// What is credited.
        package let items: [Catalogue.ItemGrant]
        /// What may be used from now on.
        package let entitlements: [String]
        /// When the entitlements end; nil for ever.
        package let expiresDate: Date?
        /// Whether an older system gave it: then nobody is told of an end that has come already.
        package let isFromElsewhere: Bool

        /// Makes a grant.
        package init(
            key: OrderKey, app: String, account: Account, items: [Catalogue.ItemGrant], entitlements: [String],
            expiresDate: Date?, isFromElsewhere: Bool = false
        ) {
            self.key = key
            self.app = app
            self.account = account
            self.items = items
            self.entitlements = entitlements
            self.expiresDate = expiresDate
            self.isFromElsewhere = isFromElsewhere
        }
    }

    /// What was written otherwise than it was decided.
    package struct Written: Sendable {
        /// What was credited, of orders of which not everything fitted into a balance; see `LedgerStore.Limit`.
        package var cut: [OrderKey: [Catalogue.ItemGrant]] = [:]
        /// Entitlements that may not be used, because a guardian withdrew consent before.
        package var frozen: [EntitlementStore.Recipient: [String]] = [:]
    }

    /// Writes the entries, adds them to the balances, and writes the entitlements, in the caller's transaction, which has
    /// `ConsentStore.lock(takesUp:on:)`.
    ///
    /// A second grant of the same order breaks `ledger_entries_once_per_order` and with it the whole transaction.
    ///
    /// - Throws: `PostgresError`.
    @discardableResult
    package static func write(_ grants: [Grant], on connection: PostgresConnection) async throws -> Written {
        var written = Written()
        let entries = grants.flatMap(entries)
        let posted = try await LedgerStore.post(entries, on: connection)
        if posted != entries {
            let amounts = Dictionary(grouping: posted) { $0.cause }
            for grant in grants where amounts[.grant(grant.key)] != Self.entries(of: grant) {
                written.cut[grant.key] = (amounts[.grant(grant.key)] ?? []).map {
                    Catalogue.ItemGrant(item: $0.item, amount: $0.amount)
                }
            }
        }
        written.frozen = try await EntitlementStore.grant(grants, on: connection)
        return written
    }

    /// The balances that grants add to.
    package static func holdings(of grants: [Grant]) -> Set<LedgerStore.Holding> {
        Set(grants.flatMap(entries).map(\.holding))
    }

    private static func entries(of grant: Grant) -> [LedgerStore.Entry] {
        let customer = Customer(
            environment: grant.key.environment, app: grant.app, account: grant.account)
        return grant.items.enumerated().map { index, item in
            LedgerStore.Entry(
                cause: .grant(grant.key), sequence: Int32(index + 1), customer: customer, item: item.item,
                amount: item.amount)
        }
    }
}

extension EntitlementStore {
    /// Writes what orders give.
    ///
    /// - Returns: those that may not be used.
    static func grant(
        _ grants: [GrantStore.Grant], on connection: PostgresConnection
    ) async throws -> [Recipient: [String]] {
        var rows: [(grant: GrantStore.Grant, name: String)] = []
        for grant in grants {
            for name in Set(grant.entitlements).sorted() { rows.append((grant, name)) }
        }
        guard !rows.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            WITH written AS (
                INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, expires_at, end_told_at,
                    revoked_at, revoked_because)
                SELECT new.environment, new.app, new.account, new.entitlement, new.transaction_id, new.expires_at,
                    CASE WHEN new.is_from_elsewhere AND new.expires_at <= now() THEN now() END,
                    CASE WHEN frozen.is_frozen THEN now() END, CASE WHEN frozen.is_frozen THEN 'consent_rescinded' END
                FROM unnest(
                    \(rows.map(\.grant.key.environment)), \(rows.map(\.grant.app)), \(rows.map(\.grant.account)),
                    \(rows.map(\.name)), \(rows.map(\.grant.key.transactionId)), \(rows.map(\.grant.expiresDate)),
                    \(rows.map(\.grant.isFromElsewhere)))
                    AS new (environment, app, account, entitlement, transaction_id, expires_at, is_from_elsewhere)
                LEFT JOIN orders o USING (environment, transaction_id)
                CROSS JOIN LATERAL (SELECT \(ConsentStore.isWithdrawn) AS is_frozen OFFSET 0) frozen
                RETURNING environment, transaction_id, app, account, entitlement, revoked_at
            )
            SELECT environment, transaction_id, app, account, entitlement FROM written WHERE revoked_at IS NOT NULL
            ORDER BY entitlement
            """)
        return try names(result)
    }
}
