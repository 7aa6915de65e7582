package import Postgres

/// The tables `commission_rates`, `tax_rates` and `app_commission_programs`: dated rows that are only ever added.
///
/// A row holds from its day (UTC) until a later one of the same kind begins. A row for the same day as an older one takes
/// its place, so that a mistake is mended by saying it again.
package struct RateStore: Sendable {
    /// What Apple's commission depends on, beside the storefront.
    package enum Program: String, Codable, Sendable, Hashable, CaseIterable {
        case standard
        case smallBusiness = "small_business"
    }

    /// What is sold, as the commission tells it apart.
    package enum Kind: String, Codable, Sendable, Hashable, CaseIterable {
        /// Everything but auto-renewable subscriptions.
        case oneTime = "one_time"
        /// An auto-renewable subscription within a year of its first purchase.
        case subscriptionFirstYear = "subscription_first_year"
        /// An auto-renewable subscription from then on.
        case subscriptionLater = "subscription_later"
    }

    /// A row that is to be added.
    package enum NewRow: Sendable, Hashable {
        /// Apple's commission; without a storefront for every one that has no rows of its own.
        case commission(program: Program, storefront: String?, kind: Kind, ppm: Int32)
        /// The customer's tax; `isIncluded` where the price holds it, since Apple collects and remits it.
        case tax(storefront: String, ppm: Int32, isIncluded: Bool)
        /// That an app takes part in a program.
        case program(app: String, program: Program)

        /// Whose it is alone; nil where it holds for all apps.
        var app: String? {
            if case .program(let app, _) = self { app } else { nil }
        }
    }

    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Adds a row, and the line in `audit_log` that says who did it and why.
    ///
    /// - Parameters:
    ///   - row: what holds.
    ///   - day: from which day on, in UTC.
    ///   - actor: who.
    ///   - reason: why, in the operator's words.
    /// - Returns: the id of the line in `audit_log`.
    /// - Throws: `PostgresError`; for a rate beyond 0 to 1,000,000 or a storefront that is no three capital letters, too.
    package func add(_ row: NewRow, from day: RevenueDay, actor: String, reason: String) async throws -> Int64 {
        let (insertion, values, subject) = Self.statement(of: row)
        return try await pool.withTransaction { connection in
            let line = try await AuditLog.write(
                "set_rate", of: "\(subject) from \(day)", app: .named(row.app), actor: actor, reason: reason,
                on: connection)
            _ = try await connection.query(
                "\(insertion) VALUES (\(line.id), \(day.description)::date, \(values))")
            return line.id
        }
    }

    private static func statement(
        of row: NewRow
    ) -> (insertion: SQL, values: SQL, subject: String) {
        switch row {
        case .commission(let program, let storefront, let kind, let ppm):
            (
                "INSERT INTO commission_rates (audit_id, valid_from, program, storefront, kind, rate_ppm)",
                "\(program.rawValue), \(storefront), \(kind.rawValue), \(ppm)",
                "commission \(program.rawValue) \(kind.rawValue) \(storefront ?? "everywhere else") \(ppm) ppm"
            )
        case .tax(let storefront, let ppm, let isIncluded):
            (
                "INSERT INTO tax_rates (audit_id, valid_from, storefront, rate_ppm, is_included)",
                "\(storefront), \(ppm), \(isIncluded)",
                "tax \(storefront) \(ppm) ppm, \(isIncluded ? "included" : "not included")"
            )
        case .program(let app, let program):
            (
                "INSERT INTO app_commission_programs (audit_id, valid_from, app, program)",
                "\(app), \(program.rawValue)",
                "program \(app) \(program.rawValue)"
            )
        }
    }
}
