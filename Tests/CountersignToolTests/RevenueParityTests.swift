import ChanceTesting
import Foundation
import Persistence
import PersistenceTesting
import Postgres
import Testing

/// The views and a computation that shares nothing with them, over the same random orders.
@Suite(
    .enabled(if: TestDatabase.url != nil, "SKIPPED: no PostgreSQL; run deploy/test, or set COUNTERSIGN_TEST_POSTGRES"))
struct RevenueParityTests {
    private static func order(_ index: Int, _ numbers: inout SplitMix) throws -> SoldOrder {
        func any<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &numbers)] }
        // Days and hours around the boundaries come often.
        let base = try SoldOrder.instant(
            any(["2026-03-15T00:00:00Z", "2025-08-21T00:00:00Z", "2026-01-01T00:00:00Z", "2024-02-29T00:00:00Z"]))
        let offset = any([0, -1, 1, Int.random(in: -500_000...500_000, using: &numbers), 86_400, -86_400])
        let price: Int64? = any([
            nil, 0, 1, 2, 3, 990, Int64.random(in: 0...100_000, using: &numbers),
            Int64.random(in: 0...100_000_000, using: &numbers), Int64.random(in: 0...Int64.max, using: &numbers), 9_990,
        ])
        var order = SoldOrder(
            id: "\(index)", purchased: base.addingTimeInterval(Double(offset)), price: price)
        order.environment = any(["production", "production", "production", "production", "sandbox"])
        order.app = any(["game", "small", "large"])
        order.productId = any(["gems", "monthly"])
        order.productType = any(["consumable", "auto_renewable", "auto_renewable", "non_renewing", "unstated"])
        order.original = any([
            nil, order.purchased, order.purchased.addingTimeInterval(-365 * 86_400),
            order.purchased.addingTimeInterval(-366 * 86_400), order.purchased.addingTimeInterval(-364 * 86_400),
        ])
        order.storefront = any([nil, "USA", "CHN", "ITA", "EST", "DEU", "JPN"])
        order.currency = any(["USD", "EUR", "CNY", "USD", "EUR", "CNY", nil])
        order.ownership = any([nil, "PURCHASED", "PURCHASED", "PURCHASED", "FAMILY_SHARED"])
        if order.environment == "sandbox" { order.testPurchase = any([nil, "app_review"]) }
        if any([true, false, false]) {
            order.revoked = order.purchased.addingTimeInterval(
                Double.random(in: 0...10_000_000, using: &numbers).rounded())
            order.revocationType = any([nil, "REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE"])
            order.percentage = any([
                nil, 0, 1, 50_000, 100_000, Int64.random(in: 0...100_000, using: &numbers), 100_001,
            ])
        }
        return order
    }

    private func setRates(_ pool: PostgresPool) async throws {
        let store = RateStore(pool: pool)
        let rows: [(RateStore.NewRow, String)] = [
            (.program(app: "small", program: .smallBusiness), "2026-01-01"),
            (.program(app: "large", program: .smallBusiness), "2024-01-01"),
            (.program(app: "large", program: .standard), "2026-01-01"),
            (.tax(storefront: "DEU", ppm: 190_000, isIncluded: true), "2020-01-01"),
            (.tax(storefront: "DEU", ppm: 160_000, isIncluded: true), "2026-03-15"),
            (.tax(storefront: "DEU", ppm: 175_001, isIncluded: true), "2026-03-15"),
            (.tax(storefront: "USA", ppm: 80_000, isIncluded: false), "2020-01-01"),
            (.commission(program: .standard, storefront: "JPN", kind: .oneTime, ppm: 123_457), "2025-08-21"),
            (.commission(program: .standard, storefront: nil, kind: .oneTime, ppm: 290_000), "2026-03-16"),
        ]
        for (row, day) in rows {
            _ = try await store.add(row, from: try #require(RevenueDay(day)), actor: "test", reason: "parity")
        }
    }

    @Test("2,000 random orders, row by row and day by day", arguments: [UInt64(1)])
    func parity(_ seed: UInt64) async throws {
        try await TestDatabase.with { pool in
            try await setRates(pool)
            var numbers = SplitMix(seed: seed)
            var orders: [SoldOrder] = []
            for index in 0..<2_000 { orders.append(try Self.order(index, &numbers)) }
            try await SoldOrder.insert(orders, pool)
            let sums = RevenueSums(rates: try await RateStore(pool: pool).rates())
            let rows = try await ProceedsRow.all(pool)
            var expected: [String: ProceedsRow] = [:]
            for order in orders { expected[order.id] = sums.row(of: order) }
            #expect(rows.count == expected.count && expected.count > 1_000)
            let different = expected.filter { rows[$0.key] != $0.value }
            #expect(
                different.isEmpty,
                "\(different.first.map { "\($0) but \(rows[$0.key]?.description ?? "no row")" } ?? "")")
            for row in rows.values {
                guard let gross = row.gross, let tax = row.tax, let commission = row.commission,
                    let proceeds = row.proceeds, let refunded = row.refunded, let refundedTax = row.refundedTax,
                    let refundedCommission = row.refundedCommission, let refundedProceeds = row.refundedProceeds
                else { continue }
                #expect(tax + commission + proceeds == gross)
                #expect(refundedTax + refundedCommission + refundedProceeds == refunded)
                #expect((0...gross).contains(refunded) && (0...tax).contains(refundedTax))
                #expect((0...commission).contains(refundedCommission) && (0...proceeds).contains(refundedProceeds))
            }
            try await compareDays(orders, expected, pool)
        }
    }

    /// A day's sums, in 128 bits: prices at random leave 64.
    private func compareDays(
        _ orders: [SoldOrder], _ rows: [String: ProceedsRow], _ pool: PostgresPool
    ) async throws {
        var expected: [String: [Int128]] = [:]
        for order in orders {
            guard let row = rows[order.id] else { continue }
            func add(_ day: String, _ values: [Int128]) {
                let key = "\(day) \(order.app) \(order.storefront ?? "-") \(order.currency ?? "-") \(order.productId)"
                expected[key] = zip(expected[key] ?? Array(repeating: 0, count: 9), values).map { $0.0 + $0.1 }
            }
            let bought = [row.gross, 0, row.tax, row.commission, row.proceeds].map { Int128($0 ?? 0) }
            let isUnknown = !row.taxKnown && (row.gross ?? 0) > 0
            add(row.day, [1, 0, row.gross == nil ? 1 : 0, isUnknown ? 1 : 0] + bought)
            guard let day = row.refundDay else { continue }
            let back = [0, row.refunded, row.refundedTax, row.refundedCommission, row.refundedProceeds]
            add(day, [0, 1, 0, 0] + back.map { -Int128($0 ?? 0) })
        }
        let result = try await pool.query(
            """
            SELECT concat_ws(' ', day, app, coalesce(storefront, '-'), coalesce(currency, '-'), product_id) AS key,
                concat_ws(' ', orders, refunds, unpriced_orders, tax_unknown_orders, gross, refunded, tax, commission,
                    estimated_proceeds) AS sums
            FROM daily_revenue
            """)
        #expect(result.rows.count == expected.count)
        for row in result.rows {
            let key: String = try row.decode("key")
            let sums: String = try row.decode("sums")
            #expect(sums == expected[key]?.map(\.description).joined(separator: " "), "\(key)")
        }
    }
}
