import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import ReceiptIntake

@Suite(
    "Hostile requests to spend",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct WalletRequestTests {
    /// Amounts as they stand in JSON, and whether they are taken.
    private static let amounts: [(json: String, isTaken: Bool)] = [
        ("1", true), ("1.0", true), ("1e0", true), ("1000000000000", false), ("0", false), ("-0", false), ("-1", false),
        ("-5e0", false), ("0.5", false), ("1.5", false), ("1e-1", false), ("1000000000001", false), ("1e13", false),
        ("1e400", false), ("-1e400", false), ("9223372036854775807", false), ("9223372036854775808", false),
        ("-9223372036854775808", false), ("18446744073709551617", false), (String(repeating: "9", count: 400), false),
        ("\"1\"", false), ("\"\"", false), ("true", false), ("null", false), ("[1]", false), ("{\"a\":1}", false),
    ]

    @Test("an amount is a whole number from 1 to a million millions, and nothing that looks like one")
    func amounts() async throws {
        try await WalletRows.with { intake, rows, _ in
            try await rows.grant([("gold", 100)], to: "player-1", order: "1")
            for (index, amount) in Self.amounts.enumerated() {
                let body = #"{"app":"\#(TestIntake.app)","items":[{"item":"gold","amount":\#(amount.json)}]}"#
                let answer = try await intake.spend(body: body, key: "k\(index)")
                if amount.isTaken {
                    #expect(answer.status == 200, "\(amount.json): \(answer.text)")
                } else if amount.json == "1000000000000" {
                    #expect(answer.slug == "balance-insufficient", "the largest amount that is one")
                } else {
                    #expect(answer.status == 422 || answer.status == 400, "\(amount.json): \(answer.text)")
                    #expect(["field-invalid", "body-malformed"].contains(answer.slug), "\(amount.json)")
                }
            }
            #expect(try await rows.balance("gold", of: "player-1") == 97)
        }
    }

    @Test(
        "what is wrong is said with its place",
        arguments: [
            (#""items":[]"#, "field-invalid", "items"), (#""items":null"#, "field-invalid", "items"),
            (#""items":{}"#, "field-invalid", "items"), (#""reference":"x""#, "field-missing", "items"),
            (#""items":[5]"#, "field-invalid", "items[0]"),
            (#""items":[{"item":"a","amount":1},{"item":"b"}]"#, "field-missing", "items[1].amount"),
            (#""items":[{"amount":1}]"#, "field-missing", "items[0].item"),
            (#""items":[{"item":"","amount":1}]"#, "field-invalid", "items[0].item"),
            (#""items":[{"item":7,"amount":1}]"#, "field-invalid", "items[0].item"),
            (#""items":[{"item":"a\u0000","amount":1}]"#, "field-invalid", "items[0].item"),
            (#""items":[{"item":"a","amount":1},{"item":"a","amount":1}]"#, "field-invalid", "items"),
            (#""items":[{"item":"\u00e9","amount":1},{"item":"e\u0301","amount":1}]"#, "field-invalid", "items"),
            (#""items":[{"item":"a","amount":1}],"reference":"""#, "field-invalid", "reference"),
            (#""items":[{"item":"a","amount":1}],"reference":"a\nb""#, "field-invalid", "reference"),
            (#""items":[{"item":"a","amount":1}],"reference":5"#, "field-invalid", "reference"),
            (#""items":[{"item":"a","amount":1}],"environment":"xcode""#, "field-invalid", "environment"),
            (#""items":[{"item":"a","amount":1}],"environment":1"#, "field-invalid", "environment"),
        ])
    func flaws(members: String, slug: String, field: String) async throws {
        try await WalletRows.with { intake, rows, _ in
            let answer = try await intake.spend(body: "{\"app\":\"\(TestIntake.app)\",\(members)}", key: "k")
            #expect(answer.slug == slug, "\(answer.text)")
            #expect(answer.fields["field"] as? String == field, "\(answer.text)")
            #expect(try await rows.count("spends") == 0)
        }
    }

    @Test("fifty items may be spent at once, and one more not; names and references have their lengths")
    func sizes() async throws {
        try await WalletRows.with { intake, rows, _ in
            let items = (0..<51).map { (item: "item \($0)", amount: Int64(1)) }
            try await rows.grant(items, to: "player-1", order: "1")
            #expect(try await intake.spend(items, key: "1").fields["field"] as? String == "items")
            let most = try await intake.spend(
                Array(items.prefix(50)), key: "2", reference: String(repeating: "é", count: 255))
            #expect(most.status == 200, "\(most.text)")
            let long = try await intake.spend(
                [items[50]], key: "3", reference: String(repeating: "é", count: 256))
            #expect(long.fields["field"] as? String == "reference")
            let name = String(repeating: "é", count: 128)
            #expect(try await intake.spend([(name, 1)], key: "4").fields["field"] as? String == "items[0].item")
            #expect(try await intake.spend([(String(name.dropLast()), 1)], key: "5").slug == "balance-insufficient")
        }
    }

    @Test("the body is JSON of an app that is known, and the account one that can be")
    func bodies() async throws {
        try await WalletRows.with { intake, _, _ in
            let good = try TestIntake.spending([("gold", 1)])
            for (body, slug) in [
                ("", "body-malformed"), ("[]", "body-malformed"), ("{\"items\":[]}", "field-missing"),
                (try TestIntake.spending([("gold", 1)], app: "nobody"), "app-unknown"),
                (String(repeating: "[", count: 100), "body-malformed"),
                ("{\"app\":\"" + String(repeating: "a", count: 300_000) + "\"}", "body-too-large"),
            ] {
                #expect(try await intake.spend(body: body, key: "k").slug == slug, "\(body.prefix(50))")
            }
            let text = try await intake.send(
                .post, "/v1/accounts/player-1/spend", token: TestIntake.serverKey, body: good,
                headers: [.contentType: "text/plain", .idempotencyKey: "k"])
            #expect(text.slug == "content-type-unsupported")
            for account in ["%00", "%FF", String(repeating: "a", count: 256)] {
                #expect(try await intake.spend(body: good, of: account, key: "k").slug == "not-found")
            }
        }
    }

    @Test("who cannot be sure whether it was spent, is told to send it again")
    func unavailable() async throws {
        try await TestIntake.with(url: "postgresql://nobody@127.0.0.1:1/none") { intake in
            let answer = try await intake.spend([("gold", 1)], key: "k")
            #expect(answer.status == 503)
            #expect(answer.slug == "database-unavailable")
            #expect((answer.fields["detail"] as? String)?.contains("the same key") == true)
            #expect(answer.headers[.retryAfter] != nil)
        }
    }
}
