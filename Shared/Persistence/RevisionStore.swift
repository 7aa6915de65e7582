import Foundation
import Messages
public import Postgres
public import PurchaseModel

/// Rows of `orders` that are somebody's, or were taken back: what Apple signed later changes them.
public enum RevisionStore {
    /// An order as it is kept.
    public struct Kept: Sendable {
        /// Its key.
        public let key: OrderKey
        /// Granted, revoked, or parked with an account.
        public let state: OrderState
        /// Why it is not granted.
        public let reason: ReasonCode?
        /// Whose it is; nil only for orders that were taken back before anybody claimed them.
        public let account: String?
        /// Whether it was granted once, also where it is taken back now.
        public let wasGranted: Bool
        /// What is known of it.
        public let transaction: PurchasedTransaction
    }

    /// What becomes of an order.
    public struct Revision: Sendable {
        /// The order; locked before by ``lock(_:on:)``.
        public let key: OrderKey
        /// What is known of it now.
        public let transaction: PurchasedTransaction
        /// Its state.
        public let state: OrderState
        /// Why it is not granted.
        public let reason: ReasonCode?
        /// Whose it is.
        public let account: String?
        /// The decision by which it is granted for the first time; nil for everything else.
        public let grant: OrderDecision?

        /// Says what becomes of it.
        public init(
            key: OrderKey, transaction: PurchasedTransaction, state: OrderState, reason: ReasonCode?, account: String?,
            grant: OrderDecision?
        ) {
            self.key = key
            self.transaction = transaction
            self.state = state
            self.reason = reason
            self.account = account
            self.grant = grant
        }
    }

    /// Those of the orders that are kept otherwise than it is said here; read without a lock.
    ///
    /// An order that was said exactly so before costs one look by its key, and nothing is sent back. One that was taken
    /// back while it was nobody's is among them always: it may be claimed now.
    ///
    /// - Throws: `PostgresError`.
    public static func differing(
        from stated: [(key: OrderKey, transaction: PurchasedTransaction)], on connection: PostgresConnection
    ) async throws -> [Kept] {
        guard !stated.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT o.environment, o.transaction_id, o.state, o.reason, o.account, o.transaction,
                o.granted_at IS NOT NULL AS was_granted
            FROM unnest($1::text[], $2::text[], $3::jsonb[]) AS stated (environment, transaction_id, transaction)
            JOIN orders o USING (environment, transaction_id)
            WHERE (o.account IS NOT NULL OR o.state = 'revoked')
                AND (o.transaction <> stated.transaction OR o.account IS NULL)
            """,
            keyColumns(stated.map(\.key)) + [.jsonbArray(try stated.map { try OrderStore.body($0.transaction) })])
        return try result.rows.compactMap(kept)
    }

    /// Locks orders in the order of their keys, in the caller's transaction.
    ///
    /// - Throws: `PostgresError`.
    public static func lock(_ keys: [OrderKey], on connection: PostgresConnection) async throws -> [Kept] {
        guard !keys.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT environment, transaction_id, state, reason, account, transaction,
                granted_at IS NOT NULL AS was_granted
            FROM orders
            WHERE (environment, transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
                AND (account IS NOT NULL OR state = 'revoked')
            ORDER BY environment, transaction_id
            FOR UPDATE
            """, keyColumns(keys))
        return try result.rows.compactMap(kept)
    }

    /// Writes what became of orders, in the caller's transaction.
    ///
    /// The time of the first grant stays through a refund and its reversal; that of the refund goes with it.
    ///
    /// - Throws: `PostgresError`.
    public static func write(_ revisions: [Revision], on connection: PostgresConnection) async throws {
        guard !revisions.isEmpty else { return }
        let transactions = revisions.map(\.transaction)
        _ = try await connection.query(
            """
            UPDATE orders o SET state = new.state, reason = new.reason, account = new.account,
                product_type = new.product_type, purchase_date = new.purchase_date, expires_date = new.expires_date,
                revocation_date = new.revocation_date, revocation_type = new.revocation_type,
                revocation_percentage = new.revocation_percentage, signed_date = new.signed_date,
                app_account_token = new.app_account_token, price_milliunits = new.price_milliunits,
                currency = new.currency, storefront = new.storefront, test_purchase = new.test_purchase,
                ownership = new.ownership, original_purchase_date = new.original_purchase_date,
                app_transaction_id = new.app_transaction_id, transaction = new.transaction,
                revoked_at = CASE WHEN new.state = 'revoked' THEN coalesce(o.revoked_at, now()) END,
                granted_at = CASE WHEN new.is_grant THEN now() ELSE o.granted_at END,
                catalogue_version = CASE WHEN new.is_grant THEN new.catalogue_version ELSE o.catalogue_version END,
                is_price_expected = CASE WHEN new.is_grant THEN new.is_price_expected ELSE o.is_price_expected END
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
                $8::timestamptz[], $9::timestamptz[], $10::text[], $11::int8[], $12::timestamptz[], $13::uuid[],
                $14::int8[], $15::text[], $16::text[], $17::text[], $18::text[], $19::timestamptz[], $20::text[],
                $21::jsonb[], $22::bool[], $23::int8[], $24::bool[])
                AS new (environment, transaction_id, state, reason, account, product_type, purchase_date, expires_date,
                    revocation_date, revocation_type, revocation_percentage, signed_date, app_account_token,
                    price_milliunits, currency, storefront, test_purchase, ownership, original_purchase_date,
                    app_transaction_id, transaction, is_grant, catalogue_version, is_price_expected)
            WHERE (o.environment, o.transaction_id) = (new.environment, new.transaction_id)
            """,
            keyColumns(revisions.map(\.key)) + [
                .textArray(revisions.map(\.state.rawValue)), .textArray(revisions.map(\.reason?.rawValue)),
                .textArray(revisions.map(\.account)), .textArray(transactions.map(\.productType.rawValue)),
                .timestamptzArray(transactions.map(\.purchaseDate)),
                .timestamptzArray(transactions.map(\.expiresDate)),
                .timestamptzArray(transactions.map(\.revocationDate)),
                .textArray(transactions.map(\.revocationType)), .int8Array(transactions.map(\.revocationPercentage)),
                .timestamptzArray(transactions.map(\.signedDate)), .uuidArray(transactions.map(\.appAccountToken)),
                .int8Array(transactions.map(\.priceMilliunits)), .textArray(transactions.map(\.currency)),
                .textArray(transactions.map(\.storefront)),
                .textArray(revisions.map { OrderStore.testPurchase($0.transaction, in: $0.key.environment) }),
                .textArray(transactions.map(\.ownership)), .timestamptzArray(transactions.map(\.originalPurchaseDate)),
                .textArray(transactions.map(\.appTransactionId)), .jsonbArray(try transactions.map(OrderStore.body)),
                .boolArray(revisions.map { $0.grant != nil }), .int8Array(revisions.map(\.grant?.catalogueVersion)),
                .boolArray(revisions.map(\.grant?.isPriceExpected)),
            ])
    }

    private static func kept(_ row: PostgresRow) throws -> Kept? {
        guard let key = try OrderStore.key(row), let state = OrderState(rawValue: try row.decode("state")) else {
            return nil
        }
        let body = try row.decode("transaction", as: String.self)
        return Kept(
            key: key, state: state, reason: try row.decodeIfPresent("reason", as: String.self).map(ReasonCode.init),
            account: try row.decodeIfPresent("account"), wasGranted: try row.decode("was_granted"),
            transaction: try MessageCoding.decode(PurchasedTransaction.self, from: Array(body.utf8)))
    }

    /// `$1` and `$2`.
    static func keyColumns(_ keys: [OrderKey]) -> [PostgresValue] {
        [.textArray(keys.map(\.environment.rawValue)), .textArray(keys.map(\.transactionId))]
    }
}
