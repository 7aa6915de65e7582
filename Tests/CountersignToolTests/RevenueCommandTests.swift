import Foundation
import Persistence
import PersistenceTesting
import Postgres
import Testing

@testable import CountersignTool

/// `countersign revenue`, and how money is read and written.
struct RevenueCommandTests {
    @Test(
        "milliunits are written as decimals",
        arguments: [
            (0, "0.000"), (1, "0.001"), (-1, "-0.001"), (990, "0.990"), (1_000, "1.000"), (-12_345, "-12.345"),
            (Int64.max, "9223372036854775.807"), (Int64.min, "-9223372036854775.808"),
        ])
    func amounts(_ milliunits: Int64, _ text: String) {
        #expect(MoneyText.amount(milliunits) == text)
    }

    @Test(
        "percentages are whole parts per million, there and back",
        arguments: [
            ("0", 0, "0 %"), ("12.5", 125_000, "12.5 %"), ("12.5%", 125_000, "12.5 %"), ("30", 300_000, "30 %"),
            ("100", 1_000_000, "100 %"), ("0.0001", 1, "0.0001 %"), ("8.0300", 80_300, "8.03 %"),
        ])
    func percentages(_ text: String, _ ppm: Int32, _ written: String) {
        #expect(MoneyText.ppm(text) == ppm)
        #expect(MoneyText.percentage(Int64(ppm)) == written)
    }

    @Test(
        "what is no percentage is none",
        arguments: ["", "%", "-1", "+1", "100.0001", "101", "1.", ".5", "1.00001", "1,5", "1e2", "9999", "1.5.5", "١"])
    func noPercentages(_ text: String) {
        #expect(MoneyText.ppm(text) == nil)
    }

    @Test(
        "days are the calendar's", arguments: ["2026-02-29", "2026-13-01", "2026-1-01", "2026-00-10", "1969-12-31", ""])
    func noDays(_ text: String) {
        #expect(RevenueDay(text) == nil)
        #expect(RevenueDay("2024-02-29")?.description == "2024-02-29")
    }

    @Test("sums of one currency that leave 64 bits are told, not wrong")
    func overflow() throws {
        let day = try #require(RevenueDay("2026-05-01"))
        let text = """
            {"day": "2026-05-01", "app": "game", "storefront": "USA", "currency": "USD", "productId": "p", "orders": 1,
            "refunds": 0, "unpricedOrders": 0, "taxUnknownOrders": 0, "gross": \(Int64.max), "refunded": 0, "tax": 0,
            "commission": 0, "estimatedProceeds": \(Int64.max)}
            """
        let row = try JSONDecoder().decode(RevenueStore.Row.self, from: Data(text.utf8))
        #expect(throws: ToolFailure.self) { try RevenueReport(from: day, to: day, rows: [row, row]) }
    }

    private func seed(_ pool: PostgresPool) async throws {
        var italy = try SoldOrder("1", "2026-05-01T23:59:59Z", price: 12_200)
        italy.storefront = "ITA"
        italy.currency = "EUR"
        italy.revoked = try SoldOrder.instant("2026-05-02T00:00:00Z")
        var other = try SoldOrder("2", "2026-05-02T10:00:00Z", price: 9_990)
        other.app = "other"
        other.productId = "a \"b\",c"
        var free = try SoldOrder("3", "2026-05-02T10:00:00Z", price: nil)
        free.productType = "non_consumable"
        let game = try SoldOrder("4", "2026-05-02T11:00:00Z", price: 10_000)
        let later = try SoldOrder("5", "2026-05-03T00:00:00Z", price: 777_000)
        try await SoldOrder.insert([italy, other, free, game, later], pool)
    }

    @Test(
        "text: a line for each currency and app, never added up across currencies",
        .enabled(if: ToolProcess.isReady, ToolProcess.missing))
    func text() async throws {
        try await TestDatabase.with { pool in
            try await seed(pool)
            let tool = try await ToolProcess(pool)
            let ended = try await tool.run("revenue", "--from", "2026-05-01", "--to", "2026-05-02")
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(ended.lines[0].hasPrefix("2026-05-01 to 2026-05-02, days in UTC, production"))
            #expect(ended.lines[0].contains("estimate"))
            let cells = ended.lines.dropFirst(2).map { $0.split(separator: " ").map(String.init) }
            #expect(cells[0] == ["EUR", "game", "1", "1", "12.200", "-12.200", "0.000", "0.000", "0.000"])
            #expect(cells[1] == ["USD", "game", "2", "0", "10.000", "0.000", "0.000", "3.000", "7.000"])
            #expect(cells[2] == ["USD", "other", "1", "0", "9.990", "0.000", "0.000", "2.997", "6.993"])
            #expect(cells[3] == ["USD", "all", "3", "0", "19.990", "0.000", "0.000", "5.997", "13.993"])
            #expect(ended.output.contains("1 orders have no price that is known"))
            #expect(
                ended.output.contains("2 orders are of storefronts whose tax is not known")
                    && ended.output.contains(": USA ("))
            let one = try await tool.run("revenue", "--from", "2026-05-01", "--to", "2026-05-01", "--app", "game")
            #expect(one.output.contains("12.200") && !one.output.contains("-12.200") && !one.output.contains("USD"))
            let none = try await tool.run("revenue", "--from", "2020-05-01", "--to", "2020-05-01")
            #expect(none.status == 0 && none.output.contains("nothing was sold"))
        }
    }

    @Test("CSV and JSON give every row in milliunits", .enabled(if: ToolProcess.isReady, ToolProcess.missing))
    func machines() async throws {
        try await TestDatabase.with { pool in
            try await seed(pool)
            let tool = try await ToolProcess(pool)
            let csv = try await tool.run("revenue", "--from", "2026-05-01", "--to", "2026-05-02", "--csv")
            let lines = csv.output.components(separatedBy: "\r\n")
            #expect(lines[0].hasPrefix("day,app,storefront,currency,product_id,orders,refunds,unpriced_orders,"))
            #expect(lines[1] == "2026-05-01,game,ITA,EUR,gems,1,0,0,0,12200,0,2200,3000,7000")
            #expect(lines[2] == "2026-05-02,game,ITA,EUR,gems,0,1,0,0,0,-12200,-2200,-3000,-7000")
            #expect(lines[3] == "2026-05-02,game,USA,USD,gems,2,0,1,1,10000,0,0,3000,7000")
            #expect(lines[4].hasPrefix("2026-05-02,other,USA,USD,\"a \"\"b\"\",c\",1,0,0,1,9990,0,0,2997,6993"))
            let json = try await tool.run("revenue", "--from", "2026-05-01", "--to", "2026-05-02", "--json").json()
            #expect(json["is_estimate"] as? Bool == true && json["from"] as? String == "2026-05-01")
            let rows = try #require(json["rows"] as? [[String: Any]])
            #expect(rows.count == 4 && rows[1]["estimated_proceeds"] as? Int64 == -7_000)
            let totals = try #require(json["totals"] as? [[String: Any]])
            #expect(totals.map { $0["currency"] as? String } == ["EUR", "USD"])
            #expect(totals.map { $0["gross"] as? Int64 } == [12_200, 19_990])
        }
    }

    @Test("the sums that backends read are those of the command, by whatever they are added up")
    func sums() async throws {
        try await TestDatabase.with { pool in
            try await seed(pool)
            let (from, to) = (try #require(RevenueDay("2026-04-01")), try #require(RevenueDay("2026-06-01")))
            let store = RevenueStore(pool: pool)
            for app in ["game", "other", "none"] {
                let report = try RevenueReport(
                    from: from, to: to, rows: try await store.rows(from: from, to: to, app: app))
                for grouping in RevenueStore.Grouping.allCases {
                    let sums = try await store.sums(from: from, to: to, app: app, by: grouping)
                    let totals = try RevenueStore.totals(sums)
                    #expect(totals.map(\.currency) == report.totals.map(\.currency), "\(app) \(grouping)")
                    for (total, expected) in zip(totals, report.totals) {
                        #expect(
                            [
                                total.orders, total.refunds, total.unpricedOrders, total.taxUnknownOrders, total.gross,
                                total.refunded, total.tax, total.commission, total.estimatedProceeds,
                            ] == [
                                expected.orders, expected.refunds, expected.unpricedOrders, expected.taxUnknownOrders,
                                expected.gross, expected.refunded, expected.tax, expected.commission,
                                expected.estimatedProceeds,
                            ], "\(app) \(grouping)")
                    }
                }
            }
        }
    }

    @Test(
        "what cannot be meant is a usage error, what cannot be reached a sentence",
        .enabled(if: ToolProcess.isReady, ToolProcess.missing))
    func mistakes() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            for arguments in [
                ["--from", "2026-05-02", "--to", "2026-05-01"], ["--from", "2026-02-30", "--to", "2026-03-01"],
                ["--from", "2026-05-01"], ["--from", "2026-05-01", "--to", "2026-05-01", "--json", "--csv"],
            ] {
                let ended = try await tool.run(["revenue"] + arguments)
                #expect(ended.status == 64, "\(arguments): \(ended.errors)")
            }
            var huge = try SoldOrder("1", "2026-05-01T10:00:00Z", price: .max)
            var more = huge
            more.id = "2"
            huge.app = "game"
            try await SoldOrder.insert([huge, more], pool)
            let ended = try await tool.run("revenue", "--from", "2026-05-01", "--to", "2026-05-01")
            #expect(ended.status == 1 && ended.errors.contains("leaves 64 bits"), "\(ended.errors)")
        }
    }
}
