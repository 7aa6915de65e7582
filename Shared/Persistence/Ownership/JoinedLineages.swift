import Messages
package import Postgres
package import PurchaseModel

// What hangs on a lineage by its original id, and goes to another when both turn out to be one.

extension OrderStore {
    /// Gives orders of the lineage that ends to the account that has the other.
    static func give(
        _ join: LineageStore.Join, from loser: Account, to owner: Account, on connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            """
            UPDATE orders SET account = \(owner)
            WHERE environment = \(join.from.environment) AND original_transaction_id = \(join.fromId) AND app = \(join.app) AND account = \(loser)
                AND product_type <> 'consumable'
            """)
    }

    /// Orders, what Apple signed of them, and their keys; a key that an order of the other lineage has is that one's, and
    /// somebody is told.
    static func join(_ join: LineageStore.Join, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            INSERT INTO purchase_conflicts (environment, app, transaction_id, order_transaction_id, cause, submission_id)
            SELECT DISTINCT ON (o.transaction_id, x.transaction_id)
                o.environment, o.app, o.transaction_id, x.transaction_id, 'two_orders', \(join.submissionId)
            FROM orders o CROSS JOIN LATERAL (\(keys(join))) k
            JOIN orders x ON x.environment = o.environment AND x.app = o.app
                AND (x.purchase_key = k.purchase_key OR x.fallback_key = k.fallback_key)
            WHERE \(isOfLineage(join))
            ON CONFLICT DO NOTHING
            """)
        _ = try await connection.query(
            """
            UPDATE orders o SET original_transaction_id = \(join.intoId),
                transaction = jsonb_set(o.transaction, '{original_transaction_id}', to_jsonb(\(join.intoId))),
                purchase_key = k.purchase_key, fallback_key = k.fallback_key
            FROM (
                SELECT o.environment, o.transaction_id,
                    CASE WHEN NOT EXISTS (SELECT FROM orders x WHERE (x.environment, x.app, x.purchase_key)
                        = (o.environment, o.app, k.purchase_key)) THEN k.purchase_key END AS purchase_key,
                    CASE WHEN NOT EXISTS (SELECT FROM orders x WHERE (x.environment, x.app, x.fallback_key)
                        = (o.environment, o.app, k.fallback_key)) THEN k.fallback_key END AS fallback_key
                FROM orders o CROSS JOIN LATERAL (\(keys(join))) k WHERE \(isOfLineage(join))) k
            WHERE (o.environment, o.transaction_id) = (k.environment, k.transaction_id)
            """)
        _ = try await connection.query(
            """
            UPDATE order_transactions t SET statement = jsonb_set(t.statement, '{original_transaction_id}', to_jsonb(\(join.intoId)))
            FROM (
                SELECT o.environment, o.transaction_id FROM orders o
                WHERE o.environment = \(join.from.environment) AND o.original_transaction_id = \(join.intoId) AND o.app = \(join.app)
                UNION ALL SELECT t.environment, t.transaction_id FROM orders o
                JOIN order_transactions t
                    ON (t.environment, t.order_transaction_id) = (o.environment, o.transaction_id)
                WHERE o.environment = \(join.from.environment) AND o.original_transaction_id = \(join.intoId) AND o.app = \(join.app)
                    AND t.transaction_id <> t.order_transaction_id) ids
            WHERE (t.environment, t.transaction_id) = (ids.environment, ids.transaction_id)
                AND t.statement ->> 'original_transaction_id' = \(join.fromId)
            """)
    }

    /// What was held since its line item was another lineage's order's, and is that order's now that both are one.
    ///
    /// Such an order is no more: its ids are the other's, once what Apple signed under them is settled again.
    ///
    /// - Returns: that, with the own ids of the order that was held and of the other.
    /// - Throws: `PostgresError`; `DecodingError`, for rows that nobody of us wrote.
    package static func takeParked(
        in lineage: LineageKey, app: String, on connection: PostgresConnection
    ) async throws -> [(statement: Transaction, parked: OrderKey, order: OrderKey)] {
        let result = try await connection.query(
            """
            WITH held AS MATERIALIZED (
                SELECT y.environment, y.transaction_id, min(x.transaction_id) AS order_id FROM orders y
                JOIN orders x ON (x.environment, x.original_transaction_id, x.app, x.product_id, x.web_order_line_item_id)
                    = (y.environment, y.original_transaction_id, y.app, y.product_id, y.web_order_line_item_id)
                WHERE y.environment = \(lineage.environment) AND y.original_transaction_id = \(lineage.originalTransactionId)
                    AND y.app = \(app) AND y.granted_at IS NULL
                    AND y.purchase_key IS NULL AND y.fallback_key IS NULL AND x.purchase_key IS NOT NULL
                GROUP BY 1, 2
            ), named AS (
                SELECT environment, transaction_id FROM held
                UNION ALL SELECT t.environment, t.transaction_id FROM held h JOIN order_transactions t
                    ON (t.environment, t.order_transaction_id) = (h.environment, h.transaction_id)
                WHERE t.transaction_id <> t.order_transaction_id
            ), ids AS (
                DELETE FROM order_transactions t USING named
                WHERE (t.environment, t.transaction_id) = (named.environment, named.transaction_id)
                RETURNING t.environment, t.transaction_id, t.order_transaction_id, t.statement
            ), gone AS (
                DELETE FROM orders o USING held h WHERE (o.environment, o.transaction_id) = (h.environment, h.transaction_id)
                RETURNING o.environment, o.transaction_id, o.transaction
            ), resolved AS (
                UPDATE purchase_conflicts c SET resolved_at = now() FROM ids
                WHERE (c.environment, c.transaction_id) = (ids.environment, ids.transaction_id) AND c.resolved_at IS NULL
            )
            SELECT coalesce(ids.statement, gone.transaction)::text AS statement, h.environment, h.transaction_id, h.order_id
            FROM ids JOIN held h ON (h.environment, h.transaction_id) = (ids.environment, ids.order_transaction_id)
            JOIN gone ON (gone.environment, gone.transaction_id) = (h.environment, h.transaction_id)
            ORDER BY ids.transaction_id
            """)
        return try result.map {
            (statement: JSONColumn<Transaction>, environment: StoreEnvironment, transactionId: String, orderId: String)
            in
            (
                statement: statement.value, parked: OrderKey(environment: environment, transactionId: transactionId),
                order: OrderKey(environment: environment, transactionId: orderId)
            )
        }
    }

    private static func isOfLineage(_ join: LineageStore.Join) -> SQL {
        """
        o.environment = \(join.from.environment) AND o.original_transaction_id = \(join.fromId) AND o.app = \(join.app) AND o.product_type <> 'consumable'
        """
    }

    /// The keys under the other original id: `p:`, `d:` or `o:`, then the id.
    private static func keys(_ join: LineageStore.Join) -> SQL {
        """
        SELECT left(o.purchase_key, 2) || \(join.intoId) || substr(o.purchase_key, 3 + length(\(join.fromId))) AS purchase_key,
            left(o.fallback_key, 2) || \(join.intoId) || substr(o.fallback_key, 3 + length(\(join.fromId))) AS fallback_key
        """
    }
}

extension SubscriptionStore {
    /// One of two subscriptions, the one that ends later; it is worked out anew with all periods afterwards.
    static func join(_ join: LineageStore.Join, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            DELETE FROM subscriptions s USING (
                SELECT original_transaction_id FROM subscriptions
                WHERE environment = \(join.from.environment) AND original_transaction_id IN (\(join.fromId), \(join.intoId))
                ORDER BY expires_date DESC, original_transaction_id = \(join.intoId) DESC LIMIT 1) kept
            WHERE s.environment = \(join.from.environment) AND s.original_transaction_id IN (\(join.fromId), \(join.intoId))
                AND s.original_transaction_id <> kept.original_transaction_id
            """)
        _ = try await connection.query(
            """
            UPDATE subscriptions SET original_transaction_id = \(join.intoId),
                standing = jsonb_set(standing, '{original_transaction_id}', to_jsonb(\(join.intoId)))
            WHERE environment = \(join.from.environment) AND original_transaction_id = \(join.fromId)
            """)
    }
}

extension RenewalStatementStore {
    /// The newest statement of both.
    static func join(_ join: LineageStore.Join, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            INSERT INTO renewal_statements AS known (environment, original_transaction_id, signed_date, statement)
            SELECT environment, \(join.intoId), signed_date,
                jsonb_set(statement, '{original_transaction_id}', to_jsonb(\(join.intoId)))
            FROM renewal_statements WHERE environment = \(join.from.environment) AND original_transaction_id = \(join.fromId)
            ON CONFLICT (environment, original_transaction_id)
                DO UPDATE SET signed_date = excluded.signed_date, statement = excluded.statement
                WHERE \(isNewer)
            """)
        _ = try await connection.query(
            """
            DELETE FROM renewal_statements WHERE environment = \(join.from.environment) AND original_transaction_id = \(join.fromId)
            """)
    }
}

extension LineageHistoryStore {
    /// Which claims were heard.
    ///
    /// The history of bindings stays under the id that it is of.
    static func join(_ join: LineageStore.Join, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            WITH gone AS (
                DELETE FROM lineage_claims WHERE environment = \(join.from.environment) AND original_transaction_id = \(join.fromId) RETURNING *
            )
            INSERT INTO lineage_claims (environment, original_transaction_id, account, transaction_id, signed_date,
                submission_id, refused, created_at)
            SELECT environment, \(join.intoId), account, transaction_id, signed_date, submission_id, refused, created_at FROM gone
            ON CONFLICT DO NOTHING
            """)
    }
}

extension EntitlementStore {
    /// Who shares one of them shares both.
    static func join(_ join: LineageStore.Join, on connection: PostgresConnection) async throws {
        let moved = try await connection.query(
            """
            WITH gone AS (
                DELETE FROM lineage_shares WHERE environment = \(join.from.environment) AND original_transaction_id = \(join.fromId)
                RETURNING environment, app, account
            ), moved AS (
                INSERT INTO lineage_shares (environment, original_transaction_id, app, account)
                SELECT environment, \(join.intoId), app, account FROM gone WHERE account IS DISTINCT FROM \(join.owner)
                ON CONFLICT DO NOTHING RETURNING account
            )
            SELECT account FROM moved
            UNION SELECT account FROM lineage_shares WHERE environment = \(join.from.environment) AND original_transaction_id = \(join.intoId)
            """)
        guard let owner = join.owner else { return }
        try await share(
            try moved.map { (account: Account) in
                Share(lineage: join.into, app: join.app, owner: owner, account: account)
            }, on: connection)
    }
}
