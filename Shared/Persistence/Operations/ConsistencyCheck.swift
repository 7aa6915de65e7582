package import Postgres

/// Compares the tables with each other: what was sold, given and taken back, whose it is, and what was told must agree.
///
/// All rules see the database at one moment, so a check is meaningful while purchases go on.
package struct ConsistencyCheck: Sendable {
    /// How long one rule may take.
    ///
    /// Large tables are read whole. Default: 10 minutes.
    package static let statementTimeoutMinutes = 10
    /// What one sort or hash of a rule may take of the server's memory before it goes to its disk.
    package static let workMemoryMegabytes = 64

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What was compared and what was found.
    package struct Report: Codable, Sendable {
        /// Rows of each table that was read.
        package let counts: [String: Int64]
        /// Every rule, in order.
        package let rules: [RuleResult]

        /// True when no rule is broken.
        package var isClean: Bool { rules.allSatisfy { $0.violations == 0 } }
    }

    /// One rule and what breaks it.
    package struct RuleResult: Codable, Sendable {
        /// The rule's name, in snake case.
        package let name: String
        /// What should hold, as a sentence.
        package let sentence: String
        /// How many break it.
        package let violations: Int64
        /// The first of those.
        package let examples: [String]
    }

    /// Reads the tables.
    ///
    /// - Parameter examplesMaximum: how many violations of each rule are named.
    /// - Throws: `PostgresError`.
    package func run(examplesMaximum: Int = 20) async throws -> Report {
        try await pool.withTransaction { connection in
            try await connection.executeScript(
                """
                SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
                SET LOCAL statement_timeout = '\(Self.statementTimeoutMinutes)min';
                SET LOCAL work_mem = '\(Self.workMemoryMegabytes)MB'
                """)
            var results: [RuleResult] = []
            for rule in Self.rules {
                // The rules are constants of this type; nothing from outside is part of a statement.
                let result = try await connection.query(
                    """
                    WITH broken AS (\(rule.sql))
                    SELECT subject, count(*) OVER () AS total FROM broken ORDER BY subject LIMIT $1
                    """, [.int8(Int64(max(1, examplesMaximum)))])
                results.append(
                    RuleResult(
                        name: rule.name, sentence: rule.sentence,
                        violations: try result.rows.first?.decode("total", as: Int64.self) ?? 0,
                        examples: try result.rows.prefix(examplesMaximum).map {
                            try $0.decode("subject", as: String.self)
                        }))
            }
            return Report(counts: try await Self.counts(on: connection), rules: results)
        }
    }

    private static func counts(on connection: PostgresConnection) async throws -> [String: Int64] {
        let result = try await connection.query(
            """
            SELECT 'orders_' || state AS name, count(*) AS rows FROM orders GROUP BY state
            UNION ALL SELECT 'order_transactions', count(*) FROM order_transactions
            UNION ALL SELECT 'merged_orders', count(*) FROM merged_orders
            UNION ALL SELECT 'submissions_' || state, count(*) FROM submissions GROUP BY state
            UNION ALL SELECT 'ledger_entries', count(*) FROM ledger_entries
            UNION ALL SELECT 'balances', count(*) FROM balances
            UNION ALL SELECT 'events', count(*) FROM events
            UNION ALL SELECT 'entitlements', count(*) FROM entitlements
            UNION ALL SELECT 'lineages', count(*) FROM lineages
            UNION ALL SELECT 'subscriptions_' || state, count(*) FROM subscriptions GROUP BY state
            UNION ALL SELECT 'spends', count(*) FROM spends
            """)
        var counts: [String: Int64] = [:]
        for row in result.rows {
            counts[try row.decode("name", as: String.self)] = try row.decode("rows", as: Int64.self)
        }
        return counts
    }

    /// Something that must hold in every database.
    struct Rule: Sendable {
        let name: String
        let sentence: String
        /// Gives one row a violation, with a column `subject`: whole tables are joined, nothing is looked up row by row.
        let sql: String
    }

    static let rules =
        ledgerRules + orderRules + purchaseRules + doubleGrantRules + ownerRules + entitlementRules + subscriptionRules
        + submissionRules + eventRules
}
