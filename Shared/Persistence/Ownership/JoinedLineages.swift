import Messages
import Postgres
import PurchaseModel

// What hangs on a lineage by its original id, and goes to another when both turn out to be one.

extension OrderStore {
    /// Gives orders of the lineage that ends to the account that has the other.
    static func give(
        _ join: LineageStore.Join, from loser: Account, to owner: Account, on connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            """
            UPDATE orders SET account = $4
            WHERE environment = $1 AND original_transaction_id = $2 AND app = $3 AND account = $5
                AND product_type <> 'consumable'
            """,
            [
                .text(join.from.environment.rawValue), .text(join.from.originalTransactionId), .text(join.app),
                .text(owner.text), .text(loser.text),
            ])
    }

    /// Orders, what Apple signed of them, and their keys; a key that an order of the other lineage has is that one's, and
    /// somebody is told.
    static func join(_ join: LineageStore.Join, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            INSERT INTO purchase_conflicts (environment, app, transaction_id, order_transaction_id, cause, submission_id)
            SELECT DISTINCT ON (o.transaction_id, x.transaction_id)
                o.environment, o.app, o.transaction_id, x.transaction_id, 'two_orders', $5::text
            FROM orders o CROSS JOIN LATERAL (\(keys)) k
            JOIN orders x ON x.environment = o.environment AND x.app = o.app
                AND (x.purchase_key = k.purchase_key OR x.fallback_key = k.fallback_key)
            WHERE \(ofLineage)
            ON CONFLICT DO NOTHING
            """, join.values + [.text(join.submissionId)])
        _ = try await connection.query(
            """
            UPDATE orders o SET original_transaction_id = $3,
                transaction = jsonb_set(o.transaction, '{original_transaction_id}', to_jsonb($3::text)),
                purchase_key = k.purchase_key, fallback_key = k.fallback_key
            FROM (
                SELECT o.environment, o.transaction_id,
                    CASE WHEN NOT EXISTS (SELECT FROM orders x WHERE (x.environment, x.app, x.purchase_key)
                        = (o.environment, o.app, k.purchase_key)) THEN k.purchase_key END AS purchase_key,
                    CASE WHEN NOT EXISTS (SELECT FROM orders x WHERE (x.environment, x.app, x.fallback_key)
                        = (o.environment, o.app, k.fallback_key)) THEN k.fallback_key END AS fallback_key
                FROM orders o CROSS JOIN LATERAL (\(keys)) k WHERE \(ofLineage)) k
            WHERE (o.environment, o.transaction_id) = (k.environment, k.transaction_id)
            """, join.values)
        _ = try await connection.query(
            """
            UPDATE order_transactions t SET statement = jsonb_set(t.statement, '{original_transaction_id}', to_jsonb($3::text))
            FROM (
                SELECT t.environment, t.transaction_id FROM orders o
                JOIN order_transactions t ON t.environment = o.environment
                    AND (t.transaction_id = o.transaction_id OR t.order_transaction_id = o.transaction_id
                        AND t.transaction_id <> t.order_transaction_id)
                WHERE o.environment = $1 AND o.original_transaction_id = $3 AND o.app = $4
                    AND t.statement ->> 'original_transaction_id' = $2) old
            WHERE (t.environment, t.transaction_id) = (old.environment, old.transaction_id)
            """, join.values)
    }

    private static let ofLineage = """
        o.environment = $1 AND o.original_transaction_id = $2 AND o.app = $4 AND o.product_type <> 'consumable'
        """

    /// The keys under the other original id: `p:`, `d:` or `o:`, then the id.
    private static let keys = """
        SELECT left(o.purchase_key, 2) || $3::text || substr(o.purchase_key, 3 + length($2::text)) AS purchase_key,
            left(o.fallback_key, 2) || $3::text || substr(o.fallback_key, 3 + length($2::text)) AS fallback_key
        """
}

extension SubscriptionStore {
    /// One of two subscriptions, the one that ends later; it is worked out anew with all periods afterwards.
    static func join(_ join: LineageStore.Join, on connection: PostgresConnection) async throws {
        let keys = Array(join.values.prefix(3))
        _ = try await connection.query(
            """
            DELETE FROM subscriptions s USING (
                SELECT original_transaction_id FROM subscriptions
                WHERE environment = $1 AND original_transaction_id IN ($2, $3)
                ORDER BY expires_date DESC, original_transaction_id = $3 DESC LIMIT 1) kept
            WHERE s.environment = $1 AND s.original_transaction_id IN ($2, $3)
                AND s.original_transaction_id <> kept.original_transaction_id
            """, keys)
        _ = try await connection.query(
            """
            UPDATE subscriptions SET original_transaction_id = $3,
                standing = jsonb_set(standing, '{original_transaction_id}', to_jsonb($3::text))
            WHERE environment = $1 AND original_transaction_id = $2
            """, keys)
    }
}

extension RenewalStatementStore {
    /// The newest statement of both.
    static func join(_ join: LineageStore.Join, on connection: PostgresConnection) async throws {
        let keys = Array(join.values.prefix(3))
        _ = try await connection.query(
            """
            INSERT INTO renewal_statements AS known (environment, original_transaction_id, signed_date, statement)
            SELECT environment, $3::text, signed_date,
                jsonb_set(statement, '{original_transaction_id}', to_jsonb($3::text))
            FROM renewal_statements WHERE environment = $1 AND original_transaction_id = $2
            ON CONFLICT (environment, original_transaction_id)
                DO UPDATE SET signed_date = excluded.signed_date, statement = excluded.statement
                WHERE \(isNewer)
            """, keys)
        _ = try await connection.query(
            "DELETE FROM renewal_statements WHERE environment = $1 AND original_transaction_id = $2",
            Array(keys.prefix(2)))
    }
}

extension LineageHistoryStore {
    /// Which claims were heard. The history of bindings stays under the id that it is of.
    static func join(_ join: LineageStore.Join, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            WITH gone AS (
                DELETE FROM lineage_claims WHERE environment = $1 AND original_transaction_id = $2 RETURNING *
            )
            INSERT INTO lineage_claims (environment, original_transaction_id, account, transaction_id, signed_date,
                submission_id, refused, created_at)
            SELECT environment, $3::text, account, transaction_id, signed_date, submission_id, refused, created_at FROM gone
            ON CONFLICT DO NOTHING
            """, Array(join.values.prefix(3)))
    }
}

extension EntitlementStore {
    /// Who shares one of them shares both.
    static func join(_ join: LineageStore.Join, on connection: PostgresConnection) async throws {
        let moved = try await connection.query(
            """
            WITH gone AS (
                DELETE FROM lineage_shares WHERE environment = $1 AND original_transaction_id = $2
                RETURNING environment, app, account
            ), moved AS (
                INSERT INTO lineage_shares (environment, original_transaction_id, app, account)
                SELECT environment, $3::text, app, account FROM gone WHERE account IS DISTINCT FROM $4::text
                ON CONFLICT DO NOTHING RETURNING account
            )
            SELECT account FROM moved
            UNION SELECT account FROM lineage_shares WHERE environment = $1 AND original_transaction_id = $3
            """, Array(join.values.prefix(3)) + [.text(join.owner?.text)])
        guard let owner = join.owner else { return }
        try await share(
            try moved.rows.map {
                Share(lineage: join.into, app: join.app, owner: owner, account: try $0.account())
            }, on: connection)
    }
}
