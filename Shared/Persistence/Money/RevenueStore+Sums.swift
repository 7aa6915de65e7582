import Postgres

/// The same rows of one app, added up.
extension RevenueStore {
    /// What a sum is of, beside its currency.
    package enum Grouping: String, Sendable, CaseIterable {
        case day, product, storefront

        /// Its column of `daily_revenue`.
        fileprivate var column: SQL {
            switch self {
            case .day: "day::text"
            case .product: "product_id"
            case .storefront: "storefront"
            }
        }
    }

    /// A sum of rows of one currency; the amounts are those of ``Row``.
    package struct Sum: Sendable, Hashable {
        /// The day, product or storefront; nil where Apple did not say it.
        package let key: String?
        package let currency: String?
        package private(set) var orders: Int64 = 0
        package private(set) var refunds: Int64 = 0
        package private(set) var unpricedOrders: Int64 = 0
        package private(set) var taxUnknownOrders: Int64 = 0
        package private(set) var gross: Int64 = 0
        package private(set) var refunded: Int64 = 0
        package private(set) var tax: Int64 = 0
        package private(set) var commission: Int64 = 0
        package private(set) var estimatedProceeds: Int64 = 0

        init(key: String?, currency: String?) {
            (self.key, self.currency) = (key, currency)
        }

        /// - Throws: `RevenueError.sumTooLarge`.
        mutating func add(_ other: Sum) throws {
            try Self.add(other.orders, to: &orders)
            try Self.add(other.refunds, to: &refunds)
            try Self.add(other.unpricedOrders, to: &unpricedOrders)
            try Self.add(other.taxUnknownOrders, to: &taxUnknownOrders)
            try Self.add(other.gross, to: &gross)
            try Self.add(other.refunded, to: &refunded)
            try Self.add(other.tax, to: &tax)
            try Self.add(other.commission, to: &commission)
            try Self.add(other.estimatedProceeds, to: &estimatedProceeds)
        }

        private static func add(_ value: Int64, to sum: inout Int64) throws {
            let (result, overflow) = sum.addingReportingOverflow(value)
            if overflow { throw RevenueError.sumTooLarge }
            sum = result
        }

        fileprivate init(_ row: PostgresRow) throws {
            key = try row.decodeIfPresent("key")
            currency = try row.decodeIfPresent("currency")
            orders = try row.decode("orders")
            refunds = try row.decode("refunds")
            unpricedOrders = try row.decode("unpriced_orders")
            taxUnknownOrders = try row.decode("tax_unknown_orders")
            gross = try row.decode("gross")
            refunded = try row.decode("refunded")
            tax = try row.decode("tax")
            commission = try row.decode("commission")
            estimatedProceeds = try row.decode("estimated_proceeds")
        }
    }

    /// The sums of some days, both ends included, by key and currency; of one moment.
    ///
    /// - Throws: `RevenueError`, `PostgresError`.
    package func sums(
        from first: RevenueDay, to last: RevenueDay, app: String, by grouping: Grouping
    ) async throws -> [Sum] {
        try await pool.withTransaction { connection in
            // Sales that are alike are found by hash: sorted by so many texts they would take several times as long, and the
            // planner cannot know how few they are.
            try await connection.executeScript(
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL enable_sort = off")
            var found: [Sum] = []
            for days in try await Self.parts(first, last, of: Limit.daysAddedUp, on: connection) {
                found += try await Self.sums(days.first, days.last, app, grouping, on: connection)
            }
            return try Self.added(found) { [$0.key ?? "", $0.currency ?? ""] }
        }
    }

    /// The sums of sums by currency.
    ///
    /// - Throws: `RevenueError.sumTooLarge`.
    package static func totals(_ sums: [Sum]) throws -> [Sum] {
        var totals: [String: Sum] = [:]
        for sum in sums {
            try totals[sum.currency ?? "", default: Sum(key: nil, currency: sum.currency)].add(sum)
        }
        return totals.sorted { $0.key < $1.key }.map(\.value)
    }

    private static func added(_ sums: [Sum], by key: (Sum) -> [String]) throws -> [Sum] {
        var found: [[String]: Sum] = [:]
        for sum in sums { try found[key(sum), default: Sum(key: sum.key, currency: sum.currency)].add(sum) }
        return found.sorted { ($0.key[0], $0.key[1]) < ($1.key[0], $1.key[1]) }.map(\.value)
    }

    /// As ``rows(from:to:app:progress:)`` asks, a part of the days.
    private static func sums(
        _ first: RevenueDay, _ last: RevenueDay, _ app: String, _ grouping: Grouping,
        on connection: PostgresConnection
    ) async throws -> [Sum] {
        let result = try await inRange {
            try await connection.query(
                """
                SELECT \(grouping.column) AS key, currency, sum(orders)::int8 AS orders, sum(refunds)::int8 AS refunds,
                    sum(unpriced_orders)::int8 AS unpriced_orders, sum(tax_unknown_orders)::int8 AS tax_unknown_orders,
                    sum(gross)::int8 AS gross, sum(refunded)::int8 AS refunded, sum(tax)::int8 AS tax,
                    sum(commission)::int8 AS commission, sum(estimated_proceeds)::int8 AS estimated_proceeds
                FROM daily_revenue
                WHERE day BETWEEN \(first.description)::date AND \(last.description)::date AND app = \(app)
                GROUP BY 1, 2
                """)
        }
        return try result.rows.map(Sum.init)
    }

    /// A sum that leaves 64 bits is told as such.
    @inline(never)
    private static func inRange(
        _ query: () async throws -> PostgresResult
    ) async throws -> PostgresResult {
        do {
            return try await query()
        } catch let error as PostgresError where error.sqlState == SQLState.outOfRange {
            throw RevenueError.sumTooLarge
        }
    }
}
