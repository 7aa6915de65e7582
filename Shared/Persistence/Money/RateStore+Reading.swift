import Postgres

extension RateStore {
    /// A row of `commission_rates`.
    package struct CommissionRate: Codable, Sendable, Hashable {
        /// For apps of this program.
        package let program: String
        /// For this storefront; nil for all that have no rows of their own.
        package let storefront: String?
        /// For what is sold.
        package let kind: String
        /// From this day on.
        package let validFrom: RevenueDay
        /// Parts per million of the price without tax.
        package let ratePpm: Int64
        /// The line in `audit_log`; nil for what came with Countersign.
        package let auditId: Int64?
        /// Whether a later row for the same day took its place.
        package let isReplaced: Bool
    }

    /// A row of `tax_rates`.
    package struct TaxRate: Codable, Sendable, Hashable {
        /// For this storefront.
        package let storefront: String
        /// From this day on.
        package let validFrom: RevenueDay
        /// Parts per million of the price without tax.
        package let ratePpm: Int64
        /// Whether the price holds it.
        package let isIncluded: Bool
        /// The line in `audit_log`; nil for what came with Countersign.
        package let auditId: Int64?
        /// Whether a later row for the same day took its place.
        package let isReplaced: Bool
    }

    /// A row of `app_commission_programs`.
    package struct AppProgram: Codable, Sendable, Hashable {
        /// The app's bundle id.
        package let app: String
        /// Its program.
        package let program: String
        /// From this day on.
        package let validFrom: RevenueDay
        /// The line in `audit_log`.
        package let auditId: Int64?
        /// Whether a later row for the same day took its place.
        package let isReplaced: Bool
    }

    /// Every row there is, sorted by what it is for and by day; of the same day the newest comes last.
    package struct Rates: Codable, Sendable, Hashable {
        /// What Apple keeps.
        package let commissions: [CommissionRate]
        /// What the state gets.
        package let taxes: [TaxRate]
        /// Which app is in which program; standard where none is named.
        package let programs: [AppProgram]
    }

    /// Reads all rows, as many as were ever said; each table at a moment of its own.
    ///
    /// - Throws: `PostgresError`.
    package func rates() async throws -> Rates {
        Rates(commissions: try await commissions(), taxes: try await taxes(), programs: try await programs())
    }

    private func commissions() async throws -> [CommissionRate] {
        let result = try await pool.query(
            """
            SELECT program, storefront, kind, valid_from::text AS valid_from, rate_ppm, audit_id,
                id <> max(id) OVER (PARTITION BY program, storefront, kind, valid_from) AS is_replaced
            FROM commission_rates r ORDER BY storefront NULLS FIRST, program DESC, kind, r.valid_from, id
            """)
        return try result.map(CommissionRate.init)
    }

    private func taxes() async throws -> [TaxRate] {
        let result = try await pool.query(
            """
            SELECT storefront, valid_from::text AS valid_from, rate_ppm, is_included, audit_id,
                id <> max(id) OVER (PARTITION BY storefront, valid_from) AS is_replaced
            FROM tax_rates r ORDER BY storefront, r.valid_from, id
            """)
        return try result.map(TaxRate.init)
    }

    private func programs() async throws -> [AppProgram] {
        let result = try await pool.query(
            """
            SELECT app, program, valid_from::text AS valid_from, audit_id,
                id <> max(id) OVER (PARTITION BY app, valid_from) AS is_replaced
            FROM app_commission_programs r ORDER BY app, r.valid_from, id
            """)
        return try result.map(AppProgram.init)
    }
}
