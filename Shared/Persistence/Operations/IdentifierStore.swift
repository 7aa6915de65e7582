import Foundation
package import Postgres
package import PurchaseModel

/// What an id means that an operator was given: which tables know it, and where its story begins.
package struct IdentifierStore: Sendable {
    /// What kind of id it is.
    package enum Kind: String, Codable, Sendable, CaseIterable, PostgresDecodable {
        case account
        case submission
        case event
        case transaction
        /// The first transaction of a subscription, or of something that is bought once.
        case originalTransaction = "original_transaction"
        /// Apple's id of one period, or of one purchase, across its transaction ids.
        case webOrderLineItem = "web_order_line_item"
        /// An intent to buy, which stands in the purchase as its appAccountToken; also by the app's own number of the order.
        case intent
        case accountToken = "account_token"
        /// Apple's UUID of a server notification.
        case notification
        /// A request that posted something: its `x-request-id`, or the trace id of its `traceparent`.
        case request
        /// A number that an account posted and that is in no order: a bare transaction id, or the order id of an e-mail.
        case postedNumber = "posted_number"
        /// A request to forget an account.
        case forgetRequest = "forget_request"
        /// A request of a backend to have Apple asked about a customer.
        case sweepRequest = "sweep_request"
        case spend
    }

    /// One thing that the id is.
    package struct Meaning: Sendable, Hashable {
        package let kind: Kind
        package let environment: String?
        package let app: String?
        /// Whose it is.
        package let account: Account?
        /// The id by which `InspectionStore` finds the story; nil where there is none but the account's.
        package let leadsTo: String?
    }

    private enum Limit {
        /// What one kind may lead to: the newest renewals of a subscription, say.
        static let each: Int64 = 20
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// All that the id is, by indexes only.
    ///
    /// - Parameter app: whose ids alone; nil for all apps'.
    /// - Throws: `PostgresError`.
    package func meanings(of id: String, app: String? = nil) async throws -> [Meaning] {
        try await pool.withTransaction { connection in
            try await connection.executeScript(InspectionStore.settings)
            var statements = [Self.rows(id, app), Self.purchases(id, app), Self.accounts(id, app)]
            if let uuid = IntentId.uuid(id) { statements.insert(Self.uuids(uuid, app), at: 2) }
            var meanings: [Meaning] = []
            for statement in statements { meanings += try await connection.query(statement).map(Meaning.init) }
            return meanings
        }
    }

    /// Whether a row is of the app that is asked for.
    private static func isMeant(_ column: SQL, _ app: SQL) -> SQL { "(\(app) IS NULL OR \(column) = \(app))" }

    /// Rows that have the id themselves.
    static func rows(_ id: String, _ app: String?) -> SQL {
        let spend = SpendId.number(id)
        let (id, app) = (SQL.once(id), SQL.once(app))
        let isMeant = Self.isMeant("app", app)
        return """
            SELECT 'submission' AS kind, NULL::text AS environment, app, nullif(account, '') AS account, id AS leads_to
            FROM submissions WHERE id = \(id) AND \(isMeant)
            UNION ALL
            SELECT 'event', environment, app, account, id FROM events WHERE id = \(id) AND \(isMeant)
            UNION ALL
            SELECT 'forget_request', NULL, app, account, NULL FROM forget_requests WHERE id = \(id) AND \(isMeant)
            UNION ALL
            SELECT 'spend', environment, app, account, NULL FROM spends
            WHERE id = \(spend) AND \(isMeant)
            UNION ALL
            (SELECT 'intent', o.environment, i.app, i.account, o.transaction_id
            FROM purchase_intents i LEFT JOIN orders o ON o.app_account_token = i.id AND o.app = i.app
            WHERE i.reference = \(id) AND \(Self.isMeant("i.app", app)) ORDER BY i.created_at DESC LIMIT \(Limit.each))
            UNION ALL
            (SELECT 'sweep_request', split_part(subject, '/', 1), app, NULL, split_part(subject, '/', 2)
            FROM sweep_requests CROSS JOIN LATERAL unnest(subjects) AS subject
            WHERE id = \(id) AND \(isMeant) LIMIT \(Limit.each))
            UNION ALL
            (SELECT 'request', NULL, app, nullif(account, ''), id FROM submissions
            WHERE correlation_id = \(id) AND \(isMeant) LIMIT \(Limit.each))
            UNION ALL
            (SELECT 'posted_number', NULL, app, nullif(account, ''), id FROM submissions
            WHERE coalesce(named_transaction_id, partition_key) = \(id) AND \(isMeant)
                AND (named_transaction_id IS NOT NULL OR kind IN ('transaction_id', 'order_id'))
                AND NOT EXISTS (SELECT FROM order_transactions
                    WHERE environment IN ('production', 'sandbox') AND transaction_id = \(id))
            ORDER BY received_at DESC LIMIT \(Limit.each))
            """
    }

    /// Apple's ids of purchases.
    static func purchases(_ id: String, _ app: String?) -> SQL {
        let (id, app) = (SQL.once(id), SQL.once(app))
        let isMeant = Self.isMeant("o.app", app)
        return """
            WITH RECURSIVE environments AS (SELECT unnest(ARRAY['production', 'sandbox']) AS environment),
            apps AS (
                (SELECT environment, (SELECT app FROM orders o WHERE o.environment = e.environment
                        AND web_order_line_item_id IS NOT NULL ORDER BY app LIMIT 1) AS app FROM environments e)
                UNION ALL
                SELECT a.environment, (SELECT app FROM orders o WHERE o.environment = a.environment AND o.app > a.app
                    AND web_order_line_item_id IS NOT NULL ORDER BY app LIMIT 1)
                FROM apps a WHERE a.app IS NOT NULL
            )
            SELECT 'transaction' AS kind, o.environment, o.app, o.account, i.transaction_id AS leads_to
            FROM order_transactions i JOIN orders o
                ON (o.environment, o.transaction_id) = (i.environment, i.order_transaction_id)
            WHERE i.environment IN ('production', 'sandbox') AND i.transaction_id = \(id) AND \(isMeant)
            UNION ALL
            (SELECT 'original_transaction', o.environment, o.app, o.account, o.transaction_id
            FROM orders o JOIN lineages USING (environment, original_transaction_id)
            WHERE environment IN ('production', 'sandbox') AND original_transaction_id = \(id) AND \(isMeant)
            ORDER BY o.purchase_date DESC LIMIT \(Limit.each))
            UNION ALL
            (SELECT 'original_transaction', o.environment, o.app, o.account, o.transaction_id
            FROM lineage_members m JOIN orders o
                ON (o.environment, o.original_transaction_id) = (m.environment, m.lineage_id)
            WHERE m.environment IN ('production', 'sandbox') AND m.original_transaction_id = \(id) AND \(isMeant)
            ORDER BY o.purchase_date DESC LIMIT \(Limit.each))
            UNION ALL
            (SELECT 'web_order_line_item', o.environment, o.app, o.account, o.transaction_id
            FROM apps a JOIN orders o ON (o.environment, o.app) = (a.environment, a.app)
            WHERE o.web_order_line_item_id = \(id) AND \(isMeant) LIMIT \(Limit.each))
            """
    }

    /// What has the id as a UUID.
    ///
    /// Tokens and notifications are found by their app first, of which there are few.
    static func uuids(_ uuid: UUID, _ app: String?) -> SQL {
        let (id, app) = (SQL.once(uuid), SQL.once(app))
        let isMeant = Self.isMeant("app", app)
        return """
            WITH RECURSIVE token_apps AS (
                (SELECT app FROM account_tokens ORDER BY app LIMIT 1)
                UNION ALL
                SELECT (SELECT t.app FROM account_tokens t WHERE t.app > a.app ORDER BY t.app LIMIT 1)
                FROM token_apps a WHERE a.app IS NOT NULL
            ), notification_apps AS (
                (SELECT app FROM apple_notifications ORDER BY app LIMIT 1)
                UNION ALL
                SELECT (SELECT n.app FROM apple_notifications n WHERE n.app > a.app ORDER BY n.app LIMIT 1)
                FROM notification_apps a WHERE a.app IS NOT NULL
            ), bought AS (
                SELECT environment, app, account, transaction_id FROM orders
                WHERE app_account_token = \(id) AND app_account_token IS NOT NULL AND \(isMeant)
                ORDER BY purchase_date DESC LIMIT \(Limit.each)
            ), intents AS (
                SELECT app, account FROM purchase_intents WHERE id = \(id) AND \(isMeant)
            ), tokens AS (
                SELECT t.app, t.account FROM token_apps a JOIN account_tokens t ON t.app = a.app AND t.token = \(id)
            )
            SELECT 'intent' AS kind, NULL::text AS environment, app, account, NULL::text AS leads_to FROM intents
            UNION ALL
            SELECT 'account_token', NULL, app, account, NULL FROM tokens
            WHERE NOT EXISTS (SELECT FROM intents) AND \(isMeant)
            UNION ALL
            SELECT CASE WHEN EXISTS (SELECT FROM intents) THEN 'intent' ELSE 'account_token' END, environment, app, account,
                transaction_id FROM bought
            UNION ALL
            SELECT 'notification', n.environment, n.app, NULL, n.submission_id
            FROM notification_apps a JOIN apple_notifications n ON n.app = a.app AND n.notification_uuid = \(id)::text
            WHERE \(Self.isMeant("n.app", app))
            """
    }

    /// The tables in which accounts are found by name.
    private static let accountTables = [
        "account_sequences", "balances", "orders", "submissions", "entitlements", "account_tokens", "purchase_intents",
        "lineage_shares", "account_consents",
    ]

    /// Whether it is the name of an account, in which apps.
    static func accounts(_ id: String, _ app: String?) -> SQL {
        let name = SQL.once(id)
        let ofApp: SQL = app.map { "AND app = \($0)" } ?? ""
        // An entry for each app, of an account that has a great many rows, too.
        let apps = accountTables.map { table -> SQL in
            app == nil
                ? "SELECT app FROM \(unescaped: table) WHERE account = \(name) AND account <> ''"
                : "(SELECT app FROM \(unescaped: table) WHERE account = \(name) AND account <> '' \(ofApp) LIMIT 1)"
        }
        return """
            SELECT 'account' AS kind, NULL::text AS environment, app, \(name) AS account, NULL::text AS leads_to
            FROM (\(apps.joined(separator: " UNION "))) apps ORDER BY app LIMIT \(Limit.each)
            """
    }
}
