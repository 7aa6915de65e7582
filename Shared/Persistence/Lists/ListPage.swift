import Postgres

/// A place in a list: the row after which a page begins.
package struct ListPosition: Sendable, Hashable {
    /// By which the list is sorted: microseconds since 1970, as exact as the database keeps times, or the row's own
    /// number.
    package let number: Int64
    /// Tells rows of one time apart; empty where the number does.
    package let id: String
    /// The environment of the id; empty where ids need none.
    package let environment: String

    /// Names a place between two rows.
    package init(number: Int64, id: String = "", environment: String = "") {
        self.number = number
        self.id = id
        self.environment = environment
    }
}

/// Some rows of a list, and where to go on.
package struct ListPage<Row: Sendable>: Sendable {
    package let rows: [Row]
    /// Where the next page begins; nil after the last.
    package let next: ListPosition?
}

/// One look at a list: a bounded number of rows, whatever is asked for.
///
/// Who asks for what is rare gets pages that are not full, and goes on.
struct ListLook: Sendable {
    enum Limit {
        /// Rows that the first look reads, which is enough where everything is meant, and those that follow.
        static let rows = [250, 5_000, 5_000, 5_000]
    }

    /// Where it begins; nil at the list's beginning.
    let position: ListPosition?
    /// The most rows that are wanted.
    let limit: Int
    /// Rows that it reads.
    let rows: Int

    /// Reads a page by looks, each of which begins where the one before has ended.
    ///
    /// - Parameters:
    ///   - limit: the most rows; there may be fewer although there is a next page.
    ///   - statement: of ``statement(_:where:)``.
    /// - Throws: `PostgresError`, and what `make` throws.
    @inline(never)
    static func page<Row: Sendable>(
        after position: ListPosition?, limit: Int, on pool: PostgresPool,
        _ make: @escaping @Sendable (PostgresRow) throws -> Row, _ statement: @escaping @Sendable (ListLook) -> SQL
    ) async throws -> ListPage<Row> {
        try await read(pool) { try await page(after: position, limit: limit, on: $0, make, statement) }
    }

    /// Reads in a transaction of its own, whose statements are planned for what is asked.
    ///
    /// With one plan for all, an app that has next to nothing would be looked for among all that another has.
    static func read<Value: Sendable>(
        _ pool: PostgresPool, _ body: @escaping @Sendable (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        try await pool.withTransaction { connection in
            try await connection.executeScript(
                "SET TRANSACTION READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan")
            return try await body(connection)
        }
    }

    /// A function of its own, since the optimizer crashes on throwing async calls in a loop in a closure.
    @inline(never)
    private static func page<Row: Sendable>(
        after position: ListPosition?, limit: Int, on connection: PostgresConnection,
        _ make: (PostgresRow) throws -> Row, _ statement: (ListLook) -> SQL
    ) async throws -> ListPage<Row> {
        var rows: [Row] = []
        var next = position
        for size in Limit.rows {
            let look = ListLook(position: next, limit: limit - rows.count, rows: size)
            let result = try await connection.query(statement(look))
            let meant = try result.rows.filter { try $0.decode("is_meant") }
            rows += try meant.prefix(look.limit).map(make)
            next =
                meant.count > look.limit
                ? try Self.position(meant[look.limit - 1])
                : try result.rows.last.flatMap { try $0.decode("is_meant") ? nil : Self.position($0) }
            if next == nil || rows.count >= limit { break }
        }
        return ListPage(rows: rows, next: next)
    }

    /// The statement of this look.
    ///
    /// - Parameters:
    ///   - branches: queries with the columns `number`, `list_id` and `list_environment` beside those of the row, each in the
    ///     list's order, and with ``end``.
    ///   - condition: which of these rows are meant.
    /// - Returns: the rows that are meant, one more than the limit at most; after them the last that was looked at, where more may come.
    func statement(_ branches: [SQL], where condition: SQL) -> SQL {
        let order: SQL = "number DESC, list_id DESC, list_environment DESC"
        let all = branches.map { branch -> SQL in "(\(branch))" }.joined(separator: " UNION ALL ")
        return """
            WITH looked AS MATERIALIZED (
                SELECT * FROM (\(all)) branches ORDER BY \(order) \(end)
            ), meant AS MATERIALIZED (
                SELECT * FROM looked WHERE \(condition) ORDER BY \(order) LIMIT \(limit + 1)
            ), last AS (
                SELECT * FROM looked ORDER BY number, list_id, list_environment LIMIT 1
            )
            SELECT *, true AS is_meant FROM meant
            UNION ALL SELECT *, false FROM last WHERE (SELECT count(*) FROM looked) >= \(rows)
            ORDER BY is_meant DESC, number DESC, list_id DESC, list_environment DESC
            """
    }

    /// The end of a branch; no parameter, by which nobody could plan.
    var end: SQL { "LIMIT \(unescaped: "\(rows)")" }

    /// Microseconds since 1970 of a time.
    static func number(_ time: SQL) -> SQL { "(extract(epoch FROM \(time)) * 1000000)::int8" }

    /// The time of a number.
    static func time(_ number: Int64) -> SQL { "timestamptz 'epoch' + \(number) * interval '1 microsecond'" }

    static func position(_ row: PostgresRow) throws -> ListPosition {
        ListPosition(
            number: try row.decode("number"), id: try row.decode("list_id"),
            environment: try row.decode("list_environment"))
    }
}
