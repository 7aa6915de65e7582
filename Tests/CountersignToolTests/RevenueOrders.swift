import Foundation
import Postgres

/// An order as the money views see it, written straight into the table.
struct SoldOrder: Sendable {
    var id: String
    var environment = "production"
    var app = "game"
    var productId = "gems"
    var productType = "consumable"
    var purchased: Date
    var original: Date?
    var price: Int64?
    var currency: String? = "USD"
    var storefront: String? = "USA"
    var ownership: String? = "PURCHASED"
    var testPurchase: String?
    var revoked: Date?
    var revocationType: String?
    var percentage: Int64?

    /// An order bought at an instant such as `2026-03-15T00:00:00Z`.
    init(_ id: String, _ purchased: String, price: Int64?) throws {
        self.init(id: id, purchased: try Self.instant(purchased), price: price)
    }

    init(id: String, purchased: Date, price: Int64?) {
        self.id = id
        self.purchased = purchased
        self.price = price
    }

    static func instant(_ text: String) throws -> Date {
        try Date.ISO8601FormatStyle().parse(text)
    }

    static func insert(_ orders: [SoldOrder], _ pool: PostgresPool) async throws {
        _ = try await pool.query(
            """
            WITH inserted AS (INSERT INTO orders (environment, transaction_id, state, granted_at, account, app, product_id, product_type,
                quantity, original_transaction_id, purchase_date, original_purchase_date, signed_date,
                price_milliunits, currency, storefront, ownership, test_purchase, revocation_date, revocation_type,
                revocation_percentage, submission_id, correlation_id, transaction)
            SELECT environment, id, 'granted', now(), 'alice', app, product, type, 1, id, purchased, original, purchased,
                price, currency, storefront, ownership, test, revoked, revocation, percentage, 's', 'c', '{}'
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[],
                $7::timestamptz[], $8::int8[], $9::text[], $10::text[], $11::text[], $12::text[], $13::timestamptz[],
                $14::text[], $15::int8[]) AS new (environment, id, app, product, type, purchased, original, price,
                currency, storefront, ownership, test, revoked, revocation, percentage)
            RETURNING environment, transaction_id, submission_id)
            INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
            SELECT environment, transaction_id, transaction_id, submission_id FROM inserted
            """,
            [
                .textArray(orders.map(\.environment)), .textArray(orders.map(\.id)), .textArray(orders.map(\.app)),
                .textArray(orders.map(\.productId)), .textArray(orders.map(\.productType)),
                .timestamptzArray(orders.map(\.purchased)), .timestamptzArray(orders.map(\.original)),
                .int8Array(orders.map(\.price)), .textArray(orders.map(\.currency)),
                .textArray(orders.map(\.storefront)), .textArray(orders.map(\.ownership)),
                .textArray(orders.map(\.testPurchase)), .timestamptzArray(orders.map(\.revoked)),
                .textArray(orders.map(\.revocationType)), .int8Array(orders.map(\.percentage)),
            ])
    }
}

/// A row of `order_proceeds`.
struct ProceedsRow: Hashable, CustomStringConvertible {
    var day: String
    var refundDay: String?
    var gross: Int64?
    var tax: Int64?
    var commission: Int64?
    var proceeds: Int64?
    var refunded: Int64?
    var refundedTax: Int64?
    var refundedCommission: Int64?
    var refundedProceeds: Int64?
    var taxKnown: Bool

    var description: String {
        "\(day) gross \(gross ?? -1) tax \(tax ?? -1) commission \(commission ?? -1) proceeds \(proceeds ?? -1) "
            + "refunded \(refundDay ?? "never") \(refunded ?? -1) \(refundedTax ?? -1) \(refundedCommission ?? -1) "
            + "\(refundedProceeds ?? -1) tax \(taxKnown)"
    }

    /// Every row, by transaction id.
    static func all(_ pool: PostgresPool) async throws -> [String: ProceedsRow] {
        let result = try await pool.query(
            "SELECT *, purchased_on::text AS day, refunded_on::text AS refund_day FROM order_proceeds")
        var rows: [String: ProceedsRow] = [:]
        for row in result.rows {
            rows[try row.decode("transaction_id")] = ProceedsRow(
                day: try row.decode("day"), refundDay: try row.decodeIfPresent("refund_day"),
                gross: try row.decodeIfPresent("gross"), tax: try row.decodeIfPresent("tax"),
                commission: try row.decodeIfPresent("commission"),
                proceeds: try row.decodeIfPresent("estimated_proceeds"),
                refunded: try row.decodeIfPresent("refunded"), refundedTax: try row.decodeIfPresent("refunded_tax"),
                refundedCommission: try row.decodeIfPresent("refunded_commission"),
                refundedProceeds: try row.decodeIfPresent("refunded_proceeds"), taxKnown: try row.decode("tax_known"))
        }
        return rows
    }
}
