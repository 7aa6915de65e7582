package import Postgres

/// The view `daily_revenue`: what was sold and taken back, by day, with estimates of what remains of it.
package struct RevenueStore: Sendable {
    /// What one question may answer.
    package enum Limit {
        /// A year of a thousand rows a day, some hundred megabytes.
        ///
        /// More is for SQL.
        package static let rows = 400_000
        /// Days of one statement at least: with ten million orders a year some 190,000 orders.
        package static let daysAtATime = 7
        /// Days of one statement that adds up, at least: to plan it takes as long as to add up thousands of orders.
        package static let daysAddedUp = 31
        /// The most statements of a question; more than a year is asked for in longer parts.
        package static let parts = 53
    }

    /// One day of one product in one storefront and currency.
    ///
    /// Amounts are milliunits of the currency: `gross + refunded = tax + commission + estimatedProceeds`. What is refunded
    /// counts on the day of the refund, below zero, and so do the tax and the commission that go back with it.
    package struct Row: Codable, Sendable, Hashable {
        /// In UTC.
        package let day: RevenueDay
        /// The app's bundle id.
        package let app: String
        /// ISO 3166-1 alpha-3; nil where Apple did not say it.
        package let storefront: String?
        /// ISO 4217; nil where Apple did not say it, and then there are no amounts either.
        package let currency: String?
        /// The product's id in App Store Connect.
        package let productId: String
        /// Purchases and renewals of the day.
        package let orders: Int64
        /// Refunds of the day, whenever their orders were bought.
        package let refunds: Int64
        /// Those of `orders` of which no price is known; they are in no amount.
        package let unpricedOrders: Int64
        /// Those of `orders` that cost something in a storefront whose tax is not known: it counts as none.
        package let taxUnknownOrders: Int64
        /// What customers paid.
        package let gross: Int64
        /// What they got back: 0 or below.
        package let refunded: Int64
        /// The customers' tax, less what went back.
        package let tax: Int64
        /// Apple's commission, less what went back.
        package let commission: Int64
        /// What remains, by estimate.
        package let estimatedProceeds: Int64
    }

    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The rows of some days, both ends included, sorted by day, app, storefront, currency and product.
    ///
    /// They are asked for some days at a time, and are of one moment.
    ///
    /// - Parameters:
    ///   - app: only of this app; nil for all.
    ///   - progress: told the day that is asked for next.
    /// - Throws: `RevenueError`, `PostgresError`.
    package func rows(
        from first: RevenueDay, to last: RevenueDay, app: String?,
        progress: @escaping @Sendable (RevenueDay) -> Void = { _ in }
    ) async throws -> [Row] {
        try await pool.withTransaction { connection in
            try await connection.executeScript("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            var rows: [Row] = []
            for days in try await Self.parts(first, last, of: Limit.daysAtATime, on: connection) {
                progress(days.first)
                rows += try await Self.rows(days.first, days.last, app, room: Limit.rows - rows.count, on: connection)
            }
            return rows
        }
    }

    /// The days, so many at a time at least.
    static func parts(
        _ first: RevenueDay, _ last: RevenueDay, of days: Int, on connection: PostgresConnection
    ) async throws -> [(first: RevenueDay, last: RevenueDay)] {
        let result = try await connection.query(
            """
            SELECT day::date::text AS first, least(day::date + days - 1, \(last.description)::date)::text AS last
            FROM greatest(
                    \(days)::int,
                    ceil((\(last.description)::date - \(first.description)::date + 1) / \(Limit.parts)::numeric)::int) AS days,
                generate_series(
                    \(first.description)::date::timestamp, \(last.description)::date::timestamp, days * interval '1 day') AS day
            ORDER BY day
            """)
        return try result.map { (first: RevenueDay, last: RevenueDay) in (first: first, last: last) }
    }

    private static func rows(
        _ first: RevenueDay, _ last: RevenueDay, _ app: String?, room: Int, on connection: PostgresConnection
    ) async throws -> [Row] {
        let result = try await query(first, last, app, room: room, on: connection)
        guard result.rows.count <= room else { throw RevenueError.tooManyRows }
        return try result.map(Row.init)
    }

    // With an interpolated statement beside this `catch` Swift 6.3.1 crashes ("MandatoryAllocBoxToStack").
    private static func query(
        _ first: RevenueDay, _ last: RevenueDay, _ app: String?, room: Int, on connection: PostgresConnection
    ) async throws -> PostgresResult {
        do {
            return try await connection.query(
                """
                SELECT day::text AS day, app, storefront, currency, product_id, orders, refunds, unpriced_orders,
                    tax_unknown_orders, gross::int8 AS gross, refunded::int8 AS refunded, tax::int8 AS tax,
                    commission::int8 AS commission, estimated_proceeds::int8 AS estimated_proceeds
                FROM daily_revenue
                WHERE day BETWEEN $1::date AND $2::date AND ($3::text IS NULL OR app = $3)
                ORDER BY daily_revenue.day, app, storefront, currency, product_id
                LIMIT $4
                """,
                [.text(first.description), .text(last.description), .text(app), .int8(Int64(room) + 1)])
        } catch  where error.sqlState == SQLState.outOfRange {
            throw RevenueError.sumTooLarge
        }
    }

    enum SQLState {
        /// numeric_value_out_of_range (PostgreSQL manual, appendix A).
        static let outOfRange = "22003"
    }
}

/// Why some days cannot be answered at once.
package enum RevenueError: Error, CustomStringConvertible, Sendable, Hashable {
    /// They have more rows than `RevenueStore.Limit.rows`.
    case tooManyRows
    /// A sum leaves 64 bits, which no real price brings about.
    case sumTooLarge

    /// What to do.
    package var description: String {
        switch self {
        case .tooManyRows: "these days have more than \(RevenueStore.Limit.rows) rows: ask for fewer of them"
        case .sumTooLarge: "a sum of these days leaves 64 bits: look at the prices in the view daily_revenue"
        }
    }
}
