import Messages
public import Postgres
public import PurchaseModel

/// The tables `orders` and `submission_transactions`: one row an Apple transaction, and who named it.
public enum OrderStore {
    /// An order about to be written.
    public struct NewOrder: Sendable {
        /// Its environment; the transaction's own is optional, an order's is not.
        public let environment: StoreEnvironment
        /// What Apple signed.
        public let transaction: PurchasedTransaction
        /// What is to become of it.
        public let decision: OrderDecision
        /// The submission that brought it.
        public let submissionId: String
        /// Follows a purchase from the request to the webhook.
        public let correlationId: String

        /// Makes an order.
        public init(
            environment: StoreEnvironment, transaction: PurchasedTransaction, decision: OrderDecision,
            submissionId: String, correlationId: String
        ) {
            self.environment = environment
            self.transaction = transaction
            self.decision = decision
            self.submissionId = submissionId
            self.correlationId = correlationId
        }

        /// The order's key.
        public var key: OrderKey { OrderKey(environment: environment, transactionId: transaction.transactionId) }
    }

    /// An order as it stands.
    public struct Standing: Sendable {
        /// Granted, parked or revoked.
        public let state: OrderState
        /// Why it is not granted.
        public let reason: ReasonCode?
        /// Whose it is; nil while in doubt.
        public var account: String?
        /// Who may use it, too, by the restore policy `share`.
        public var sharers: Set<String>
        /// Accounts that the restore policy's limit keeps from it; known only to whoever just settled it.
        public var limitedAccounts: Set<String> = []
        /// That no money was paid, and why it was bought; nil for everything else.
        public let testPurchase: TestPurchase?

        /// Says how an order stands.
        public init(
            state: OrderState, reason: ReasonCode?, account: String?, sharers: Set<String> = [],
            testPurchase: TestPurchase? = nil
        ) {
            self.state = state
            self.reason = reason
            self.account = account
            self.sharers = sharers
            self.testPurchase = testPurchase
        }
    }

    /// Writes orders, sorted by key so that concurrent batches cannot dead-lock; a key that exists is left alone.
    ///
    /// - Returns: the keys that are new: only these may be granted.
    /// - Throws: `PostgresError`.
    public static func insert(_ orders: [NewOrder], on connection: PostgresConnection) async throws -> Set<OrderKey> {
        guard !orders.isEmpty else { return [] }
        let sorted = orders.sorted { $0.key < $1.key }
        let transactions = sorted.map(\.transaction)
        let result = try await connection.query(
            """
            INSERT INTO orders (environment, transaction_id, state, reason, account, app, product_id, product_type,
                quantity, original_transaction_id, purchase_date, expires_date, revocation_date, signed_date,
                app_account_token, price_milliunits, currency, storefront, submission_id, correlation_id, transaction,
                test_purchase, catalogue_version, is_price_expected, ownership, original_purchase_date,
                app_transaction_id, revocation_type, revocation_percentage, granted_at, revoked_at)
            SELECT *, CASE WHEN state = 'granted' THEN now() END, CASE WHEN state = 'revoked' THEN now() END
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                $8::text[], $9::int4[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[],
                $14::timestamptz[], $15::uuid[], $16::int8[], $17::text[], $18::text[], $19::text[], $20::text[],
                $21::jsonb[], $22::text[], $23::int8[], $24::bool[], $25::text[], $26::timestamptz[], $27::text[],
                $28::text[], $29::int8[]) AS new (environment, transaction_id, state)
            ON CONFLICT (environment, transaction_id) DO NOTHING
            RETURNING environment, transaction_id
            """,
            [
                .textArray(sorted.map(\.environment.rawValue)), .textArray(transactions.map(\.transactionId)),
                .textArray(sorted.map(\.decision.state.rawValue)),
                .textArray(sorted.map(\.decision.reason?.rawValue)), .textArray(sorted.map(\.decision.account)),
                .textArray(transactions.map(\.bundleId)), .textArray(transactions.map(\.productId)),
                .textArray(transactions.map(\.productType.rawValue)),
                .int4Array(transactions.map { Int32(clamping: $0.quantity) }),
                .textArray(transactions.map(\.originalTransactionId)),
                .timestamptzArray(transactions.map(\.purchaseDate)),
                .timestamptzArray(transactions.map(\.expiresDate)),
                .timestamptzArray(transactions.map(\.revocationDate)),
                .timestamptzArray(transactions.map(\.signedDate)), .uuidArray(transactions.map(\.appAccountToken)),
                .int8Array(transactions.map(\.priceMilliunits)), .textArray(transactions.map(\.currency)),
                .textArray(transactions.map(\.storefront)), .textArray(sorted.map(\.submissionId)),
                .textArray(sorted.map(\.correlationId)),
                .jsonbArray(try transactions.map(body)),
                .textArray(sorted.map { testPurchase($0.transaction, in: $0.environment) }),
                .int8Array(sorted.map(\.decision.catalogueVersion)), .boolArray(sorted.map(\.decision.isPriceExpected)),
                .textArray(transactions.map(\.ownership)),
                .timestamptzArray(transactions.map(\.originalPurchaseDate)),
                .textArray(transactions.map(\.appTransactionId)),
                .textArray(transactions.map(\.revocationType)),
                .int8Array(transactions.map(\.revocationPercentage)),
            ])
        return try keys(result)
    }

    /// What is kept of a transaction beside its columns.
    static func body(_ transaction: PurchasedTransaction) throws -> String {
        String(decoding: try MessageCoding.encode(transaction), as: UTF8.self)
    }

    /// The mark of a purchase that nobody paid for; in production there is none, whatever a message says.
    static func testPurchase(_ transaction: PurchasedTransaction, in environment: StoreEnvironment) -> String? {
        environment == .sandbox ? transaction.testPurchase?.rawValue : nil
    }

    /// How orders stand, by key; read after `insert` found them there.
    ///
    /// - Throws: `PostgresError`.
    public static func standings(
        of keys: [OrderKey], on connection: PostgresConnection
    ) async throws -> [OrderKey: Standing] {
        guard !keys.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT o.environment, o.transaction_id, o.state, o.reason, o.account, o.test_purchase,
                ARRAY(SELECT s.account FROM lineage_shares s
                    WHERE s.environment = o.environment AND s.original_transaction_id = o.original_transaction_id
                        AND o.product_type <> 'consumable') AS sharers
            FROM unnest($1::text[], $2::text[]) AS asked (environment, transaction_id)
            JOIN orders o USING (environment, transaction_id)
            """,
            [.textArray(keys.map(\.environment.rawValue)), .textArray(keys.map(\.transactionId))])
        var standings: [OrderKey: Standing] = [:]
        for row in result.rows {
            guard let key = try key(row), let state = OrderState(rawValue: try row.decode("state")) else { continue }
            standings[key] = Standing(
                state: state, reason: try row.decodeIfPresent("reason", as: String.self).map(ReasonCode.init),
                account: try row.decodeIfPresent("account"),
                sharers: Set(try row.decode("sharers", as: [String].self)),
                testPurchase: try row.decodeIfPresent("test_purchase", as: String.self).map {
                    TestPurchase(rawValue: $0)
                })
        }
        return standings
    }

    /// Remembers which submission waits for which orders, so that it hears of a later grant.
    ///
    /// - Throws: `PostgresError`.
    public static func link(
        _ links: [(key: OrderKey, submissionId: String)], on connection: PostgresConnection
    ) async throws {
        guard !links.isEmpty else { return }
        _ = try await connection.query(
            """
            INSERT INTO submission_transactions (environment, transaction_id, submission_id)
            SELECT environment, transaction_id, submission_id
            FROM unnest($1::text[], $2::text[], $3::text[]) AS new (environment, transaction_id, submission_id)
            WHERE EXISTS (SELECT FROM submissions WHERE id = new.submission_id)
            ORDER BY 1, 2, 3
            ON CONFLICT DO NOTHING
            """,
            [
                .textArray(links.map(\.key.environment.rawValue)), .textArray(links.map(\.key.transactionId)),
                .textArray(links.map(\.submissionId)),
            ])
    }

    static func keys(_ result: PostgresResult) throws -> Set<OrderKey> {
        var keys: Set<OrderKey> = []
        for row in result.rows {
            if let key = try key(row) { keys.insert(key) }
        }
        return keys
    }

    static func key(_ row: PostgresRow) throws -> OrderKey? {
        guard let environment = StoreEnvironment(rawValue: try row.decode("environment")) else { return nil }
        return OrderKey(environment: environment, transactionId: try row.decode("transaction_id"))
    }
}
