import Foundation
import HTTPTypes
import Persistence
import PurchaseModel
import Testing

@testable import ReceiptIntake

@Suite(
    "Lists of Apple's words, of acts by hand, of money and of an account's ledger",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct BookListTests {
    @Test("notifications come newest first, by type, environment and time")
    func notifications() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            let path = "/v1/apple-notifications"
            #expect(try await intake.all("type", of: path, limit: 1) == ["REFUND", "TEST", "DID_RENEW"])
            #expect(try await intake.all("type", of: path, "&type=TEST", limit: 1) == ["TEST"])
            #expect(try await intake.all("type", of: path, "&type=TEST&environment=production", limit: 1).isEmpty)
            #expect(
                try await intake.all("type", of: path, "&environment=production", limit: 5) == ["REFUND", "DID_RENEW"])
            #expect(try await intake.rows(path, "&since=2100-01-01").isEmpty)
            let oldest = try #require(try await intake.rows(path).last)
            #expect(oldest["state"] as? String == "fulfilled" && oldest["submission_id"] as? String == "sub_d")
        }
    }

    @Test("refund requests are listed; one is told with what Apple would be told, by the catalogue that is known")
    func refundRequests() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            let path = "/v1/refund-requests"
            #expect(try await intake.all("state", of: path, limit: 1) == ["lapsed", "asked"])
            let asked = try #require(try await intake.rows(path, "&state=asked").first)
            #expect(asked["transaction_id"] as? String == "1001" && asked["consented"] as? Bool == true)
            let id = try #require(asked["id"] as? String)
            #expect(try await intake.list("\(path)/\(id)").fields["would_send"] == nil, "no catalogue is known yet")
            _ = try await CatalogueStore(pool: rows.pool).version(
                of: """
                    apps:
                      \(ListRows.app):
                        - { id: gems.100, type: consumable, grants: { gem: 100 } }
                    """)
            let one = try await intake.list("\(path)/\(id)").fields
            let items = try #require(one["items"] as? [[String: Any]])
            #expect(items.count == 1 && items[0]["granted"] as? Int == 100 && items[0]["used"] as? Int == 30)
            #expect(one["spends_here"] as? Bool == true && one["withheld"] == nil)
            let answer = try #require(one["would_send"] as? [String: Any], "\(one)")
            #expect(answer["delivered"] as? Bool == true && answer["consumption_percentage"] as? Int == 30_000)
            let theirs = try await AppleCallReading(pool: rows.pool).requests(
                of: TestIntake.otherApp, environment: nil, state: nil, after: nil, limit: 1)
            let other = try #require(theirs.rows.first)
            #expect(try await intake.list("\(path)/\(other.id)").status == 404)
        }
    }

    @Test("acts by hand are the app's own, by actor, action and time")
    func auditLog() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            let path = "/v1/audit-log"
            #expect(try await intake.all("action", of: path, limit: 1) == ["redrive", "adjust"])
            #expect(try await intake.rows(path, "&action=adjust").count == 1)
            #expect(try await intake.rows(path, "&actor=anna%20by%20key%20console").count == 1)
            #expect(try await intake.rows(path, "&since=2100-01-01").isEmpty)
        }
    }

    @Test("every act says of which app it is, as far as it is of one")
    func acts() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            let app = ListRows.app
            _ = try await intake.resend([:])
            _ = try await LedgerStore.adjust(
                environment: .production, app: app, account: Account(stored: "player-1"),
                items: [Catalogue.ItemGrant(item: "gem", amount: 1)], actor: "a", reason: "r", pool: rows.pool)
            _ = try await OperatorClaimStore(pool: rows.pool).claim(
                environment: .production, transactionId: "1003", account: "player-1", actor: "a", reason: "r")
            _ = try await SubmissionStore(pool: rows.pool).hasten(["sub_b"], limit: 1, reason: "r", actor: "a")
            let found = Set(try await intake.rows("/v1/audit-log").compactMap { $0["action"] as? String })
            #expect(found == ["resend_webhooks", "adjust", "claim", "redrive"])
        }
    }

    @Test("the ledger of an account has purchases, spends and corrections, and its tokens their intents")
    func account() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            let ledger = "/v1/accounts/player-1/ledger"
            #expect(try await intake.all("kind", of: ledger, limit: 1) == ["adjustment", "spend", "grant"])
            #expect(try await intake.all("kind", of: ledger, "&item=gem", limit: 1) == ["spend", "grant"])
            #expect(try await intake.rows(ledger, "&environment=sandbox").isEmpty)
            let lines = try await intake.rows(ledger)
            #expect(
                lines[0]["reason"] as? String == "ticket 4711" && lines[0]["actor"] as? String == "anna by key console")
            #expect(lines[1]["reference"] as? String == "castle" && lines[1]["amount"] as? Int == -30)
            #expect(lines[2]["transaction_id"] as? String == "1001")
            let tokens = "/v1/accounts/player-1/tokens"
            #expect(Set(try await intake.all("token", of: tokens, limit: 1)).count == 2)
            #expect(try await intake.rows(tokens).contains { $0["reference"] as? String == "ticket-1" })
            #expect(try await intake.rows("/v1/accounts/nobody/tokens").isEmpty)
        }
    }

    @Test("money is that of the view, by day, product and storefront, and never adds currencies up")
    func revenue() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            try await rows.run(
                "UPDATE orders SET currency = 'USD', price_milliunits = 4990 WHERE transaction_id = '1004'")
            let answer = try await intake.list("/v1/revenue", "\(ListRows.days)&by=product").fields
            let sold = try #require(answer["rows"] as? [[String: Any]], "\(answer)")
            func day(_ member: String) throws -> RevenueDay {
                let text = try #require(answer[member] as? String)
                return try #require(RevenueDay(text))
            }
            let known = try await RevenueStore(pool: rows.pool).rows(
                from: try day("from"), to: try day("to"), app: ListRows.app)
            #expect(sold.count == 2, "\(sold)")
            for (member, value) in [
                ("gross_milliunits", \RevenueStore.Row.gross), ("tax_milliunits", \.tax),
                ("commission_milliunits", \.commission), ("estimated_proceeds_milliunits", \.estimatedProceeds),
            ] {
                let totals = try #require(answer["totals"] as? [[String: Any]])
                for total in totals {
                    let currency = total["currency"] as? String
                    let expected = known.filter { $0.currency == currency }.map { $0[keyPath: value] }.reduce(0, +)
                    #expect(total[member] as? Int64 == expected, "\(member) of \(currency ?? "none")")
                }
            }
        }
    }
}
