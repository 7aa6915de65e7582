public import Foundation
import Messages
public import Postgres
public import PurchaseModel

/// Rows of `orders` that are there already, locked; above all parked ones: held back for a doubt, until the catalogue knows
/// the product, somebody the token, or somebody names them as his own.
public enum ParkedOrderStore {
    /// An order as it stands, locked.
    public struct Held: Sendable {
        /// Its key.
        public let key: OrderKey
        /// The lineage that it belongs to.
        public let lineage: LineageKey
        /// How it stands.
        public let standing: OrderStore.Standing
        /// The submission that brought it, or claimed it later.
        public let submissionId: String
        /// Follows a purchase from the request to the webhook.
        public let correlationId: String
        /// Its appAccountToken.
        public let token: UUID?
        /// What Apple said of it; nil unless it is parked.
        public let transaction: PurchasedTransaction?

        /// Whether it is parked, and no account known.
        public var isNobodys: Bool { standing.state == .parked && standing.account == nil }
    }

    /// A parked order that may be granted now; not locked.
    public struct Candidate: Sendable {
        /// Its key.
        public let key: OrderKey
        /// The lineage that it belongs to.
        public let lineage: LineageKey
        /// The app's bundle id.
        public let app: String
        /// The product.
        public let productId: String
        /// Its type by Apple, or unstated.
        public let productType: ProductType
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

    /// Parked orders that may be granted now, sorted by key; not locked, since their lineages are locked before.
    ///
    /// Those are orders of products the catalogue knows by now, or knows better: with the type that Apple says, or with an
    /// amount that an order may have; orders whose token was registered since; and those that an operator claims. An order
    /// that nobody claimed is not among them: only a proof can claim it.
    ///
    /// - Parameters:
    ///   - products: every product that the catalogue knows.
    ///   - claimed: what an operator claims.
    ///   - limit: the most to name beside those.
    /// - Throws: `PostgresError`.
    public static func candidates(
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
        return try result.rows.compactMap { row in
            guard let key = try OrderStore.key(row), let lineage = try LineageStore.key(row) else { return nil }
            return Candidate(
                key: key, lineage: lineage, app: try row.decode("app"), productId: try row.decode("product_id"),
                productType: ProductType(rawValue: try row.decode("product_type")))
        }
    }

    /// Locks parked orders, and every order of lineages that the caller's transaction holds: none changes until its end.
    ///
    /// They are locked in the order of their keys, so that concurrent batches cannot dead-lock.
    ///
    /// - Parameters:
    ///   - keys: those of them that are neither parked nor nobody's and taken back, or not any more, are left alone.
    ///   - lineages: all of their orders, whatever their state.
    /// - Returns: what was locked, as it stands.
    /// - Throws: `PostgresError`.
    public static func lock(
        _ keys: [OrderKey], lineages: [LineageKey] = [], on connection: PostgresConnection
    ) async throws -> [Held] {
        guard !keys.isEmpty || !lineages.isEmpty else { return [] }
        // What was taken back before anybody claimed it may be parked by the time that its lock is had.
        var isWanted = "state = 'parked' OR state = 'revoked' AND account IS NULL"
        var wanted = "SELECT * FROM unnest($1::text[], $2::text[])"
        var parameters: [PostgresValue] = [
            .textArray(keys.map(\.environment.rawValue)), .textArray(keys.map(\.transactionId)),
        ]
        if !lineages.isEmpty {
            wanted += """
                 UNION SELECT o.environment, o.transaction_id
                FROM unnest($3::text[], $4::text[]) AS asked (environment, original_transaction_id)
                JOIN orders o USING (environment, original_transaction_id) WHERE o.product_type <> 'consumable'
                """
            isWanted += """
                 OR (environment, original_transaction_id) IN (SELECT * FROM unnest($3::text[], $4::text[]))
                """
            parameters += [
                .textArray(lineages.map(\.environment.rawValue)), .textArray(lineages.map(\.originalTransactionId)),
            ]
        }
        let result = try await connection.query(
            """
            SELECT \(heldColumns) FROM orders WHERE (environment, transaction_id) IN (\(wanted))
                AND (\(isWanted))
            ORDER BY environment, transaction_id
            FOR UPDATE
            """, parameters)
        return try held(result)
    }

    /// Locks those of the orders that nobody else holds; never waits.
    ///
    /// - Returns: those that were locked and are parked.
    /// - Throws: `PostgresError`.
    public static func lockFree(_ keys: [OrderKey], on connection: PostgresConnection) async throws -> [Held] {
        guard !keys.isEmpty else { return [] }
        let result = try await connection.query(
            """
            SELECT \(heldColumns) FROM orders
            WHERE state = 'parked'
                AND (environment, transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
            ORDER BY environment, transaction_id
            FOR UPDATE SKIP LOCKED
            """, [.textArray(keys.map(\.environment.rawValue)), .textArray(keys.map(\.transactionId))])
        return try held(result)
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
                granted_at = CASE WHEN new.state = 'granted' THEN now() END,
                revoked_at = CASE WHEN new.state = 'revoked' THEN now() END
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

    /// Sets the better statement and the decision of orders that were nobody's, locked before by ``lock(_:lineages:on:)``.
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
                ownership = new.ownership, original_purchase_date = new.original_purchase_date,
                app_transaction_id = new.app_transaction_id, revocation_type = new.revocation_type,
                revocation_percentage = new.revocation_percentage,
                granted_at = CASE WHEN new.state = 'granted' THEN now() END,
                revoked_at = CASE WHEN new.state = 'revoked' THEN now() END
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
                $8::timestamptz[], $9::timestamptz[], $10::uuid[], $11::int8[], $12::text[], $13::text[], $14::text[],
                $15::text[], $16::jsonb[], $17::text[], $18::int8[], $19::bool[], $20::text[], $21::timestamptz[],
                $22::text[], $23::text[], $24::int8[])
                AS new (environment, transaction_id, state, reason, account, product_type, expires_date,
                    revocation_date, signed_date, app_account_token, price_milliunits, currency, storefront,
                    submission_id, correlation_id, transaction, test_purchase, catalogue_version, is_price_expected,
                    ownership, original_purchase_date, app_transaction_id, revocation_type, revocation_percentage)
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
                .textArray(transactions.map(\.ownership)),
                .timestamptzArray(transactions.map(\.originalPurchaseDate)),
                .textArray(transactions.map(\.appTransactionId)), .textArray(transactions.map(\.revocationType)),
                .int8Array(transactions.map(\.revocationPercentage)),
            ])
        return try OrderStore.keys(result)
    }

    private static let heldColumns = """
        environment, transaction_id, original_transaction_id, state, reason, account, test_purchase, submission_id,
        correlation_id, app_account_token, CASE WHEN state = 'parked' THEN transaction END AS transaction
        """

    private static func held(_ result: PostgresResult) throws -> [Held] {
        try result.rows.compactMap { row in
            guard let key = try OrderStore.key(row), let lineage = try LineageStore.key(row),
                let state = OrderState(rawValue: try row.decode("state"))
            else { return nil }
            let standing = OrderStore.Standing(
                state: state, reason: try row.decodeIfPresent("reason", as: String.self).map(ReasonCode.init),
                account: try row.decodeIfPresent("account"),
                testPurchase: try row.decodeIfPresent("test_purchase", as: String.self).map {
                    TestPurchase(rawValue: $0)
                })
            return Held(
                key: key, lineage: lineage, standing: standing, submissionId: try row.decode("submission_id"),
                correlationId: try row.decode("correlation_id"), token: try row.decodeIfPresent("app_account_token"),
                transaction: try row.decodeIfPresent("transaction", as: String.self).map {
                    try MessageCoding.decode(PurchasedTransaction.self, from: Array($0.utf8))
                })
        }
    }
}
