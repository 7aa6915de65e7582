public import Postgres

/// Compares the tables with each other: what was sold, what was given, and what was told must agree.
///
/// All rules see the database at one moment, so a check is meaningful while purchases go on.
public struct ConsistencyCheck: Sendable {
    /// How long one rule may take.
    ///
    /// Large tables are read whole. Default: 10 minutes.
    public static let statementTimeoutMinutes = 10

    private let pool: PostgresPool

    /// Works on the database of a pool.
    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What was compared and what was found.
    public struct Report: Codable, Sendable {
        /// Rows of each table that was read.
        public let counts: [String: Int64]
        /// Every rule, in order.
        public let rules: [RuleResult]

        /// True when no rule is broken.
        public var isClean: Bool { rules.allSatisfy { $0.violations == 0 } }
    }

    /// One rule and what breaks it.
    public struct RuleResult: Codable, Sendable {
        /// The rule's name, in snake case.
        public let name: String
        /// What should hold, as a sentence.
        public let sentence: String
        /// How many break it.
        public let violations: Int64
        /// The first of those.
        public let examples: [String]
    }

    /// Reads the tables.
    ///
    /// - Parameter examplesMaximum: how many violations of each rule are named.
    /// - Throws: `PostgresError`.
    public func run(examplesMaximum: Int = 20) async throws -> Report {
        try await pool.withTransaction { connection in
            try await connection.executeScript(
                """
                SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
                SET LOCAL statement_timeout = '\(Self.statementTimeoutMinutes)min'
                """)
            var results: [RuleResult] = []
            for rule in Self.rules {
                // The rules are constants of this file; nothing from outside is part of a statement.
                let result = try await connection.query(
                    """
                    WITH broken AS (\(rule.sql))
                    SELECT subject, count(*) OVER () AS total FROM broken ORDER BY subject LIMIT $1
                    """, [.int8(Int64(examplesMaximum))])
                results.append(
                    RuleResult(
                        name: rule.name, sentence: rule.sentence,
                        violations: try result.rows.first?.decode("total", as: Int64.self) ?? 0,
                        examples: try result.rows.map { try $0.decode("subject", as: String.self) }))
            }
            return Report(counts: try await Self.counts(on: connection), rules: results)
        }
    }

    private static func counts(on connection: PostgresConnection) async throws -> [String: Int64] {
        let result = try await connection.query(
            """
            SELECT 'orders_' || state AS name, count(*) AS rows FROM orders GROUP BY state
            UNION ALL SELECT 'submissions_' || state, count(*) FROM submissions GROUP BY state
            UNION ALL SELECT 'ledger_entries', count(*) FROM ledger_entries
            UNION ALL SELECT 'balances', count(*) FROM balances
            UNION ALL SELECT 'events', count(*) FROM events
            """)
        var counts: [String: Int64] = [:]
        for row in result.rows {
            counts[try row.decode("name", as: String.self)] = try row.decode("rows", as: Int64.self)
        }
        return counts
    }

    private struct Rule: Sendable {
        let name: String
        let sentence: String
        /// Gives one row a violation, with a column `subject`.
        let sql: String
    }

    private static let rules = [
        balances, grants, entriesOfOrders, entitlementsOfOrders, told, oneEvent, settled, waiting, unclaimed, tokens,
        sequences,
    ]

    private static let balances = Rule(
        name: "balances_equal_entries", sentence: "balances equal the sum of entries",
        sql: """
            SELECT format('%s %s %s %s: balance %s, entries %s', environment, app, account, item,
                coalesce(b.amount, 0), coalesce(e.amount, 0)) AS subject
            FROM (
                SELECT environment, app, account, item, sum(amount) AS amount FROM ledger_entries
                GROUP BY environment, app, account, item) e
            FULL JOIN balances b USING (environment, app, account, item)
            WHERE coalesce(b.amount, 0) <> coalesce(e.amount, 0)
            """)

    private static let grants = Rule(
        name: "granted_orders_have_entries",
        sentence: "every granted order has entries or entitlements, unless its product grants nothing",
        sql: """
            SELECT format('%s %s of %s', o.environment, o.transaction_id, o.account) AS subject FROM orders o
            WHERE o.state = 'granted'
                AND NOT EXISTS (SELECT FROM ledger_entries l WHERE l.kind = 'grant'
                    AND (l.environment, l.transaction_id) = (o.environment, o.transaction_id))
                AND NOT EXISTS (SELECT FROM entitlements e
                    WHERE (e.environment, e.transaction_id) = (o.environment, o.transaction_id))
                AND NOT EXISTS (SELECT FROM events e WHERE e.type = 'iap.transaction.fulfilled'
                    AND (e.environment, e.transaction_id) = (o.environment, o.transaction_id)
                    AND e.body::jsonb -> 'data' -> 'entries' = '[]' AND e.body::jsonb -> 'data' -> 'entitlements' = '[]')
            """)

    private static let entriesOfOrders = Rule(
        name: "entries_belong_to_their_order",
        sentence: "no entry without an order, none of a parked order, none for another account than the order's",
        sql: """
            SELECT format('entry %s: %s %s %s', l.id, l.environment, l.transaction_id,
                coalesce('of ' || l.account || ', order is ' || o.state || ' of ' || coalesce(o.account, 'nobody'),
                    'has no order')) AS subject
            FROM ledger_entries l
            LEFT JOIN orders o ON (o.environment, o.transaction_id) = (l.environment, l.transaction_id)
            WHERE o.state IS NULL OR o.state = 'parked'
                OR (l.kind = 'grant' AND (l.account, l.app) IS DISTINCT FROM (o.account, o.app))
            """)

    private static let entitlementsOfOrders = Rule(
        name: "entitlements_belong_to_their_order",
        sentence: "no entitlement without a granted order of the same environment, app and account",
        sql: """
            SELECT format('%s %s: %s of %s', e.environment, e.transaction_id, e.entitlement, e.account) AS subject
            FROM entitlements e
            LEFT JOIN orders o ON (o.environment, o.transaction_id, o.app, o.account)
                = (e.environment, e.transaction_id, e.app, e.account) AND o.state = 'granted'
            WHERE o.state IS NULL
            """)

    private static let told = Rule(
        name: "events_tell_what_was_granted", sentence: "fulfilled events name exactly the amounts of the entries",
        sql: """
            SELECT format('%s %s %s: told %s, entries %s', environment, transaction_id, item,
                coalesce(told.amount, 0), coalesce(written.amount, 0)) AS subject
            FROM (
                SELECT e.environment, e.transaction_id, i.item, sum(i.amount) AS amount FROM events e
                CROSS JOIN LATERAL jsonb_to_recordset(e.body::jsonb -> 'data' -> 'entries') AS i (item text, amount int8)
                WHERE e.type = 'iap.transaction.fulfilled' GROUP BY 1, 2, 3) told
            FULL JOIN (
                SELECT environment, transaction_id, item, sum(amount) AS amount FROM ledger_entries
                WHERE kind = 'grant' GROUP BY 1, 2, 3) written USING (environment, transaction_id, item)
            WHERE told.amount IS DISTINCT FROM written.amount
            """)

    private static let oneEvent = Rule(
        name: "granted_orders_have_one_event", sentence: "every granted order has exactly one fulfilled event",
        sql: """
            SELECT format('%s %s: %s events', o.environment, o.transaction_id, count(e.id)) AS subject FROM orders o
            LEFT JOIN events e ON (e.environment, e.transaction_id) = (o.environment, o.transaction_id)
                AND e.type = 'iap.transaction.fulfilled'
            WHERE o.state = 'granted' GROUP BY o.environment, o.transaction_id HAVING count(e.id) <> 1
            """)

    private static let settled = Rule(
        name: "fulfilled_submissions_have_orders",
        sentence: "every fulfilled submission has an order of its account that is granted or revoked",
        sql: """
            SELECT format('%s of %s', s.id, s.account) AS subject FROM submissions s
            WHERE s.state = 'fulfilled' AND NOT EXISTS (
                SELECT FROM jsonb_to_recordset(s.outcome -> 'transactions') AS t (environment text, transaction_id text)
                JOIN orders o USING (environment, transaction_id)
                WHERE o.state IN ('granted', 'revoked') AND (o.account IS NULL OR o.account = s.account))
            """)

    private static let waiting = Rule(
        name: "parked_submissions_wait",
        sentence: "every parked submission waits for an order that is parked, or for an environment to be named",
        sql: """
            SELECT format('%s of %s: %s', s.id, s.account, s.reason) AS subject FROM submissions s
            WHERE s.state = 'parked' AND s.reason <> 'environment_missing' AND NOT EXISTS (
                SELECT FROM jsonb_to_recordset(s.outcome -> 'transactions') AS t (environment text, transaction_id text)
                JOIN submission_transactions l
                    ON (l.environment, l.transaction_id, l.submission_id) = (t.environment, t.transaction_id, s.id)
                JOIN orders o ON (o.environment, o.transaction_id) = (l.environment, l.transaction_id)
                WHERE o.state = 'parked')
            """)

    private static let unclaimed = Rule(
        name: "unclaimed_orders_are_nobodys", sentence: "an order that nobody claimed has no account and no token",
        sql: """
            SELECT format('%s %s', environment, transaction_id) AS subject FROM orders
            WHERE state = 'parked' AND reason = 'unclaimed'
                AND (account IS NOT NULL OR app_account_token IS NOT NULL)
            """)

    private static let tokens = Rule(
        name: "tokens_name_the_account", sentence: "an order with an appAccountToken is granted to the token's account",
        sql: """
            SELECT format('%s %s: granted to %s, token of %s', o.environment, o.transaction_id, o.account,
                coalesce(t.account, 'nobody')) AS subject
            FROM orders o LEFT JOIN account_tokens t ON t.app = o.app AND t.token = o.app_account_token
            WHERE o.state = 'granted' AND o.app_account_token IS NOT NULL AND t.account IS DISTINCT FROM o.account
            """)

    private static let sequences = Rule(
        name: "sequences_have_no_gaps", sentence: "the events of every account are numbered 1, 2, 3, … without a gap",
        sql: """
            SELECT format('%s %s %s: last %s, events %s, highest %s', environment, app, account,
                s.last_sequence, e.events, e.highest) AS subject
            FROM account_sequences s
            FULL JOIN (
                SELECT environment, app, account, count(*) AS events, max(sequence) AS highest FROM events
                WHERE account IS NOT NULL GROUP BY 1, 2, 3) e USING (environment, app, account)
            WHERE s.last_sequence IS DISTINCT FROM e.events OR s.last_sequence IS DISTINCT FROM e.highest
            """)
}
