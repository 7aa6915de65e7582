import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import PurchaseModel
import Testing

@testable import ReceiptIntake

@Suite(
    "Spending",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct WalletSpendTests {
    private typealias Object = [String: Any]

    @Test("all of the items are taken at once, and the answer says what remains of them")
    func spend() async throws {
        try await WalletRows.with { intake, rows, database in
            try await rows.grant([("gold", 100), ("wood", 5), ("stone", 7)], to: "player-1", order: "1")
            try await rows.grant([("gold", 50)], to: "player-1", order: "2", environment: .sandbox)
            let answer = try await intake.spend([("wood", 5), ("gold", 30)], key: "k", reference: "castle No. 1")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.headers[.idempotentReplayed] == nil)
            #expect(answer.headers[.cacheControl] == "no-store")
            #expect(answer.id.hasPrefix("spend_"))
            #expect(answer.fields["account"] as? String == "player-1")
            #expect(answer.fields["environment"] as? String == "production")
            #expect(answer.fields["reference"] as? String == "castle No. 1")
            let balances = answer.fields["balances"] as? [Object] ?? []
            #expect(balances.map { $0["item"] as? String } == ["gold", "wood"])
            #expect(balances.map { $0["amount"] as? Int } == [70, 0])
            #expect(try await rows.balance("gold", of: "player-1") == 70)
            #expect(try await rows.balance("gold", of: "player-1", environment: "sandbox") == 50)
            let entries = try await database.pool.query(
                """
                SELECT book, item, amount, sequence FROM ledger_entries WHERE kind = 'spend'
                    AND spend_id = (SELECT id FROM spends WHERE reference = 'castle No. 1') ORDER BY sequence
                """)
            #expect(try entries.rows.map { try $0.decode("amount", as: Int64.self) } == [-30, -5])
            #expect(try entries.rows.allSatisfy { try $0.decode("book", as: String.self) == "spent" })
            let sandbox = try await intake.spend([("gold", 50)], key: "k", environment: "sandbox")
            #expect(sandbox.status == 200, "a key counts within its environment")
            #expect(try await rows.balance("gold", of: "player-1", environment: "sandbox") == 0)
            let account = try await intake.send(
                .get, "/v1/accounts/player-1\(ReadingFixture.query)", token: TestIntake.serverKey)
            #expect(account.fields["version"] as? Int == 0, "spending is no event")
        }
    }

    @Test("nothing is taken when one item lacks; the problem says which, and the request may come again")
    func insufficient() async throws {
        try await WalletRows.with { intake, rows, _ in
            try await rows.grant([("gold", 100), ("wood", 4)], to: "player-1", order: "1")
            for _ in 1...2 {
                let answer = try await intake.spend([("gold", 10), ("stone", 1), ("wood", 5)], key: "k")
                #expect(answer.status == 409)
                #expect(answer.slug == "balance-insufficient")
                let items = answer.fields["items"] as? [Object] ?? []
                #expect(items.map { $0["item"] as? String } == ["stone", "wood"])
                #expect(items.map { $0["balance"] as? Int } == [0, 4])
                #expect(items.map { $0["amount"] as? Int } == [1, 5])
            }
            #expect(try await rows.balance("gold", of: "player-1") == 100)
            #expect(try await rows.balance("stone", of: "player-1") == nil, "a refusal leaves no row behind")
            #expect(try await rows.count("spends") == 0)
            try await rows.grant([("stone", 1), ("wood", 1)], to: "player-1", order: "2")
            #expect(try await intake.spend([("gold", 10), ("stone", 1), ("wood", 5)], key: "k").status == 200)
        }
    }

    @Test("a debt is not spent of, and its repayment first fills it")
    func debt() async throws {
        try await WalletRows.with { intake, rows, _ in
            try await rows.grant([("gold", 100)], to: "player-1", order: "1")
            #expect(try await intake.spend([("gold", 80)], key: "1").status == 200)
            try await rows.takeBack([("gold", 100)], from: "player-1", order: "1")
            #expect(try await rows.balance("gold", of: "player-1") == -80)
            let refused = try await intake.spend([("gold", 1)], key: "2")
            #expect((refused.fields["items"] as? [Object])?.first?["balance"] as? Int == -80)
            try await rows.grant([("gold", 81)], to: "player-1", order: "2")
            #expect(try await intake.spend([("gold", 2)], key: "2").slug == "balance-insufficient")
            #expect(try await intake.spend([("gold", 1)], key: "2").status == 200)
        }
    }

    @Test("the same request is answered with the same bytes, by this process and by another, and spends nothing more")
    func replay() async throws {
        try await WalletRows.with { intake, rows, database in
            try await rows.grant([("gold", 10), ("wood", 10)], to: "player-1", order: "1")
            let first = try await intake.spend([("gold", 10), ("wood", 1)], key: "a key, \"quoted\"", reference: "é")
            #expect(first.status == 200)
            // In another order, with more white space, and with the default said.
            let reordered = """
                { "reference": "\\u00e9", "environment": "production", "unknown": {},
                  "items": [ {"amount": 1, "item": "wood"}, {"amount": 10.0, "item": "gold"} ],
                  "app": "\(TestIntake.app)" }
                """
            try await TestIntake.with(url: database.url) { other in
                for process in [intake, other] {
                    let again = try await process.spend(body: reordered, key: "a key, \"quoted\"")
                    #expect(again.status == 200, "\(again.text)")
                    #expect(again.text == first.text)
                    #expect(again.headers[.idempotentReplayed] == "true")
                }
            }
            #expect(try await rows.balance("gold", of: "player-1") == 0)
            #expect(try await rows.balance("wood", of: "player-1") == 9)
            #expect(try await rows.count("spends") == 1)
        }
    }

    @Test("a key is one request's: of this account, app and environment")
    func reuse() async throws {
        try await WalletRows.with { intake, rows, _ in
            try await rows.grant([("gold", 100)], to: "player-1", order: "1")
            try await rows.grant([("gold", 100)], to: "player-2", order: "2")
            #expect(try await intake.spend([("gold", 1)], key: "k", reference: "a").status == 200)
            for (items, reference) in [
                ([("gold", 2)], "a"), ([("gold", 1)], "b"), ([("gold", 1)], nil), ([("gold", 1), ("wood", 1)], "a"),
                ([("wood", 1)], "a"), ([("gold", 1000)], "a"),
            ] as [([(String, Int64)], String?)] {
                let answer = try await intake.spend(
                    items.map { (item: $0.0, amount: $0.1) }, key: "k", reference: reference)
                #expect(answer.status == 422)
                #expect(answer.slug == "idempotency-key-reused")
            }
            #expect(try await intake.spend([("gold", 2)], of: "player-2", key: "k").status == 200)
            #expect(try await rows.balance("gold", of: "player-1") == 99)
            #expect(try await rows.balance("gold", of: "player-2") == 98)
        }
    }

    @Test("only the studio's backend spends")
    func callers() async throws {
        try await WalletRows.with { intake, rows, _ in
            try await rows.grant([("gold", 100)], to: "player-1", order: "1")
            let body = try TestIntake.spending([("gold", 1)])
            let player = try await intake.spend(body: body, key: "k", token: ReadingFixture.player())
            #expect(player.status == 403)
            #expect(player.slug == "server-key-required")
            #expect(try await intake.spend(body: body, key: "k", token: nil).slug == "authentication-required")
            #expect(
                try await intake.spend(body: body, key: "k", token: TestIntake.otherServerKey).slug
                    == "authentication-failed")
            let other = try TestIntake.spending([("gold", 1)], app: TestIntake.otherApp)
            let theirs = try await intake.spend(body: other, key: "k", token: TestIntake.otherServerKey)
            #expect(theirs.slug == "balance-insufficient", "another app's wallet is another")
            #expect(try await rows.balance("gold", of: "player-1") == 100)
        }
    }

    @Test("a key is 1 to 255 printable characters of ASCII, and comes once")
    func keys() async throws {
        try await WalletRows.with { intake, rows, _ in
            try await rows.grant([("gold", 100)], to: "player-1", order: "1")
            let body = try TestIntake.spending([("gold", 1)])
            for key in [nil, "", String(repeating: "k", count: 256), "k\u{E9}"] {
                let answer = try await intake.spend(body: body, key: key)
                #expect(answer.status == 400 && answer.slug == "idempotency-key-required", "\(key ?? "none")")
                #expect(answer.fields["field"] as? String == "Idempotency-Key")
            }
            var twice: HTTPFields = [:]
            twice.append(HTTPField(name: .idempotencyKey, value: "a"))
            twice.append(HTTPField(name: .idempotencyKey, value: "b"))
            #expect(throws: (any Error).self) { try SpendRequest.key(twice) }
            for key in ["k", String(repeating: "k", count: 255), "{\"a\": ~!}"] {
                #expect(try await intake.spend(body: body, key: key).status == 200, "\(key)")
            }
            #expect(try await rows.balance("gold", of: "player-1") == 97)
        }
    }
}
