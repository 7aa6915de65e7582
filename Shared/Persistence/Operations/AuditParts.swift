import Postgres

/// How a rule of the audit is asked in parts, so that no statement reads all of a table that grows.
///
/// A part of a table takes the table's name within the statement (`WITH orders AS (SELECT * FROM orders WHERE …)`), so a rule
/// is the same text in parts and in one.
enum AuditParts: Sendable {
    /// By ranges of a key that the rule joins or groups by; each of these tables has an index of it.
    case ranges(of: [Column])
    /// By the remainder of a hash of what the rule groups by: each part reads the tables whole and sorts a share of them.
    case shares(of: [Column])
    /// By pages of a table from which every violation comes by itself; what it is joined with is looked up.
    case pages(of: String)

    /// A column of a table, or an expression of its columns.
    struct Column: Sendable {
        let table: String
        let expression: String
        /// Whether it stands behind the environment in its index.
        var isBehindEnvironment = true
        var hasNulls = false

        fileprivate func part(_ rows: String) -> String { "\(table) AS NOT MATERIALIZED (\(rows)), " }
    }

    /// How large parts are.
    struct Size: Sendable {
        /// A share reads everything and sorts so many times the rows of another part.
        static let shareFactor: Int64 = 10

        /// Rows of a range or of pages.
        var rows: Int64
        /// Rows that one share sorts.
        var rowsOfShare: Int64 { rows * Self.shareFactor }
        /// The most parts of a rule.
        var partsMaximum: Int64 = 400
        /// The most shares of a rule.
        var sharesMaximum: Int64 = 16
    }

    /// How many rows of a table are looked at to find the ends of ranges.
    private static let sampleMaximum: Int64 = 20_000

    /// The beginnings of the statements, one for each part; none of them leaves a row out.
    ///
    /// - Throws: `PostgresError`.
    func prefixes(_ size: Size, on connection: PostgresConnection) async throws -> [String] {
        switch self {
        case .ranges(let columns): try await Self.ranges(columns, size, on: connection)
        case .shares(let columns): try await Self.shares(columns, size, on: connection)
        case .pages(let table): try await Self.pages(table, size, on: connection)
        }
    }

    private static func ranges(
        _ columns: [Column], _ size: Size, on connection: PostgresConnection
    ) async throws -> [String] {
        guard let first = columns.first else { return [""] }
        let rows = try await estimate(first.table, on: connection)
        let parts = min(size.partsMaximum, rows / max(1, size.rows) + 1)
        let ends = parts > 1 ? try await ends(of: first, parts: parts, rows: rows, on: connection) : []
        guard !ends.isEmpty else { return [""] }
        return (0...ends.count).map { index in
            let low = index > 0 ? ends[index - 1] : nil
            let high = index < ends.count ? ends[index] : nil
            return columns.map { $0.range(from: low, to: high) }.joined()
        }
    }

    /// Values that divide a column into about so many parts of about as many rows, as literals.
    private static func ends(
        of column: Column, parts: Int64, rows: Int64, on connection: PostgresConnection
    ) async throws -> [String] {
        // A sample takes whole pages, so it is spread over the table; a small table is read whole.
        let percent = min(100.0, 100.0 * Double(sampleMaximum) / Double(max(1, rows)))
        let sample = percent < 100 ? "TABLESAMPLE SYSTEM (\(percent)) REPEATABLE (1)" : ""
        let expression: SQL = "\(unescaped: column.expression)"
        let result = try await connection.query(
            """
            SELECT quote_literal(value) AS literal FROM (
                SELECT min(value) AS value FROM (
                    SELECT \(expression) AS value, ntile(\(parts)::int) OVER (ORDER BY \(expression)) AS part
                    FROM \(unescaped: column.table) \(unescaped: sample) WHERE \(expression) IS NOT NULL) sampled
                WHERE part > 1 GROUP BY part) ends
            GROUP BY value ORDER BY value
            """)
        return try result.map { (literal: String) in literal }
    }

    private static func shares(
        _ columns: [Column], _ size: Size, on connection: PostgresConnection
    ) async throws -> [String] {
        var rows: Int64 = 0
        for column in columns { rows = max(rows, try await estimate(column.table, on: connection)) }
        let parts = min(size.sharesMaximum, rows / max(1, size.rowsOfShare) + 1)
        guard parts > 1 else { return [""] }
        return (0..<parts).map { number in
            columns.map { column in
                // A row without a value has a share, too.
                let condition = "abs(coalesce(hashtext(\(column.expression)), 0) % \(parts)) = \(number)"
                return column.part("SELECT * FROM \(column.table) WHERE \(condition)")
            }.joined()
        }
    }

    private static func pages(
        _ table: String, _ size: Size, on connection: PostgresConnection
    ) async throws -> [String] {
        let rows = try await estimate(table, on: connection)
        let result = try await connection.query(
            "SELECT pg_relation_size(to_regclass(\(table))) / current_setting('block_size')::int8 AS pages")
        let pages: Int64 = try result.rows.first?.decode(Int64.self) ?? 0
        let parts = min(size.partsMaximum, rows / max(1, size.rows) + 1, pages)
        guard parts > 1 else { return [""] }
        return (0..<parts).map { number in
            let (low, high) = (pages * number / parts, pages * (number + 1) / parts)
            // The last one has no end: the table may have grown since its pages were counted.
            let end = number + 1 < parts ? " AND ctid < '(\(high),0)'::tid" : ""
            return Column(table: table, expression: "").part(
                "SELECT * FROM \(table) WHERE ctid >= '(\(low),0)'::tid\(end)")
        }
    }

    /// How many rows a table has, by the planner's statistics; where there are none yet, by its pages.
    static func estimate(_ table: String, on connection: PostgresConnection) async throws -> Int64 {
        let result = try await connection.query(
            """
            SELECT coalesce(sum(CASE WHEN c.reltuples > 0 THEN c.reltuples
                ELSE pg_relation_size(c.oid) / current_setting('block_size')::int8 END), 0)::int8 AS rows
            FROM pg_class c
            WHERE c.relkind = 'r' AND (c.oid = to_regclass(\(table))
                OR c.oid IN (SELECT relid FROM pg_partition_tree(to_regclass(\(table)))))
            """)
        return try result.rows.first?.decode(Int64.self) ?? 0
    }
}

extension AuditParts.Column {
    /// The rows from a value to before another, as literals; those without a value are in the first part.
    fileprivate func range(from low: String?, to high: String?) -> String {
        let isKnown = isBehindEnvironment ? "environment IN ('production', 'sandbox') AND " : ""
        let bounds = [low.map { "\(expression) >= \($0)" }, high.map { "\(expression) < \($0)" }].compactMap { $0 }
        let isWithin = isKnown + bounds.joined(separator: " AND ")
        let condition = low == nil && hasNulls ? "(\(isWithin) OR \(isKnown)\(expression) IS NULL)" : isWithin
        return part("SELECT * FROM \(table) WHERE \(condition)")
    }
}
