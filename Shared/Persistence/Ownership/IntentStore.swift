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
                "SELECT pg_advisory_xact_lock($1, hashtext($2 || E'\\n' || $3))",
                [.int4(Self.lockClass), .text(app), .text(account)])
            return try await connection.query(
                Self.openStatement,
                [
                    .uuid(id), .text(app), .text(account), .text(productId), .int8(Int64(limit)),
                    .int8(Self.windowSeconds), .text(reference),
                ])
        }
        guard let row = result.rows.first, let createdAt = try row.decodeIfPresent("created_at", as: Date.self) else {
            let seconds = try result.rows.first?.decodeIfPresent("room_in", as: Int64.self) ?? 1
            return .exhausted(retryAfterSeconds: Int(max(1, seconds)))
        }
        return .opened(
            Intent(
                id: id, app: app, account: account, productId: productId, reference: reference, createdAt: createdAt))
    }

    // One step in the index from the newest to the oldest that counts: when that one is a day old, there is room again.
    private static let openStatement = """
        WITH oldest_that_counts AS (
            SELECT created_at FROM purchase_intents
            WHERE account = $3 AND app = $2 AND created_at > now() - $6 * interval '1 second'
            ORDER BY created_at DESC OFFSET $5 - 1 LIMIT 1
        ), intent AS (
            INSERT INTO purchase_intents (id, app, account, product_id, reference)
            SELECT $1::uuid, $2::text, $3::text, $4::text, $7::text WHERE NOT EXISTS (SELECT FROM oldest_that_counts)
            RETURNING id, app, account, created_at
        ), token AS (
            INSERT INTO account_tokens (app, token, account) SELECT app, id, account FROM intent
        )
        SELECT created_at, NULL::int8 AS room_in FROM intent
        UNION ALL
        SELECT NULL, ceil(extract(epoch FROM created_at + $6 * interval '1 second' - now()))::int8
        FROM oldest_that_counts
        """

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
                ORDER BY purchase_date, transaction_id LIMIT $3
            ) o ON true
            WHERE i.id = $1 AND i.app = $2 ORDER BY o.purchase_date, o.transaction_id
            """, [.uuid(id), .text(app), .int8(Int64(Self.purchasesMaximum))])
        guard let first = result.rows.first else { return nil }
        let intent = Intent(
            id: id, app: app, account: try first.decode("account"), productId: try first.decode("product_id"),
            reference: try first.decodeIfPresent("reference"), createdAt: try first.decode("created_at"))
        let purchases = try result.rows.compactMap { row -> Purchase? in
            guard let environment = try row.decodeIfPresent("environment", as: String.self),
                let environment = StoreEnvironment(rawValue: environment),
                let state = OrderState(rawValue: try row.decode("state", as: String.self))
            else { return nil }
            return Purchase(
                key: OrderKey(environment: environment, transactionId: try row.decode("transaction_id")), state: state)
        }
        return (intent, purchases)
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
