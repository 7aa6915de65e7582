import Foundation
import Persistence
import PersistenceTesting
import Postgres
import Testing

/// `countersign rates`: rows are added, with who and why, and never changed.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing))
struct RateCommandTests {
    @Test("what came with Countersign is listed")
    func seeded() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let text = try await tool.run("rates", "list")
            #expect(text.status == 0, "\(text.errors)")
            let cells = text.lines.map { $0.split(separator: " ").map(String.init) }
            #expect(cells.contains(["1970-01-01", "everywhere", "else", "standard", "one_time", "30", "%"]))
            #expect(cells.contains(["2026-03-15", "CHN", "standard", "one_time", "25", "%"]))
            #expect(cells.contains(["2026-03-15", "CHN", "small_business", "subscription_later", "12", "%"]))
            #expect(cells.contains(["2020-09-01", "ITA", "in", "the", "price", "22", "%"]))
            let json = try await tool.run("rates", "list", "--json").json()
            #expect((json["commissions"] as? [[String: Any]])?.count == 12)
            #expect((json["taxes"] as? [[String: Any]])?.count == 9)
            #expect((json["programs"] as? [[String: Any]])?.isEmpty == true)
        }
    }

    @Test("a row that is added counts from its day on, and the audit log says who and why")
    func added() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let tax = try await tool.run(
                "rates", "set", "tax", "--storefront", "DEU", "--rate", "19", "--included", "--from", "2026-05-02",
                "--reason", "the law", "--actor", "ada")
            #expect(tax.status == 0, "\(tax.errors)")
            #expect(tax.output.hasPrefix("from 2026-05-02: the tax of DEU is 19 %, in the price (audit "))
            let program = try await tool.run(
                "rates", "set", "program", "--app", "game", "--program", "small_business", "--from", "2026-05-02",
                "--reason", "Apple's letter")
            #expect(program.status == 0, "\(program.errors)")
            let commission = try await tool.run(
                "rates", "set", "commission", "--program", "small_business", "--kind", "one_time", "--storefront",
                "DEU", "--rate", "10.5%", "--from", "2026-05-03", "--reason", "an example")
            #expect(
                commission.output.hasPrefix("from 2026-05-03: Apple keeps 10.5 % of one_time of small_business, DEU"))
            let orders = try ["2026-05-01T23:59:59Z", "2026-05-02T00:00:00Z", "2026-05-03T00:00:00Z"].map { instant in
                var order = try SoldOrder(instant, instant, price: 11_900)
                order.storefront = "DEU"
                return order
            }
            try await SoldOrder.insert(orders, pool)
            let rows = try await ProceedsRow.all(pool)
            let found = orders.map { order in [rows[order.id]?.tax, rows[order.id]?.commission] }
            #expect(found == [[0, 3_570], [1_900, 1_500], [1_900, 1_050]])
            let log = try await pool.query("SELECT actor, action, subject, reason FROM audit_log ORDER BY id")
            let lines = try log.rows.map { row in
                try ["actor", "action", "subject", "reason"].map { try row.decode($0, as: String.self) }
            }
            #expect(
                lines == [
                    ["ada", "set_rate", "tax DEU 190000 ppm, included from 2026-05-02", "the law"],
                    ["tester", "set_rate", "program game small_business from 2026-05-02", "Apple's letter"],
                    [
                        "tester", "set_rate", "commission small_business one_time DEU 105000 ppm from 2026-05-03",
                        "an example",
                    ],
                ])
        }
    }

    @Test("a row for the same day takes the older one's place, and both stay")
    func replaced() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            for rate in ["91", "19"] {
                _ = try await tool.run(
                    "rates", "set", "tax", "--storefront", "DEU", "--rate", rate, "--included", "--from",
                    "2026-05-02", "--reason", "a typing mistake")
            }
            let listed = try await tool.run("rates", "list")
            let rows = listed.lines.filter { $0.contains("DEU") }
            #expect(rows.count == 2 && rows[0].contains("91 %") && rows[0].hasSuffix("replaced"))
            #expect(rows.last?.contains("19 %") == true && rows.last?.hasSuffix("replaced") == false)
            var order = try SoldOrder("1", "2026-05-02T00:00:00Z", price: 11_900)
            order.storefront = "DEU"
            try await SoldOrder.insert([order], pool)
            #expect(try await ProceedsRow.all(pool)["1"]?.tax == 1_900)
            for table in ["commission_rates", "tax_rates", "app_commission_programs"] {
                await #expect(throws: PostgresError.self) { try await pool.query("DELETE FROM \(unescaped: table)") }
            }
            await #expect(throws: PostgresError.self) { try await pool.query("UPDATE tax_rates SET rate_ppm = 0") }
        }
    }

    @Test(
        "what cannot be meant is a usage error, and nothing is written",
        arguments: [
            "tax --storefront de --rate 19 --included --from 2026-05-02 --reason r",
            "tax --storefront DEU --rate 119 --included --from 2026-05-02 --reason r",
            "tax --storefront DEU --rate 19 --from 2026-05-02 --reason r",
            "tax --storefront DEU --rate 19 --included --from 2026-05-32 --reason r",
            "tax --storefront DEU --rate 19 --included --from 2026-05-02",
            "commission --program big --kind one_time --rate 30 --from 2026-05-02 --reason r",
            "commission --program standard --kind weekly --rate 30 --from 2026-05-02 --reason r",
            "program --app game --program big --from 2026-05-02 --reason r",
        ])
    func mistakes(_ line: String) async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let ended = try await tool.run(["rates", "set"] + line.split(separator: " ").map(String.init))
            #expect(ended.status == 64, "\(ended.errors)")
            let written = try await pool.query(
                "SELECT (SELECT count(*) FROM audit_log) + (SELECT count(*) FROM tax_rates) AS count"
            ).rows[0]
            #expect(try written.decode("count", as: Int64.self) == 9)
        }
    }
}
