import Messages
import Postgres
import PurchaseModel

/// The rows of orders that are merged, and all that names them.
enum MergedOrders {
    /// - Throws: `PostgresError`.
    static func note(_ conflicts: [MergePlan.Conflict], on connection: PostgresConnection) async throws {
        guard !conflicts.isEmpty else { return }
        _ = try await connection.query(
            """
            INSERT INTO purchase_conflicts (environment, app, transaction_id, order_transaction_id, cause, submission_id)
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
            ON CONFLICT DO NOTHING
            """,
            [
                .textArray(conflicts.map(\.later.key.environment.rawValue)), .textArray(conflicts.map(\.later.app)),
                .textArray(conflicts.map(\.later.key.transactionId)),
                .textArray(conflicts.map(\.first.key.transactionId)), .textArray(conflicts.map(\.cause.rawValue)),
                .textArray(conflicts.map(\.later.submissionId)),
            ])
    }

    /// Notes line items that are granted under two original ids: those are two lineages, and remain two orders.
    ///
    /// - Throws: `PostgresError`.
    static func noteSharedLineItems(on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            INSERT INTO purchase_conflicts (environment, app, transaction_id, order_transaction_id, cause, submission_id)
            SELECT environment, app, transaction_id, first_id, 'line_item_of_another', submission_id
            FROM (
                SELECT o.*, first_value(o.transaction_id) OVER granted AS first_id,
                    first_value(o.original_transaction_id) OVER granted AS first_original
                FROM orders o
                JOIN (SELECT environment, app, web_order_line_item_id FROM orders
                    WHERE web_order_line_item_id IS NOT NULL AND fallback_key IS NOT NULL
                    GROUP BY 1, 2, 3 HAVING min(original_transaction_id) <> max(original_transaction_id)) shared
                    USING (environment, app, web_order_line_item_id)
                WHERE o.fallback_key IS NOT NULL
                WINDOW granted AS (
                    PARTITION BY o.environment, o.app, o.web_order_line_item_id
                    ORDER BY o.granted_at NULLS LAST, o.created_at, o.transaction_id)) periods
            WHERE original_transaction_id <> first_original
            ON CONFLICT DO NOTHING
            """)
    }

    /// Takes the keys that another order has from orders that contradict it.
    ///
    /// - Throws: `PostgresError`.
    static func writeKeys(_ purchases: [MergePlan.MergedPurchase], on connection: PostgresConnection) async throws {
        let changed = purchases.filter {
            $0.purchaseKey != $0.first.purchaseKey || $0.fallbackKey != $0.first.fallbackKey
        }
        guard !changed.isEmpty else { return }
        _ = try await connection.query(
            """
            UPDATE orders o SET purchase_key = new.purchase_key, fallback_key = new.fallback_key
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
                AS new (environment, transaction_id, purchase_key, fallback_key)
            WHERE (o.environment, o.transaction_id) = (new.environment, new.transaction_id)
            """,
            [
                .textArray(changed.map(\.first.key.environment.rawValue)),
                .textArray(changed.map(\.first.key.transactionId)), .textArray(changed.map(\.purchaseKey)),
                .textArray(changed.map(\.fallbackKey)),
            ])
    }

    /// Writes what the merged orders are, with what Apple signed under each of their ids, and keeps what the others were.
    ///
    /// - Throws: `PostgresError`.
    static func write(_ merged: [MergedOrder], on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            INSERT INTO merged_orders (environment, transaction_id, order_transaction_id, row)
            SELECT o.environment, o.transaction_id, merged.order_transaction_id, to_jsonb(o)
            FROM \([MergedOrder].ids) JOIN orders o USING (environment, transaction_id)
            """, merged.otherIdColumns)
        _ = try await connection.query(
            """
            UPDATE order_transactions t
            SET order_transaction_id = merged.order_transaction_id, statement = o.transaction
            FROM \([MergedOrder].ids) JOIN orders o USING (environment, transaction_id)
            WHERE (t.environment, t.transaction_id) = (merged.environment, merged.transaction_id)
            """, merged.idColumns)
        _ = try await connection.query(updateStatement, try updateColumns(merged))
    }

    private static let updateStatement = """
        UPDATE orders o SET state = new.state, reason = new.reason, account = new.account,
            product_type = new.product_type, quantity = new.quantity, purchase_date = new.purchase_date,
            original_purchase_date = new.original_purchase_date, expires_date = new.expires_date,
            signed_date = new.signed_date, revocation_date = new.revocation_date,
            revocation_type = new.revocation_type, revocation_percentage = new.revocation_percentage,
            revoked_at = CASE WHEN new.state = 'revoked' THEN coalesce(o.revoked_at, now()) END,
            app_account_token = new.app_account_token, price_milliunits = new.price_milliunits,
            currency = new.currency, storefront = new.storefront, ownership = new.ownership,
            app_transaction_id = new.app_transaction_id, web_order_line_item_id = new.web_order_line_item_id,
            purchase_key = new.purchase_key, fallback_key = new.fallback_key, test_purchase = new.test_purchase,
            transaction = new.transaction
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int4[],
            $8::timestamptz[], $9::timestamptz[], $10::timestamptz[], $11::timestamptz[], $12::timestamptz[],
            $13::text[], $14::int8[], $15::uuid[], $16::int8[], $17::text[], $18::text[], $19::text[], $20::text[],
            $21::text[], $22::text[], $23::text[], $24::text[], $25::jsonb[])
            AS new (environment, transaction_id, state, reason, account, product_type, quantity, purchase_date,
                original_purchase_date, expires_date, signed_date, revocation_date, revocation_type,
                revocation_percentage, app_account_token, price_milliunits, currency, storefront, ownership,
                app_transaction_id, web_order_line_item_id, purchase_key, fallback_key, test_purchase, transaction)
        WHERE (o.environment, o.transaction_id) = (new.environment, new.transaction_id)
        """

    private static func updateColumns(_ merged: [MergedOrder]) throws -> [PostgresValue] {
        let transactions = merged.map(\.transaction)
        return merged.keyColumns + [
            .textArray(merged.map(\.state.rawValue)), .textArray(merged.map(\.reason?.rawValue)),
            .textArray(merged.map(\.account?.text)), .textArray(transactions.map(\.productType.rawValue)),
            .int4Array(transactions.map { Int32(clamping: $0.quantity) }),
            .timestamptzArray(transactions.map(\.purchaseDate)),
            .timestamptzArray(transactions.map(\.originalPurchaseDate)),
            .timestamptzArray(transactions.map(\.expiresDate)), .timestamptzArray(transactions.map(\.signedDate)),
            .timestamptzArray(transactions.map(\.revocationDate)), .textArray(transactions.map(\.revocationType)),
            .int8Array(transactions.map(\.revocationPercentage)), .uuidArray(transactions.map(\.appAccountToken)),
            .int8Array(transactions.map(\.priceMilliunits)), .textArray(transactions.map(\.currency)),
            .textArray(transactions.map(\.storefront)), .textArray(transactions.map(\.ownership)),
            .textArray(transactions.map(\.appTransactionId)), .textArray(transactions.map(\.lineItem)),
            .textArray(merged.map(\.purchase.purchaseKey)), .textArray(merged.map(\.purchase.fallbackKey)),
            .textArray(merged.map { $0.key.environment == .sandbox ? $0.transaction.testPurchase?.rawValue : nil }),
            .jsonbArray(try transactions.map { String(decoding: try MessageCoding.encode($0), as: UTF8.self) }),
        ]
    }

    /// Has everything that names the others name the orders that took them in, and removes them.
    ///
    /// - Throws: `PostgresError`.
    static func removeOthers(_ merged: [MergedOrder], on connection: PostgresConnection) async throws {
        for statement in [keepWaiting, endWaiting, claims, delete] {
            _ = try await connection.query(statement, merged.otherIdColumns)
        }
        _ = try await connection.query(
            redrive,
            merged.filter(\.endsWaiting).keyColumns + [.text("its order is one with another, which is settled")])
    }

    private static let keepWaiting = """
        INSERT INTO submission_transactions (environment, transaction_id, submission_id)
        SELECT w.environment, merged.order_transaction_id, w.submission_id
        FROM \([MergedOrder].ids) JOIN submission_transactions w USING (environment, transaction_id)
        ON CONFLICT DO NOTHING
        """
    private static let endWaiting = """
        DELETE FROM submission_transactions w USING \([MergedOrder].ids)
        WHERE (w.environment, w.transaction_id) = (merged.environment, merged.transaction_id)
        """
    private static let claims = """
        UPDATE operator_claims c SET transaction_id = merged.order_transaction_id FROM \([MergedOrder].ids)
        WHERE (c.environment, c.transaction_id) = (merged.environment, merged.transaction_id)
        """
    private static let delete = """
        DELETE FROM orders o USING \([MergedOrder].ids)
        WHERE (o.environment, o.transaction_id) = (merged.environment, merged.transaction_id)
        """

    /// Who waits for an order that is settled by now is answered: by being judged again.
    private static let redrive = """
        WITH settled AS (
            UPDATE submissions s SET state = 'received', outcome = NULL, reason = NULL, settled_at = NULL,
                due_at = now(), attempts = 0
            FROM (SELECT DISTINCT w.submission_id
                FROM unnest($1::text[], $2::text[]) AS merged (environment, transaction_id)
                JOIN submission_transactions w USING (environment, transaction_id)) waiting
            WHERE s.id = waiting.submission_id AND s.state = 'parked'
            RETURNING s.id
        )
        INSERT INTO audit_log (actor, action, subject, reason)
        SELECT 'migration 6', 'redrive', id, $3 FROM settled
        """
}
