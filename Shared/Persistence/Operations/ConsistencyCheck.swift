package import Postgres

/// Compares the tables with each other: what was sold, given and taken back, whose it is, and what was told must agree.
///
/// All rules see the database at one moment, so a check is meaningful while purchases go on.
package struct ConsistencyCheck: Sendable {
    /// How long one statement may take.
    ///
    /// Parts of large tables take seconds. Default: 10 minutes.
    package static let statementTimeoutMinutes = 10
    /// How many rows of a table a part of a rule has, about.
    package static let rowsOfPart: Int64 = 200_000
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
        /// How many parts it was asked in.
        package let parts: Int
        /// How long all of them took.
        package let seconds: Double
        /// How long the longest of them took.
        package let longestSeconds: Double

        /// With what another part of the tables has.
        fileprivate func adding(
            _ more: Int64, _ others: [String], seconds: Double, examplesMaximum: Int
        ) -> RuleResult {
            RuleResult(
                name: name, sentence: sentence, violations: violations + more,
                examples: Array((examples + others).sorted().prefix(examplesMaximum)), parts: parts + 1,
                seconds: self.seconds + seconds, longestSeconds: max(longestSeconds, seconds))
        }
    }

    /// How far a check is.
    package struct Progress: Sendable {
        /// The rule that is looked at, or what is counted.
        package let name: String
        /// Which of the rules it is, from 1, and of how many.
        package let number: Int
        package let count: Int
        /// Which of its parts, from 1, and of how many.
        package let part: Int
        package let parts: Int
    }

    /// The names of the rules and what they say, in the order in which they are looked at.
    package static var ruleNames: [(name: String, sentence: String)] { rules.map { ($0.name, $0.sentence) } }

    /// Reads the tables, those that grow in parts: no statement takes longer than some seconds.
    ///
    /// - Parameters:
    ///   - names: the rules to look at; all where it is nil, and then the tables are counted.
    ///   - examplesMaximum: how many violations of each rule are named.
    ///   - rowsOfPart: how many rows of a table a part has, about; another number only takes longer.
    ///   - progress: told before each statement.
    /// - Throws: `PostgresError`.
    package func run(
        rules names: Set<String>? = nil, examplesMaximum: Int = 20, rowsOfPart: Int64 = Self.rowsOfPart,
        progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) async throws -> Report {
        let size = AuditParts.Size(rows: rowsOfPart)
        return try await pool.withTransaction { connection in
            try await connection.executeScript(Self.settings)
            let asked = Self.rules.filter { names?.contains($0.name) ?? true }
            let count = asked.count + (names == nil ? 1 : 0)
            var results: [RuleResult] = []
            for (index, rule) in asked.enumerated() {
                let prefixes =
                    try await Self.parts(of: rule.name, after: results)?.prefixes(size, on: connection) ?? [""]
                var result = RuleResult(
                    name: rule.name, sentence: rule.sentence, violations: 0, examples: [], parts: 0, seconds: 0,
                    longestSeconds: 0)
                for (part, prefix) in prefixes.enumerated() {
                    progress(
                        Progress(
                            name: rule.name, number: index + 1, count: count, part: part + 1, parts: prefixes.count))
                    let start = ContinuousClock.now
                    let found = try await Self.violations(
                        of: rule, prefix: prefix, examplesMaximum: examplesMaximum, on: connection)
                    result = result.adding(
                        found.count, found.examples, seconds: (ContinuousClock.now - start) / .seconds(1),
                        examplesMaximum: examplesMaximum)
                }
                results.append(result)
            }
            let counts = names == nil ? try await Self.counts(size, number: count, progress, on: connection) : [:]
            return Report(counts: counts, rules: results)
        }
    }

    /// About how many orders there are, without reading them.
    ///
    /// - Throws: `PostgresError`.
    package func estimatedOrders() async throws -> Int64 {
        try await pool.withConnection { try await AuditParts.estimate("orders", on: $0) }
    }

    /// A part reads rows that lie together, by an index: what a page costs by itself is no more than in a row.
    private static let settings = """
        SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
        SET LOCAL statement_timeout = '\(statementTimeoutMinutes)min';
        SET LOCAL work_mem = '\(workMemoryMegabytes)MB';
        SET LOCAL random_page_cost = 1.1;
        SET LOCAL jit = off
        """

    /// The rules are constants of this type, and the prefixes have only literals that the server made: nothing from outside is
    /// part of a statement.
    private static func violations(
        of rule: Rule, prefix: String, examplesMaximum: Int, on connection: PostgresConnection
    ) async throws -> (count: Int64, examples: [String]) {
        let result = try await connection.query(
            """
            WITH \(unescaped: prefix)broken AS (\(unescaped: rule.sql))
            SELECT subject, count(*) OVER () AS total FROM broken ORDER BY subject LIMIT \(max(1, examplesMaximum))
            """)
        let found = try result.map { (subject: String, total: Int64) in (subject: subject, total: total) }
        return (found.first?.total ?? 0, found.prefix(examplesMaximum).map(\.subject))
    }

    private static func counts(
        _ size: AuditParts.Size, number: Int, _ progress: (Progress) -> Void, on connection: PostgresConnection
    ) async throws -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for (index, count) in Self.counted.enumerated() {
            progress(
                Progress(
                    name: "rows of \(count.table)", number: number, count: number, part: index + 1,
                    parts: Self.counted.count))
            let name = count.group.map { "'_' || \($0)" } ?? "''"
            // A table that is partitioned has no pages of its own: it is counted in one.
            for prefix in try await AuditParts.pages(of: count.table).prefixes(size, on: connection) {
                let with = prefix.isEmpty ? "" : "WITH \(prefix.dropLast(2)) "
                let result = try await connection.query(
                    "\(unescaped: with)SELECT \(unescaped: name) AS name, count(*) AS rows FROM \(unescaped: count.table) GROUP BY 1"
                )
                for (name, rows) in try result.map({ (name: String, rows: Int64) in (name, rows) }) {
                    counts[count.table + name, default: 0] += rows
                }
            }
            if count.group == nil { counts[count.table, default: 0] += 0 }
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
        ledgerRules + orderRules + purchaseRules + ownerRules + entitlementRules + subscriptionRules + submissionRules
        + eventRules + forgettingRules
}
