package import Foundation
package import Postgres
package import PurchaseModel

/// The table `purchase_intents`: "this account is about to buy this product", each with an appAccountToken of its own.
package struct IntentStore: Sendable {
    /// The time in which an account's intents are counted, in seconds: a day, to the second.
    package static let windowSeconds: Int64 = 86_400
    /// The most orders that are told of an intent; a token that is used once brings one, or a subscription's periods.
    package static let purchasesMaximum = 20
    /// The first half of the keys of advisory locks here.
    private static let lockClass: Int32 = 0x494E_54

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What an account is about to buy.
    package struct Intent: Sendable, Hashable {
        /// Its id, the appAccountToken of the purchase.
        package let id: UUID
        /// The app's bundle id.
        package let app: String
        /// Who is about to buy.
        package let account: String
        /// What; whether the catalogue knows it is not asked.
        package let productId: String
        /// The app's own number of the order, if it gave one.
        package let reference: String?
        /// When it was opened.
        package let createdAt: Date
    }

    /// An order that has an intent's id as its appAccountToken.
    package struct Purchase: Sendable, Hashable {
        /// Where it was bought, and Apple's id of it.
        package let key: OrderKey
        /// How it stands.
        package let state: OrderState
    }

    /// What opening an intent led to.
    package enum Opening: Sendable, Hashable {
        /// It is on disk, and its id is the account's token.
        case opened(Intent)
        /// The account has opened as many as it may; there is room for one more after so many seconds.
        case exhausted(retryAfterSeconds: Int)
    }

    /// Opens an intent, and makes its id a token of the account, in one transaction.
    ///
    /// Requests of one account are let through one at a time, so that many at once get no more than the limit.
    ///
    /// - Parameters:
    ///   - id: a UUID that nothing else has.
    ///   - limit: the most that an account of an app may open within `windowSeconds`; at least 1.
    /// - Throws: `PostgresError`; then nothing was written, or it is unknown and an intent that nobody uses is left.
    @inline(never)
    package func open(
        _ id: UUID, app: String, account: String, productId: String, reference: String? = nil, limit: Int
    ) async throws -> Opening {
        let result = try await pool.withTransaction { connection in
            // The lock has a statement of its own: the next one's snapshot must be of a time when it is held. A control
            // character is in no name, so that no two pairs are one text.
            _ = try await connection.query(
                "SELECT pg_advisory_xact_lock(\(Self.lockClass), hashtext(\(app) || E'\\n' || \(account)))")
            return try await connection.query(Self.opening(id, app, account, productId, reference, limit))
        }
        let opened = try result.map { (createdAt: Date?, roomIn: Int?) in (createdAt: createdAt, roomIn: roomIn) }.first
        guard let createdAt = opened?.createdAt else {
            return .exhausted(retryAfterSeconds: max(1, opened?.roomIn ?? 1))
        }
        return .opened(
            Intent(
                id: id, app: app, account: account, productId: productId, reference: reference, createdAt: createdAt))
    }

    // One step in the index from the newest to the oldest that counts: when that one is a day old, there is room again.
    private static func opening(
        _ id: UUID, _ app: String, _ account: String, _ productId: String, _ reference: String?, _ limit: Int
    ) -> SQL {
        let window = SQL.once(Duration.seconds(windowSeconds))
        return """
            WITH oldest_that_counts AS (
                SELECT created_at FROM purchase_intents
                WHERE account = \(account) AND app = \(app) AND created_at > now() - \(window)
                ORDER BY created_at DESC OFFSET \(limit - 1) LIMIT 1
            ), intent AS (
                INSERT INTO purchase_intents (id, app, account, product_id, reference)
                SELECT \(id), \(app), \(account), \(productId), \(reference)
                WHERE NOT EXISTS (SELECT FROM oldest_that_counts)
                RETURNING id, app, account, created_at
            ), token AS (
                INSERT INTO account_tokens (app, token, account) SELECT app, id, account FROM intent
            )
            SELECT created_at, NULL::int8 AS room_in FROM intent
            UNION ALL
            SELECT NULL, ceil(extract(epoch FROM created_at + \(window) - now()))::int8 FROM oldest_that_counts
            """
    }

    /// An intent of an app, and the orders that were bought with it, the earliest first, at most `purchasesMaximum`.
    ///
    /// - Returns: nil when the app has no such intent.
    /// - Throws: `PostgresError`.
    package func find(_ id: UUID, app: String) async throws -> (intent: Intent, purchases: [Purchase])? {
        let result = try await pool.query(
            """
            SELECT i.account, i.product_id, i.reference, i.created_at, o.environment, o.transaction_id, o.state
            FROM purchase_intents i LEFT JOIN LATERAL (
                SELECT environment, transaction_id, state, purchase_date FROM orders
                WHERE app_account_token = i.id AND app = i.app
                ORDER BY purchase_date, transaction_id LIMIT \(Self.purchasesMaximum)
            ) o ON true
            WHERE i.id = \(id) AND i.app = \(app) ORDER BY o.purchase_date, o.transaction_id
            """)
        let rows = try result.map {
            (
                account: String, productId: String, reference: String?, createdAt: Date, environment: StoreEnvironment?,
                transactionId: String?, state: OrderState?
            ) -> (Intent, Purchase?) in
            let intent = Intent(
                id: id, app: app, account: account, productId: productId, reference: reference, createdAt: createdAt)
            guard let environment, let transactionId, let state else { return (intent, nil) }
            let key = OrderKey(environment: environment, transactionId: transactionId)
            return (intent, Purchase(key: key, state: state))
        }
        return rows.first.map { (intent: $0.0, purchases: rows.compactMap(\.1)) }
    }

    /// The references of intents, with the account that gave each; a token that is no intent's, or one without a reference, is
    /// left out.
    ///
    /// - Throws: `PostgresError`.
    package static func references(
        of tokens: Set<AppToken>, on connection: PostgresConnection
    ) async throws -> [AppToken: (account: Account, reference: String)] {
        guard !tokens.isEmpty else { return [:] }
        let rows = try await connection.query(
            """
            SELECT i.app, i.id, i.account, i.reference
            FROM unnest(\(tokens.map(\.app)), \(tokens.map(\.token))) AS asked (app, id)
            JOIN purchase_intents i USING (id, app) WHERE i.reference IS NOT NULL
            """
        ).map { (app: String, id: UUID, account: Account, reference: String) in
            (AppToken(app: app, token: id), (account: account, reference: reference))
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }
}
