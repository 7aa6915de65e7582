import Foundation
package import Postgres
package import PurchaseModel

extension OrderStore {
    /// That a statement belongs to an order that is there.
    package struct Match: Sendable {
        /// What led to it.
        package enum Path: String, Sendable {
            /// The transaction id.
            case id
            /// The purchase's own key.
            case key
            /// The key without a line item.
            case fallback
            /// The line item alone, which says nothing by itself.
            case lineItem = "line_item"
        }

        /// The statement's place among those that were asked for.
        package let place: Int
        package let path: Path
        /// The order as it is seen without a lock, without what Apple signed of it.
        package let order: StoredOrder
        package let lineItem: String?
        /// Whether it is a family member's copy, which may have the purchaser's line item.
        package let isFamilyCopy: Bool
        /// Whether Apple signed that it was paid for; a receipt does not say it.
        package let isPurchased: Bool
        package let productId: String
        /// Whether just this is known of the transaction id: a repetition.
        package let isRepetition: Bool
    }

    /// The orders that statements belong to, by any of their transaction ids and keys; read without a lock.
    ///
    /// A statement that came exactly so before costs one look by its id, and nothing of it is sent back.
    ///
    /// - Throws: `PostgresError`.
    package static func matches(
        of statements: [(environment: StoreEnvironment, transaction: Transaction)], _ bodies: TransactionBodies,
        on connection: PostgresConnection
    ) async throws -> [Match] {
        guard !statements.isEmpty else { return [] }
        let keys = statements.map { PurchaseKeys(of: $0.transaction) }
        let hasKeys = keys.contains { $0.key != nil || $0.fallback != nil }
        let ids: SQL = """
            \(statements.map(\.environment)), \(statements.map(\.transaction.transactionId)),
            \(try statements.map { try bodies.body(of: $0.transaction) })
            """
        let lineItems = statements.map { $0.transaction.isAutoRenewable ? $0.transaction.lineItem : nil }
        // Not out of the key: an id may have a colon.
        let originals = zip(statements, keys).map { statement, keys -> String? in
            keys.fallback == nil ? nil : statement.transaction.originalTransactionId
        }
        let matching: SQL =
            !hasKeys
            ? matchingById(ids)
            : matchingByAll(
                ids,
                """
                \(statements.map(\.transaction.bundleId)), \(keys.map { $0.key?.text }), \(keys.map { $0.fallback?.text }),
                \(lineItems), \(originals),
                \(statements.map(\.transaction.productId))
                """)
        let result = try await connection.query(matching)
        return try result.rows.map { row in
            Match(
                place: Int(try row.decode("place", as: Int64.self)) - 1, path: try row.known("path"),
                order: try order(row, purchase: nil), lineItem: try row.decodeIfPresent("web_order_line_item_id"),
                isFamilyCopy: try row.decode("is_family_copy"), isPurchased: try row.decode("is_purchased"),
                productId: try row.decode("product_id"), isRepetition: try row.decode("is_repetition"))
        }
    }

    /// Locks orders, and all orders of lineages that the caller's transaction holds, sorted by key, until its end.
    ///
    /// - Parameters:
    ///   - keys: with what Apple signed of each.
    ///   - lineages: all of their orders but consumables; with what Apple signed of those that are parked, or nobody's.
    /// - Throws: `PostgresError`.
    package static func lock(
        _ keys: [OrderKey], lineages: [LineageKey] = [], on connection: PostgresConnection
    ) async throws -> [StoredOrder] {
        guard !keys.isEmpty || !lineages.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT \(columns), o.state = 'parked' OR o.account IS NULL OR asked.is_asked AS is_whole,
                CASE WHEN o.state = 'parked' OR o.account IS NULL OR asked.is_asked THEN o.transaction END AS transaction
            FROM (SELECT environment, transaction_id, bool_or(is_asked) AS is_asked FROM (
                    SELECT *, true AS is_asked FROM \(SQL.rows(of: keys)) AS asked (environment, transaction_id)
                    UNION ALL SELECT o.environment, o.transaction_id, false
                    FROM \(SQL.rows(of: lineages)) AS lineage (environment, original_transaction_id)
                    JOIN orders o USING (environment, original_transaction_id) WHERE o.product_type <> 'consumable') rows
                GROUP BY 1, 2) asked
            JOIN orders o USING (environment, transaction_id)
            ORDER BY o.environment, o.transaction_id
            FOR UPDATE OF o
            """)
        return try await stored(result, on: connection)
    }

    /// Locks those of the orders that nobody else holds and that are parked, or nobody's; never waits.
    ///
    /// - Throws: `PostgresError`.
    package static func lockFree(_ keys: [OrderKey], on connection: PostgresConnection) async throws -> [StoredOrder] {
        guard !keys.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT \(columns), true AS is_whole, o.transaction FROM orders o
            WHERE (o.state = 'parked' OR o.account IS NULL)
                AND (o.environment, o.transaction_id) IN (SELECT * FROM \(SQL.rows(of: keys)))
            ORDER BY o.environment, o.transaction_id
            FOR UPDATE SKIP LOCKED
            """)
        return try await stored(result, on: connection)
    }

    /// The rows with what Apple signed under each id, for purchases that have several.
    private static func stored(
        _ result: PostgresResult, on connection: PostgresConnection
    ) async throws -> [StoredOrder] {
        var transactions: [(row: PostgresRow, transaction: Transaction)] = []
        var orders: [StoredOrder] = []
        for row in result.rows {
            if let transaction = try row.jsonIfPresent("transaction", as: Transaction.self) {
                transactions.append((row, transaction))
            } else {
                orders.append(try order(row, purchase: nil))
            }
        }
        let statements = try await statements(of: transactions.map { try $0.row.orderKey() }, on: connection)
        for (row, transaction) in transactions {
            let purchase = Purchase(stored: transaction, statements: statements[try row.orderKey()] ?? [:])
            orders.append(try order(row, purchase: purchase))
        }
        return orders.sorted { $0.key < $1.key }
    }

    /// What Apple signed under each transaction id of purchases that have several.
    private static func statements(
        of keys: [OrderKey], on connection: PostgresConnection
    ) async throws -> [OrderKey: [String: Transaction]] {
        guard !keys.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            WITH asked AS (
                SELECT * FROM \(SQL.rows(of: keys)) AS asked (environment, order_transaction_id)
            )
            SELECT t.environment, t.order_transaction_id, t.transaction_id, t.statement
            FROM asked JOIN order_transactions t USING (environment, order_transaction_id)
            WHERE t.transaction_id <> t.order_transaction_id AND t.statement IS NOT NULL
            UNION ALL
            SELECT t.environment, t.order_transaction_id, t.transaction_id, t.statement
            FROM asked JOIN order_transactions t
                ON (t.environment, t.transaction_id) = (asked.environment, asked.order_transaction_id)
            WHERE t.statement IS NOT NULL
            """)
        let statements = try result.map {
            (
                environment: StoreEnvironment, orderTransactionId: String, transactionId: String,
                statement: JSONColumn<Transaction>
            ) in
            (
                OrderKey(environment: environment, transactionId: orderTransactionId),
                [transactionId: statement.value]
            )
        }
        return Dictionary(statements) { known, more in known.merging(more) { $1 } }
    }

    /// The types of which an order has keys; one of another contradicts nothing by having none.
    static let typesWithKeys = (ProductType.known + [.unstated]).filter { $0 != .consumable }
        .map { "'\($0.rawValue)'" }.joined(separator: ", ")

    static let columns: SQL = """
        o.environment, o.transaction_id, o.app, o.original_transaction_id, o.state, o.reason, o.account,
        o.granted_at IS NOT NULL AS was_granted, o.product_type, o.product_id, o.purchase_date, o.expires_date,
        o.app_account_token, o.transaction ->> 'transaction_reason' AS transaction_reason, o.test_purchase, o.submission_id, o.correlation_id, o.web_order_line_item_id,
        o.granted_elsewhere, o.ownership IS NOT DISTINCT FROM 'FAMILY_SHARED' AS is_family_copy,
        o.ownership IS NOT DISTINCT FROM 'PURCHASED' AS is_purchased,
        (o.purchase_key IS NOT NULL OR o.fallback_key IS NOT NULL
            OR o.product_type NOT IN (\(unescaped: typesWithKeys))) AS has_keys
        """

    static func order(_ row: PostgresRow, purchase: Purchase?) throws -> StoredOrder {
        StoredOrder(
            key: try row.orderKey(), app: try row.decode("app"), lineage: try row.lineageKey(),
            state: try row.orderState(), reason: try row.reasonIfPresent(), account: try row.accountIfPresent(),
            wasGranted: try row.decode("was_granted"),
            productType: ProductType(appleName: try row.decode("product_type")),
            purchaseDate: try row.decode("purchase_date"), expiresDate: try row.decodeIfPresent("expires_date"),
            token: try row.decodeIfPresent("app_account_token"),
            transactionReason: try row.decodeIfPresent("transaction_reason"),
            testPurchase: try row.decodeIfPresent("test_purchase", as: String.self).map { TestPurchase(rawValue: $0) },
            submissionId: try row.decode("submission_id"), correlationId: try row.decode("correlation_id"),
            hasKeys: try row.decode("has_keys"), isGrantedElsewhere: try row.decode("granted_elsewhere"),
            purchase: purchase)
    }

    // OFFSET 0: one look into the index for each, however few rows the planner expects in a table without statistics.
    private static let matchById: SQL = """
        SELECT asked.place, 'id' AS path, \(columns),
            coalesce(t.statement, o.transaction) = asked.statement::jsonb AS is_repetition
        FROM asked
        CROSS JOIN LATERAL (
            SELECT environment, order_transaction_id, statement FROM order_transactions
            WHERE (environment, transaction_id) = (asked.environment, asked.transaction_id) OFFSET 0) t
        CROSS JOIN LATERAL (
            SELECT * FROM orders WHERE (environment, transaction_id) = (t.environment, t.order_transaction_id) OFFSET 0) o
        """

    private static func matchingById(_ ids: SQL) -> SQL {
        """
        WITH asked AS (
            SELECT * FROM unnest(\(ids)) WITH ORDINALITY AS asked (environment, transaction_id, statement, place)
        )
        \(matchById)
        """
    }

    private static func matchingByAll(_ ids: SQL, _ keys: SQL) -> SQL {
        """
        WITH asked AS (
            SELECT *, substring(fallback_key FROM '-?[0-9]+$')::int8 AS second
            FROM unnest(\(ids), \(keys)) WITH ORDINALITY
                AS asked (environment, transaction_id, statement, app, purchase_key, fallback_key, line_item, original,
                    product, place)
        )
        \(matchById)
        UNION ALL SELECT asked.place, 'key', \(columns), false
        FROM asked JOIN orders o USING (environment, app, purchase_key)
        UNION ALL SELECT asked.place, 'fallback', \(columns), false
        FROM asked JOIN orders o USING (environment, app, fallback_key)
        UNION ALL SELECT asked.place, 'fallback', \(columns), false
        FROM asked CROSS JOIN LATERAL (
            SELECT * FROM orders WHERE environment = asked.environment
                AND original_transaction_id = asked.original
                AND purchase_date >= to_timestamp(asked.second - \(PurchaseKeys.tolerance))
                AND purchase_date < to_timestamp(asked.second + 1 + \(PurchaseKeys.tolerance))
            OFFSET 0) o
        WHERE (o.app, o.product_id) = (asked.app, asked.product) AND o.fallback_key IS NOT NULL
            AND (asked.line_item IS NULL OR o.web_order_line_item_id IS NULL)
        UNION ALL SELECT asked.place, 'line_item', \(columns), false
        FROM asked JOIN orders o ON (o.environment, o.app, o.web_order_line_item_id)
            = (asked.environment, asked.app, asked.line_item)
        """
    }
}
