import Foundation
import Persistence
import PersistenceTesting
import Postgres
import Testing

/// `order_proceeds` and `daily_revenue` at examples that were worked out by hand.
@Suite(
    .enabled(if: TestDatabase.url != nil, "SKIPPED: no PostgreSQL; run deploy/test, or set COUNTERSIGN_TEST_POSTGRES"))
struct RevenueViewTests {
    /// One purchase and what is to remain of it.
    struct Example: Sendable {
        let name: String
        var app = "game"
        var type = "consumable"
        var storefront = "USA"
        let purchased: String
        var original: String?
        let price: Int64
        let tax: Int64
        let commission: Int64
        let proceeds: Int64
    }

    private static let lastBefore = "2026-03-14T23:59:59Z"
    private static let firstAfter = "2026-03-15T00:00:00Z"
    private static let longAgo = "2020-01-01T00:00:00Z"

    // The app "small" is in the small business program from 2026-01-01 on.
    private static let examples = [
        Example(name: "30 %", purchased: lastBefore, price: 9_990, tax: 0, commission: 2_997, proceeds: 6_993),
        // 1,498.5 is rounded up.
        Example(
            name: "small 15 %", app: "small", purchased: lastBefore, price: 9_990, tax: 0, commission: 1_499,
            proceeds: 8_491),
        Example(
            name: "small, one second before it joined", app: "small", purchased: "2025-12-31T23:59:59Z", price: 9_990,
            tax: 0, commission: 2_997, proceeds: 6_993),
        Example(
            name: "small, the first second", app: "small", purchased: "2026-01-01T00:00:00Z", price: 9_990, tax: 0,
            commission: 1_499, proceeds: 8_491),
        Example(
            name: "subscription", type: "auto_renewable", purchased: lastBefore, original: lastBefore, price: 10_000,
            tax: 0, commission: 3_000, proceeds: 7_000),
        Example(
            name: "subscription, second year", type: "auto_renewable", purchased: lastBefore, original: longAgo,
            price: 10_000, tax: 0, commission: 1_500, proceeds: 8_500),
        Example(
            name: "subscription, a second before its year is over", type: "auto_renewable",
            purchased: "2026-03-01T09:59:59Z", original: "2025-03-01T10:00:00Z", price: 10_000, tax: 0,
            commission: 3_000, proceeds: 7_000),
        Example(
            name: "subscription, its year is over", type: "auto_renewable", purchased: "2026-03-01T10:00:00Z",
            original: "2025-03-01T10:00:00Z", price: 10_000, tax: 0, commission: 1_500, proceeds: 8_500),
        // The year after a leap day ends on 28 February.
        Example(
            name: "leap day, before", type: "auto_renewable", purchased: "2025-02-28T11:59:59Z",
            original: "2024-02-29T12:00:00Z", price: 10_000, tax: 0, commission: 3_000, proceeds: 7_000),
        Example(
            name: "leap day, after", type: "auto_renewable", purchased: "2025-02-28T12:00:00Z",
            original: "2024-02-29T12:00:00Z", price: 10_000, tax: 0, commission: 1_500, proceeds: 8_500),
        Example(
            name: "subscription without a first date", type: "auto_renewable", purchased: lastBefore, price: 10_000,
            tax: 0, commission: 3_000, proceeds: 7_000),
        Example(
            name: "an old non-consumable stays at 30 %", type: "non_consumable", purchased: lastBefore,
            original: longAgo, price: 10_000, tax: 0, commission: 3_000, proceeds: 7_000),
        Example(
            name: "non-renewing stays at 30 %", type: "non_renewing", purchased: lastBefore, original: longAgo,
            price: 10_000, tax: 0, commission: 3_000, proceeds: 7_000),
        Example(
            name: "China, last second at 30 %", storefront: "CHN", purchased: lastBefore, price: 68_000, tax: 0,
            commission: 20_400, proceeds: 47_600),
        Example(
            name: "China, first second at 25 %", storefront: "CHN", purchased: firstAfter, price: 68_000, tax: 0,
            commission: 17_000, proceeds: 51_000),
        Example(
            name: "China, small, before", app: "small", storefront: "CHN", purchased: lastBefore, price: 68_000,
            tax: 0, commission: 10_200, proceeds: 57_800),
        Example(
            name: "China, small, 12 %", app: "small", storefront: "CHN", purchased: firstAfter, price: 68_000, tax: 0,
            commission: 8_160, proceeds: 59_840),
        Example(
            name: "China, subscription, 25 %", type: "auto_renewable", storefront: "CHN", purchased: firstAfter,
            original: firstAfter, price: 68_000, tax: 0, commission: 17_000, proceeds: 51_000),
        Example(
            name: "China, second year, before", type: "auto_renewable", storefront: "CHN", purchased: lastBefore,
            original: longAgo, price: 68_000, tax: 0, commission: 10_200, proceeds: 57_800),
        Example(
            name: "China, second year, 12 %", type: "auto_renewable", storefront: "CHN", purchased: firstAfter,
            original: longAgo, price: 68_000, tax: 0, commission: 8_160, proceeds: 59_840),
        Example(
            name: "China, small, second year", app: "small", type: "auto_renewable", storefront: "CHN",
            purchased: firstAfter, original: longAgo, price: 68_000, tax: 0, commission: 8_160, proceeds: 59_840),
        Example(
            name: "elsewhere nothing changed", purchased: firstAfter, price: 68_000, tax: 0, commission: 20_400,
            proceeds: 47_600),
        // 9,990 × 22 / 122 = 1,801.47…; 30 % of the 8,189 that are left is 2,456.7.
        Example(
            name: "Italy", storefront: "ITA", purchased: lastBefore, price: 9_990, tax: 1_801, commission: 2_457,
            proceeds: 5_732),
        Example(
            name: "Estonia, a day before its rate is known", storefront: "EST", purchased: "2025-08-20T23:59:59Z",
            price: 12_400, tax: 0, commission: 3_720, proceeds: 8_680),
        Example(
            name: "Estonia, from then on", storefront: "EST", purchased: "2025-08-21T00:00:00Z", price: 12_400,
            tax: 2_400, commission: 3_000, proceeds: 7_000),
        Example(name: "a trial", purchased: lastBefore, price: 0, tax: 0, commission: 0, proceeds: 0),
        Example(
            name: "a milliunit", storefront: "ITA", purchased: lastBefore, price: 1, tax: 0, commission: 0, proceeds: 1),
    ]

    private func seed(_ examples: [Example], _ pool: PostgresPool) async throws {
        try await SoldOrder.insert(
            examples.map { example in
                var order = try SoldOrder(example.name, example.purchased, price: example.price)
                order.app = example.app
                order.productType = example.type
                order.storefront = example.storefront
                order.original = try example.original.map(SoldOrder.instant)
                return order
            }, pool)
    }

    @Test(
        "every rate and every boundary, in a session of any time zone",
        arguments: ["UTC", "Asia/Shanghai", "America/Los_Angeles"])
    func examples(_ timeZone: String) async throws {
        try await TestDatabase.with { pool in
            let name = try await pool.query("SELECT current_database()::text AS name").rows[0]
                .decode("name", as: String.self)
            _ = try await pool.query("ALTER DATABASE \(unescaped: name) SET TimeZone = '\(unescaped: timeZone)'")
            let first = try #require(RevenueDay("2026-01-01"))
            _ = try await RateStore(pool: pool).add(
                .program(app: "small", program: .smallBusiness), from: first, actor: "test", reason: "it is small")
            try await seed(Self.examples, pool)
            let rows = try await ProceedsRow.all(pool)
            for example in Self.examples {
                let row = try #require(rows[example.name])
                let found = [row.gross, row.tax, row.commission, row.proceeds]
                #expect(
                    found == [example.price, example.tax, example.commission, example.proceeds],
                    "\(example.name) in \(timeZone): \(row)")
                #expect(row.day == example.purchased.prefix(10), "\(example.name)")
                #expect(row.taxKnown == (example.tax > 0 || example.storefront == "ITA"), "\(example.name)")
            }
        }
    }

    @Test("nobody pays in the sandbox, a family member neither; old data that says nothing is a purchase")
    func whatCounts() async throws {
        try await TestDatabase.with { pool in
            let purchase = try SoldOrder("paid", "2026-05-01T10:00:00Z", price: 1_000)
            var orders = [purchase]
            func add(_ id: String, _ change: (inout SoldOrder) -> Void) {
                var order = purchase
                order.id = id
                change(&order)
                orders.append(order)
            }
            add("sandbox") { $0.environment = "sandbox" }
            add("review") {
                $0.environment = "sandbox"
                $0.testPurchase = "app_review"
            }
            add("family") { $0.ownership = "FAMILY_SHARED" }
            add("unknown ownership") { $0.ownership = "BORROWED" }
            add("old") { $0.ownership = nil }
            add("unpriced") { $0.price = nil }
            add("no currency") { $0.currency = nil }
            add("negative") { $0.price = -1 }
            try await SoldOrder.insert(orders, pool)
            let rows = try await ProceedsRow.all(pool)
            #expect(rows.keys.sorted() == ["negative", "no currency", "old", "paid", "unpriced"])
            for id in ["unpriced", "no currency", "negative"] {
                #expect(rows[id]?.gross == nil && rows[id]?.proceeds == nil, "\(id)")
            }
            let days = try await revenue(pool)
            #expect(days.map(\.currency) == ["USD", nil])
            #expect(days.map(\.orders) == [4, 1])
            #expect(days.map(\.unpricedOrders) == [2, 1])
            #expect(days.map(\.taxUnknownOrders) == [2, 0])
            #expect(days.map(\.gross) == [2_000, 0])
            #expect(days.map(\.estimatedProceeds) == [1_400, 0])
        }
    }

    private func revenue(
        _ pool: PostgresPool, from: String = "1970-01-01", to: String = "9999-12-31", app: String? = nil
    ) async throws -> [RevenueStore.Row] {
        try await RevenueStore(pool: pool).rows(
            from: try #require(RevenueDay(from)), to: try #require(RevenueDay(to)), app: app)
    }

    @Test("a refund counts on its own day, below zero, in full or in part; parts are never more than their whole")
    func refunds() async throws {
        try await TestDatabase.with { pool in
            // 12,200 in Italy: 2,200 tax, 3,000 commission, 7,000 remain.
            var full = try SoldOrder("full", "2026-05-01T10:00:00Z", price: 12_200)
            full.storefront = "ITA"
            full.currency = "EUR"
            full.revoked = try SoldOrder.instant("2026-06-30T23:59:59Z")
            full.revocationType = "REFUND_FULL"
            var part = full
            part.id = "part"
            part.revocationType = "REFUND_PRORATED"
            part.percentage = 33_333
            part.revoked = try SoldOrder.instant("2026-07-01T00:00:00Z")
            var family = full
            family.id = "family"
            family.revocationType = "FAMILY_REVOKE"
            var beyond = full
            beyond.id = "beyond"
            beyond.percentage = 250_000
            beyond.revoked = try SoldOrder.instant("2026-07-02T00:00:00Z")
            var tiny = full
            tiny.id = "tiny"
            tiny.price = 2
            tiny.percentage = 50_000
            tiny.revoked = try SoldOrder.instant("2026-07-03T00:00:00Z")
            try await SoldOrder.insert([full, part, family, beyond, tiny], pool)
            let rows = try await ProceedsRow.all(pool)
            #expect(parts(rows["full"]) == [12_200, 2_200, 3_000, 7_000])
            // 12,200 × 33.333 % = 4,066.6…; of 4,067: tax 733.39…, commission 1,000.2 of the 3,334 that are left.
            #expect(parts(rows["part"]) == [4_067, 733, 1_000, 2_334])
            #expect(parts(rows["family"]) == [0, 0, 0, 0])
            #expect(rows["family"]?.refundDay == nil)
            #expect(parts(rows["beyond"]) == [12_200, 2_200, 3_000, 7_000])
            // Of 2 the tax is 0.36 and the commission 0.6; of the 1 that went back 0.18 and 0.3.
            #expect(parts(rows["tiny"]) == [1, 0, 0, 1])
            #expect(rows["tiny"].map { [$0.tax, $0.commission, $0.proceeds] } == [0, 1, 1])

            let days = try await revenue(pool)
            #expect(
                days.map(\.day.description) == ["2026-05-01", "2026-06-30", "2026-07-01", "2026-07-02", "2026-07-03"])
            #expect(days.map(\.orders) == [5, 0, 0, 0, 0])
            #expect(days.map(\.refunds) == [0, 1, 1, 1, 1])
            #expect(days.map(\.gross) == [48_802, 0, 0, 0, 0])
            #expect(days.map(\.refunded) == [0, -12_200, -4_067, -12_200, -1])
            #expect(days.map(\.tax) == [8_800, -2_200, -733, -2_200, 0])
            #expect(days.map(\.commission) == [12_001, -3_000, -1_000, -3_000, 0])
            #expect(days.map(\.estimatedProceeds) == [28_001, -7_000, -2_334, -7_000, -1])
            #expect(try await revenue(pool, from: "2026-07-01", to: "2026-07-02").map(\.refunds) == [1, 1])
            #expect(try await revenue(pool, app: "another").isEmpty)

            // A reversal ends the refund, as a newer statement without a revocation does.
            _ = try await pool.query("UPDATE orders SET revocation_date = NULL WHERE transaction_id = 'full'")
            #expect(try await revenue(pool, from: "2026-06-30", to: "2026-06-30").isEmpty)
        }
    }

    private func parts(_ row: ProceedsRow?) -> [Int64?] {
        [row?.refunded, row?.refundedTax, row?.refundedCommission, row?.refundedProceeds]
    }

    @Test("the largest price that a column holds is split up exactly, and its sum goes on beyond 64 bits")
    func hugePrices() async throws {
        try await TestDatabase.with { pool in
            // Around the amount where 64 bits no longer suffice inside, too.
            let prices: [Int64] = [.max, .max - 1, 4_000_000_000_000, 4_000_000_000_001, 4_611_686_018_427]
            let orders = try prices.enumerated().map { index, price in
                var order = try SoldOrder("\(index)", "2026-05-01T10:00:00Z", price: price)
                order.storefront = "ITA"
                order.percentage = 77_777
                order.revoked = try SoldOrder.instant("2026-05-01T12:00:00Z")
                return order
            }
            try await SoldOrder.insert(orders, pool)
            let rows = try await ProceedsRow.all(pool)
            for (index, price) in prices.enumerated() {
                let row = try #require(rows["\(index)"])
                let kept = RevenueSums.split(price, tax: 220_000, commission: 300_000)
                #expect([row.tax, row.commission, row.proceeds] == [kept.tax, kept.commission, kept.proceeds])
                #expect(row.refunded == RevenueSums.share(price, 77_777, 100_000))
            }
            let sum = try await pool.query("SELECT gross::text AS gross FROM daily_revenue").rows[0]
                .decode("gross", as: String.self)
            #expect(sum == prices.reduce(Int128(0)) { $0 + Int128($1) }.description)
            await #expect(throws: RevenueError.sumTooLarge) { try await revenue(pool) }
        }
    }
}
