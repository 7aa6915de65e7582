import Foundation
import Postgres
import PurchaseModel

/// An order that shares a key with another, as it is when migration 6 has filled the keys.
struct DoubleOrder: Sendable {
    let key: OrderKey
    /// The app's bundle id.
    let app: String
    let originalTransactionId: String
    let state: OrderState
    let reason: ReasonCode?
    let account: Account?
    let grantedAt: Date?
    let createdAt: Date
    let submissionId: String
    let productId: String
    /// Whether it is bought anew each time: Apple says that it is a non-renewing subscription, or it gave entitlements for
    /// a time of the catalogue's.
    let isNonRenewing: Bool
    let purchaseKey: String?
    let fallbackKey: String?
    let lineItem: String?
    let transaction: Transaction

    /// Whether it comes first among orders of one purchase: it was granted first, or it is the oldest.
    static func isBefore(_ left: DoubleOrder, _ right: DoubleOrder) -> Bool {
        let (first, second) = (left.grantedAt ?? .distantFuture, right.grantedAt ?? .distantFuture)
        if first != second { return first < second }
        if left.createdAt != right.createdAt { return left.createdAt < right.createdAt }
        return left.key < right.key
    }
}

extension DoubleOrder {
    /// Names every order that shares a key with another, in the table `orders_to_merge`, which the step drops again.
    ///
    /// Whole tables are compared here, once; what follows is looked up by key.
    ///
    /// - Throws: `PostgresError`.
    static func find(on connection: PostgresConnection) async throws {
        try await connection.executeScript(
            """
            SET LOCAL work_mem = '\(workMemoryMegabytes)MB';
            CREATE TABLE orders_to_merge AS
            SELECT o.environment, o.app, o.original_transaction_id, o.transaction_id FROM orders o
            JOIN (SELECT environment, app, purchase_key FROM orders WHERE purchase_key IS NOT NULL
                GROUP BY 1, 2, 3 HAVING count(*) > 1) shared USING (environment, app, purchase_key)
            UNION SELECT o.environment, o.app, o.original_transaction_id, o.transaction_id FROM orders o
            JOIN (SELECT environment, app, fallback_key FROM orders WHERE fallback_key IS NOT NULL
                GROUP BY 1, 2, 3 HAVING count(*) > 1) shared USING (environment, app, fallback_key);
            ALTER TABLE orders_to_merge ADD PRIMARY KEY (environment, app, original_transaction_id, transaction_id);
            ANALYZE orders_to_merge
            """)
    }

    /// Reads the orders of the next lineages, all of one lineage at once: keys are never shared beyond it.
    ///
    /// - Parameters:
    ///   - last: an order of the last lineage that was read; nil for the first ones.
    ///   - limit: the most lineages.
    /// - Throws: `PostgresError`.
    static func next(
        after last: DoubleOrder?, limit: Int, on connection: PostgresConnection
    ) async throws -> [DoubleOrder] {
        let result = try await connection.query(
            """
            SELECT o.environment, o.transaction_id, o.app, o.original_transaction_id, o.state, o.reason, o.account,
                o.granted_at, o.created_at, o.submission_id, o.product_id, o.purchase_key, o.fallback_key,
                o.web_order_line_item_id, o.transaction,
                o.product_type = 'non_renewing' OR o.expires_date IS NULL AND EXISTS (
                    SELECT FROM entitlements e WHERE e.expires_at IS NOT NULL
                        AND (e.environment, e.transaction_id) = (o.environment, o.transaction_id)) AS is_non_renewing
            FROM (SELECT DISTINCT environment, app, original_transaction_id FROM orders_to_merge
                WHERE (environment, app, original_transaction_id) > ($1, $2, $3)
                ORDER BY environment, app, original_transaction_id LIMIT $4) AS lineage
            JOIN orders_to_merge USING (environment, app, original_transaction_id)
            JOIN orders o USING (environment, app, original_transaction_id, transaction_id)
            ORDER BY o.environment, o.app, o.original_transaction_id
            """,
            [
                .text(last?.key.environment.rawValue ?? ""), .text(last?.app ?? ""),
                .text(last?.originalTransactionId ?? ""), .int8(Int64(limit)),
            ])
        return try result.rows.map { row in
            DoubleOrder(
                key: try row.orderKey(), app: try row.decode("app"),
                originalTransactionId: try row.decode("original_transaction_id"), state: try row.orderState(),
                reason: try row.reasonIfPresent(), account: try row.accountIfPresent(),
                grantedAt: try row.decodeIfPresent("granted_at"), createdAt: try row.decode("created_at"),
                submissionId: try row.decode("submission_id"), productId: try row.decode("product_id"),
                isNonRenewing: try row.decode("is_non_renewing"),
                purchaseKey: try row.decodeIfPresent("purchase_key"),
                fallbackKey: try row.decodeIfPresent("fallback_key"),
                lineItem: try row.decodeIfPresent("web_order_line_item_id"),
                transaction: try row.json("transaction", as: Transaction.self))
        }
    }

    /// What one sort or hash of the step may take of the server's memory before it goes to its disk.
    private static let workMemoryMegabytes = 64
}
