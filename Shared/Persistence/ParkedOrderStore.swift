import Foundation
import Messages
public import Postgres
public import PurchaseModel

/// Parked rows of `orders`: held back for a doubt, until the catalogue knows the product or somebody the token.
public enum ParkedOrderStore {
    /// Takes parked orders that may be granted now, locked in the caller's transaction.
    ///
    /// Those are orders of products the catalogue knows, and orders whose token was registered since.
    ///
    /// - Parameters:
    ///   - products: every product that the catalogue knows.
    ///   - limit: the most to take.
    /// - Throws: `PostgresError`.
    public static func claim(
        products: [(app: String, productId: String)], limit: Int, on connection: PostgresConnection
    ) async throws -> [OrderStore.Parked] {
        let result = try await connection.query(
            """
            SELECT o.environment, o.transaction_id, o.account, o.submission_id, o.correlation_id, o.transaction
            FROM orders o
            LEFT JOIN account_tokens t ON t.app = o.app AND t.token = o.app_account_token
            WHERE o.state = 'parked' AND (o.account IS NOT NULL OR t.account IS NOT NULL)
                AND (o.app, o.product_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
                AND o.reason IN ('product_unknown', 'account_token_unknown')
            ORDER BY o.environment, o.transaction_id LIMIT $3
            FOR UPDATE OF o SKIP LOCKED
            """,
            [
                .textArray(products.map(\.app)), .textArray(products.map(\.productId)), .int8(Int64(limit)),
            ])
        return try result.rows.compactMap { row in
            guard let key = try OrderStore.key(row) else { return nil }
            let body = try row.decode("transaction", as: String.self)
            return OrderStore.Parked(
                key: key, transaction: try MessageCoding.decode(PurchasedTransaction.self, from: Array(body.utf8)),
                account: try row.decodeIfPresent("account"), submissionId: try row.decode("submission_id"),
                correlationId: try row.decode("correlation_id"))
        }
    }

    /// Sets what became of parked orders in the caller's transaction.
    ///
    /// - Returns: the keys that were parked until now: only these may be granted.
    /// - Throws: `PostgresError`.
    public static func resolve(
        _ decisions: [(key: OrderKey, decision: OrderDecision)], on connection: PostgresConnection
    ) async throws -> Set<OrderKey> {
        guard !decisions.isEmpty else { return [] }
        let result = try await connection.query(
            """
            UPDATE orders SET state = new.state, reason = new.reason, account = new.account,
                granted_at = CASE WHEN new.state = 'granted' THEN now() END
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
                AS new (environment, transaction_id, state, reason, account)
            WHERE orders.environment = new.environment AND orders.transaction_id = new.transaction_id
                AND orders.state = 'parked'
            RETURNING orders.environment, orders.transaction_id
            """,
            [
                .textArray(decisions.map(\.key.environment.rawValue)), .textArray(decisions.map(\.key.transactionId)),
                .textArray(decisions.map(\.decision.state.rawValue)),
                .textArray(decisions.map(\.decision.reason?.rawValue)),
                .textArray(decisions.map(\.decision.account)),
            ])
        return try OrderStore.keys(result)
    }

    /// The submissions that are parked because of these orders, with the order each waits for and their account.
    ///
    /// - Throws: `PostgresError`.
    public static func parkedSubmissions(
        of keys: [OrderKey], on connection: PostgresConnection
    ) async throws -> [(id: String, account: String, key: OrderKey)] {
        guard !keys.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT s.id, s.account, l.environment, l.transaction_id
            FROM unnest($1::text[], $2::text[]) AS asked (environment, transaction_id)
            JOIN submission_transactions l USING (environment, transaction_id)
            JOIN submissions s ON s.id = l.submission_id AND s.state = 'parked'
            """,
            [.textArray(keys.map(\.environment.rawValue)), .textArray(keys.map(\.transactionId))])
        return try result.rows.compactMap { row in
            guard let key = try OrderStore.key(row) else { return nil }
            return (try row.decode("id"), try row.decode("account"), key)
        }
    }
}
