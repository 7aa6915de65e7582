package import Foundation
import Messages
package import Postgres
package import PurchaseModel

/// What the database knows of a purchase whose refund is asked for.
package enum ConsumptionReading {
    /// An order, and what is known of its use.
    package struct Found: Sendable {
        /// The order, by its own id.
        package let order: OrderKey
        package let app: String
        package let productId: String
        package let account: Account?
        /// Whether the account agreed; nil where it was never asked.
        package let consented: Bool?
        package let facts: ConsumptionFacts
        /// The database's clock.
        package let now: Date
    }

    /// What is known of an order; nil where there is none.
    ///
    /// - Throws: `PostgresError`.
    package static func find(_ order: OrderKey, on connection: PostgresConnection) async throws -> Found? {
        guard let row = try await connection.query(select(order)).rows.first else { return nil }
        let (app, productId, type, account, purchaseDate, wasGranted, consented, now, entitledUntil, spendsHere) =
            try row.decode((String, String, String, Account?, Date, Bool, Bool?, Date, Date?, Bool).self)
        return Found(
            order: order, app: app, productId: productId, account: account, consented: consented,
            facts: ConsumptionFacts(
                productType: ProductType(rawValue: type), wasGranted: wasGranted,
                items: try await connection.query(selectItems(of: order)).map(ConsumptionFacts.Item.init),
                spendsHere: spendsHere, purchaseDate: purchaseDate, entitledUntil: entitledUntil),
            now: now)
    }

    private static func select(_ order: OrderKey) -> SQL {
        """
        SELECT o.app, o.product_id, o.product_type, o.account, o.purchase_date, o.granted_at IS NOT NULL AS was_granted,
            k.consented, now() AS now,
            (SELECT max(expires_at) FROM entitlements e
                WHERE (e.environment, e.transaction_id) = (o.environment, o.transaction_id)) AS entitled_until,
            EXISTS (SELECT FROM spends s WHERE s.app = o.app AND s.environment = o.environment) AS spends_here
        FROM orders o LEFT JOIN account_consents k ON (k.account, k.app) = (o.account, o.app)
        WHERE o.environment = \(order.environment) AND o.transaction_id = \(order.transactionId)
        """
    }

    // Later purchases are found by the account's orders: the ledger has no index by account.
    private static func selectItems(of order: OrderKey) -> SQL {
        """
        SELECT g.item, g.amount AS granted, coalesce(b.amount, 0) AS balance, coalesce((
            SELECT sum(l.amount)::int8 FROM orders o
            JOIN ledger_entries l ON (l.environment, l.transaction_id) = (o.environment, o.transaction_id)
            WHERE (o.account, o.app, o.environment) = (g.account, g.app, g.environment)
                AND l.account = g.account AND l.item = g.item AND l.id > g.id AND l.amount > 0
                AND l.transaction_id <> g.transaction_id), 0) AS granted_later
        FROM ledger_entries g
        LEFT JOIN balances b ON (b.account, b.app, b.environment, b.item) = (g.account, g.app, g.environment, g.item)
        WHERE g.environment = \(order.environment) AND g.transaction_id = \(order.transactionId) AND g.kind = 'grant' ORDER BY g.item
        """
    }
}
