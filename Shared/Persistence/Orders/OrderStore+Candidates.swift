import Foundation
package import Postgres
package import PurchaseModel

extension OrderStore {
    /// A parked order that may be granted now; not locked.
    package struct Candidate: Sendable {
        /// Its key.
        package let key: OrderKey
        /// The lineage that it belongs to.
        package let lineage: LineageKey
        /// The app's bundle id.
        package let app: String
        /// The product.
        package let productId: String
        /// Its type by Apple, or unstated.
        package let productType: ProductType
    }

    /// Parked orders that may be granted now, sorted by key; not locked, since their lineages are locked before.
    ///
    /// Those are orders of products the catalogue knows by now, or knows better: with the type that Apple says, or with an
    /// amount that an order may have; orders whose token was registered since; and those that an operator claims. An order
    /// that nobody claimed is not among them: only a proof can claim it. What Apple took back before its token was
    /// registered is: its lineage is its payer's all the same, if Apple says the environment.
    ///
    /// - Parameters:
    ///   - products: every product that the catalogue knows.
    ///   - claimed: what an operator claims.
    ///   - limit: the most to name beside those.
    /// - Throws: `PostgresError`.
    package static func candidates(
        products: [(app: String, product: Catalogue.Product)], claimed: [OrderKey], limit: Int,
        on connection: PostgresConnection
    ) async throws -> [Candidate] {
        let result = try await connection.query(
            """
            SELECT environment, transaction_id, original_transaction_id, app, product_id, product_type FROM (
                (SELECT o.* FROM unnest($1::text[], $2::text[], $6::text[], $7::int8[])
                    AS known (app, product_id, product_type, quantity_maximum)
                JOIN orders o USING (app, product_id)
                LEFT JOIN account_tokens t ON t.app = o.app AND t.token = o.app_account_token
                WHERE o.state = 'parked' AND (o.account IS NOT NULL OR t.account IS NOT NULL)
                    AND o.reason IN
                        ('product_unknown', 'account_token_unknown', 'product_type_mismatch', 'amount_too_large')
                    AND (o.reason <> 'product_type_mismatch' OR o.product_type = known.product_type)
                    AND (o.reason <> 'amount_too_large' OR o.quantity <= known.quantity_maximum)
                ORDER BY o.environment, o.transaction_id LIMIT $3)
                UNION ALL
                (SELECT o.* FROM orders o
                JOIN account_tokens t ON t.app = o.app AND t.token = o.app_account_token
                WHERE o.state = 'revoked' AND o.account IS NULL AND o.transaction ? 'environment'
                ORDER BY o.environment, o.transaction_id LIMIT $3)
                UNION ALL
                SELECT o.* FROM orders o
                WHERE (o.environment, o.transaction_id) IN (SELECT * FROM unnest($4::text[], $5::text[]))
                    AND o.state = 'parked' AND o.account IS NULL) candidates
            GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2
            """,
            [
                .textArray(products.map(\.app)), .textArray(products.map(\.product.id)), .int8(Int64(limit)),
                .textArray(claimed.map(\.environment.rawValue)), .textArray(claimed.map(\.transactionId)),
                .textArray(products.map(\.product.type.rawValue)),
                .int8Array(products.map { OrderDecision.quantityMaximum(of: $0.product) }),
            ])
        return try result.rows.map { row in
            Candidate(
                key: try row.orderKey(), lineage: try row.lineageKey(), app: try row.decode("app"),
                productId: try row.decode("product_id"),
                productType: ProductType(rawValue: try row.decode("product_type")))
        }
    }
}
