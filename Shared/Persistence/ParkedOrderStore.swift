import Foundation
import Messages
public import Postgres
public import PurchaseModel

/// Parked rows of `orders`: held back for a doubt, until the catalogue knows the product, somebody the token, or
/// somebody names them as his own.
public enum ParkedOrderStore {
    /// A parked order, locked.
    public struct Parked: Sendable {
        /// Its key.
        public let key: OrderKey
        /// What Apple said of it.
        public let transaction: PurchasedTransaction
        /// Why it is parked.
        public let reason: ReasonCode?
        /// Whose it is by possession; nil when nobody claimed it, or only its token can tell.
        public let account: String?
        /// Follows a purchase from the request to the webhook.
        public let correlationId: String
    }

    /// An order that was nobody's, with what is known of it now.
    public struct Restated: Sendable {
        /// The order's key.
        public let key: OrderKey
        /// The better statement; see fulfillment's README for which is better.
        public let transaction: PurchasedTransaction
        /// What becomes of it.
        public let decision: OrderDecision
        /// The submission that claimed it, or knew more.
        public let submissionId: String
        /// Follows a purchase from that submission's request to the webhook.
        public let correlationId: String

        /// Says what is known now.
        public init(
            key: OrderKey, transaction: PurchasedTransaction, decision: OrderDecision, submissionId: String,
            correlationId: String
        ) {
            self.key = key
            self.transaction = transaction
            self.decision = decision
            self.submissionId = submissionId
            self.correlationId = correlationId
        }
    }

    /// Takes parked orders that may be granted now, locked in the caller's transaction.
    ///
    /// Those are orders of products the catalogue knows, and orders whose token was registered since. An order that
    /// nobody claimed is not among them: only a proof can claim it.
    ///
    /// - Parameters:
    ///   - products: every product that the catalogue knows.
    ///   - limit: the most to take.
    /// - Throws: `PostgresError`.
    public static func claim(
        products: [(app: String, productId: String)], limit: Int, on connection: PostgresConnection
    ) async throws -> [Parked] {
        let result = try await connection.query(
            """
            SELECT o.environment, o.transaction_id, o.reason, o.account, o.correlation_id, o.transaction
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
        return try parked(result)
    }

    /// Locks those of the orders that are parked, in the caller's transaction: none of them changes until its end.
    ///
    /// They are locked in the order of their keys, so that concurrent batches cannot dead-lock. An order that another
    /// batch took out of `parked` meanwhile is not among them.
    ///
    /// - Throws: `PostgresError`.
    public static func lock(_ keys: [OrderKey], on connection: PostgresConnection) async throws -> [Parked] {
        guard !keys.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT environment, transaction_id, reason, account, correlation_id, transaction FROM orders
            WHERE state = 'parked'
                AND (environment, transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
            ORDER BY environment, transaction_id
            FOR UPDATE
            """, [.textArray(keys.map(\.environment.rawValue)), .textArray(keys.map(\.transactionId))])
        return try parked(result)
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
                catalogue_version = new.catalogue_version, is_price_expected = new.is_price_expected,
                granted_at = CASE WHEN new.state = 'granted' THEN now() END
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int8[], $7::bool[])
                AS new (environment, transaction_id, state, reason, account, catalogue_version, is_price_expected)
            WHERE orders.environment = new.environment AND orders.transaction_id = new.transaction_id
                AND orders.state = 'parked'
            RETURNING orders.environment, orders.transaction_id
            """,
            [
                .textArray(decisions.map(\.key.environment.rawValue)), .textArray(decisions.map(\.key.transactionId)),
                .textArray(decisions.map(\.decision.state.rawValue)),
                .textArray(decisions.map(\.decision.reason?.rawValue)),
                .textArray(decisions.map(\.decision.account)),
                .int8Array(decisions.map(\.decision.catalogueVersion)),
                .boolArray(decisions.map(\.decision.isPriceExpected)),
            ])
        return try OrderStore.keys(result)
    }

    /// Sets the better statement and the decision of orders that were nobody's, locked before by ``lock(_:on:)``.
    ///
    /// - Returns: the keys that were parked without an account until now: only these may be granted.
    /// - Throws: `PostgresError`.
    public static func restate(
        _ orders: [Restated], on connection: PostgresConnection
    ) async throws -> Set<OrderKey> {
        guard !orders.isEmpty else { return [] }
        let transactions = orders.map(\.transaction)
        let result = try await connection.query(
            """
            UPDATE orders SET state = new.state, reason = new.reason, account = new.account,
                product_type = new.product_type, expires_date = new.expires_date,
                revocation_date = new.revocation_date, signed_date = new.signed_date,
                app_account_token = new.app_account_token, price_milliunits = new.price_milliunits,
                currency = new.currency, storefront = new.storefront, submission_id = new.submission_id,
                correlation_id = new.correlation_id, transaction = new.transaction, test_purchase = new.test_purchase,
                catalogue_version = new.catalogue_version, is_price_expected = new.is_price_expected,
                granted_at = CASE WHEN new.state = 'granted' THEN now() END
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
                $8::timestamptz[], $9::timestamptz[], $10::uuid[], $11::int8[], $12::text[], $13::text[], $14::text[],
                $15::text[], $16::jsonb[], $17::text[], $18::int8[], $19::bool[])
                AS new (environment, transaction_id, state, reason, account, product_type, expires_date,
                    revocation_date, signed_date, app_account_token, price_milliunits, currency, storefront,
                    submission_id, correlation_id, transaction, test_purchase, catalogue_version, is_price_expected)
            WHERE orders.environment = new.environment AND orders.transaction_id = new.transaction_id
                AND orders.state = 'parked' AND orders.account IS NULL
            RETURNING orders.environment, orders.transaction_id
            """,
            [
                .textArray(orders.map(\.key.environment.rawValue)), .textArray(orders.map(\.key.transactionId)),
                .textArray(orders.map(\.decision.state.rawValue)),
                .textArray(orders.map(\.decision.reason?.rawValue)), .textArray(orders.map(\.decision.account)),
                .textArray(transactions.map(\.productType.rawValue)),
                .timestamptzArray(transactions.map(\.expiresDate)),
                .timestamptzArray(transactions.map(\.revocationDate)),
                .timestamptzArray(transactions.map(\.signedDate)), .uuidArray(transactions.map(\.appAccountToken)),
                .int8Array(transactions.map(\.priceMilliunits)), .textArray(transactions.map(\.currency)),
                .textArray(transactions.map(\.storefront)), .textArray(orders.map(\.submissionId)),
                .textArray(orders.map(\.correlationId)), .jsonbArray(try transactions.map(OrderStore.body)),
                .textArray(orders.map { OrderStore.testPurchase($0.transaction, in: $0.key.environment) }),
                .int8Array(orders.map(\.decision.catalogueVersion)), .boolArray(orders.map(\.decision.isPriceExpected)),
            ])
        return try OrderStore.keys(result)
    }

    private static func parked(_ result: PostgresResult) throws -> [Parked] {
        try result.rows.compactMap { row in
            guard let key = try OrderStore.key(row) else { return nil }
            let body = try row.decode("transaction", as: String.self)
            return Parked(
                key: key, transaction: try MessageCoding.decode(PurchasedTransaction.self, from: Array(body.utf8)),
                reason: try row.decodeIfPresent("reason", as: String.self).map(ReasonCode.init),
                account: try row.decodeIfPresent("account"), correlationId: try row.decode("correlation_id"))
        }
    }
}
