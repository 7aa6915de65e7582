import Foundation
import HTTPTypes
import HummingbirdTesting
import Messages
import Persistence
import Postgres
import Testing

@testable import ReceiptIntake

@Suite(
    "Purchase intents",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct IntentRoutesTests {
    @Test("an intent is on disk when its 201 comes, its id is the account's token, and nothing is sent on")
    func opens() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let answer = try await intake.openIntent("gems100", as: IntentRows.player())
                #expect(answer.status == 201, "\(answer.text)")
                #expect(answer.headers[.contentType] == "application/json")
                #expect(answer.headers[.cacheControl] == "no-store")
                #expect(
                    Set(answer.fields.keys)
                        == ["id", "app_account_token", "app", "account", "product_id", "created_at", "state"])
                #expect(answer.fields["app_account_token"] as? String == answer.id)
                #expect(answer.fields["app"] as? String == TestIntake.app)
                #expect(answer.fields["account"] as? String == "player-1")
                #expect(answer.fields["product_id"] as? String == "gems100")
                #expect(answer.state == "open")
                let created = try #require((answer.fields["created_at"] as? String).flatMap(MessageCoding.date))
                #expect(abs(created.timeIntervalSinceNow) < 3600)
                let id = try #require(UUID(uuidString: answer.id))
                #expect(answer.id == id.uuidString.lowercased())
                let rows = IntentRows(pool: database.pool)
                #expect(try await rows.intents() == ["\(answer.id) \(TestIntake.app) player-1 gems100"])
                #expect(try await rows.tokens() == ["\(answer.id) \(TestIntake.app) player-1"])
                #expect(try await database.submissionCount() == 0)
                #expect(intake.published.withLock(\.isEmpty))
            }
        }
    }

    @Test(
        "the app's own order number is kept with it; an empty one, one too long, or with control characters is refused")
    func references() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let longest = String(repeating: "é", count: 255)
                for reference in ["order-10042", longest] {
                    let opened = try await intake.openIntent("gems100", as: IntentRows.player(), reference: reference)
                    #expect(opened.status == 201, "\(opened.text)")
                    #expect(opened.fields["reference"] as? String == reference)
                    let read = try await intake.intent(opened.id, as: IntentRows.player())
                    #expect(read.fields["reference"] as? String == reference)
                }
                for reference in ["", longest + "é", "a\nb"] {
                    let refused = try await intake.openIntent("gems100", as: IntentRows.player(), reference: reference)
                    #expect(refused.status == 422)
                    #expect(refused.slug == "field-invalid", "\(refused.text)")
                    #expect(refused.text.contains("reference"))
                }
                #expect(try await IntentRows(pool: database.pool).intents().count == 2)
            }
        }
    }

    @Test("a server opens it for the account that it names, an unknown product is no error, and each is another one")
    func servers() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                var ids: Set<String> = []
                for product in ["gems100", "gems100", "nobody.knows.this", String(repeating: "é", count: 255)] {
                    let answer = try await intake.openIntent(product, as: TestIntake.serverKey, account: "Ä player/7")
                    #expect(answer.status == 201, "\(answer.text)")
                    #expect(answer.fields["account"] as? String == "Ä player/7")
                    #expect(answer.fields["product_id"] as? String == product)
                    ids.insert(answer.id)
                }
                #expect(ids.count == 4)
                let own = try await intake.openIntent("gems100", as: IntentRows.player(), account: "player-1")
                #expect(own.status == 201, "a player may name himself")
                #expect(try await IntentRows(pool: database.pool).tokens().count == 5)
            }
        }
    }

    @Test("what is wrong with a request is told, and writes no row")
    func badInputs() async throws {
        let player = try IntentRows.player()
        let key = TestIntake.serverKey
        let app = "\"app\":\"\(TestIntake.app)\""
        let good = "{\(app),\"product_id\":\"gems100\"}"
        let expired = try TestTokens.hs256(TestTokens.claims("player-1", ["exp": 1]))
        let nameless = try TestTokens.hs256(TestTokens.claims(""))
        let tooLong = String(repeating: "x", count: 256)
        let cases: [(slug: String, status: Int, token: String?, body: String)] = [
            ("authentication-required", 401, nil, good), ("authentication-failed", 401, "csk_wrong", good),
            ("authentication-failed", 401, expired, good), ("authentication-failed", 401, nameless, good),
            ("authentication-failed", 401, TestIntake.otherServerKey, good),
            ("authentication-failed", 401, player, "{\"app\":\"\(TestIntake.otherApp)\",\"product_id\":\"p\"}"),
            ("app-unknown", 422, player, "{\"app\":\"com.example.unknown\",\"product_id\":\"p\"}"),
            ("account-forbidden", 403, player, "{\(app),\"product_id\":\"p\",\"account\":\"player-2\"}"),
            ("account-forbidden", 403, player, "{\(app),\"product_id\":\"p\",\"account\":\"\"}"),
            ("field-missing", 422, key, good),
            ("field-invalid", 422, key, "{\(app),\"product_id\":\"p\",\"account\":\"\"}"),
            ("field-invalid", 422, key, "{\(app),\"product_id\":\"p\",\"account\":7}"),
            ("field-missing", 422, player, "{\(app)}"), ("field-missing", 422, player, "{\"product_id\":\"p\"}"),
            ("field-missing", 422, player, "{\(app),\"product_id\":null}"),
            ("field-invalid", 422, player, "{\(app),\"product_id\":\"\"}"),
            ("field-invalid", 422, player, "{\(app),\"product_id\":\"\(tooLong)\"}"),
            ("field-invalid", 422, player, "{\(app),\"product_id\":\"a\\u0000b\"}"),
            ("field-invalid", 422, player, "{\(app),\"product_id\":\"a\\nb\"}"),
            ("field-invalid", 422, player, "{\(app),\"product_id\":7}"),
            ("field-invalid", 422, player, "{\(app),\"product_id\":[\"p\"]}"),
            ("body-malformed", 400, player, ""), ("body-malformed", 400, player, "{"),
            ("body-malformed", 400, player, "[]"), ("body-malformed", 400, player, "7"),
            ("body-malformed", 400, player, String(repeating: "{\"a\":", count: 30_000)),
            ("body-too-large", 413, player, String(repeating: " ", count: JSONBody.shortBytesMaximum) + good),
        ]
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                for bad in cases {
                    let answer = try await intake.send(.post, "/v1/intents", token: bad.token, body: bad.body)
                    let what: Comment = "\(bad.body.suffix(80)): \(answer.text)"
                    #expect(answer.slug == bad.slug, what)
                    #expect(answer.status == bad.status, what)
                }
                let plain = try await intake.send(
                    .post, "/v1/intents", token: player, body: good, headers: [.contentType: "text/plain"])
                #expect(plain.slug == "content-type-unsupported")
            }
            let rows = IntentRows(pool: database.pool)
            #expect(try await rows.intents().isEmpty)
            #expect(try await rows.tokens().isEmpty)
        }
    }

    @Test("players see their own, servers their app's, and for everybody else there is none")
    func visibility() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let opened = try await intake.openIntent("gems100", as: IntentRows.player())
                let own = try await intake.intent(opened.id, as: IntentRows.player())
                #expect(own.status == 200)
                #expect(own.text == opened.text, "the same words, while it is open")
                #expect(try await intake.intent(opened.id.uppercased(), as: IntentRows.player()).text == own.text)
                #expect(try await intake.intent(opened.id, as: TestIntake.serverKey).text == own.text)
                for id in [opened.id, UUID().uuidString, "none", opened.id + "0", "%00", "..%2F"] {
                    let answer = try await intake.intent(id, as: IntentRows.player("player-2"))
                    #expect(answer.status == 404 && answer.slug == "not-found", "\(id): \(answer.text)")
                }
                let theirs = try await intake.intent(
                    opened.id, as: TestIntake.otherServerKey, app: TestIntake.otherApp)
                #expect(theirs.slug == "not-found")
                let path = "/v1/intents/\(opened.id)"
                #expect(try await intake.send(.get, path, token: nil).slug == "authentication-required")
                #expect(try await intake.send(.get, path, token: TestIntake.serverKey).slug == "field-missing")
                #expect(
                    try await intake.intent(opened.id, as: TestIntake.otherServerKey).slug == "authentication-failed")
                #expect(try await intake.intent(opened.id, as: TestIntake.serverKey, app: "x").slug == "app-unknown")
            }
        }
    }

    @Test("it is bought once an order has its id: which ones, where, and how they stand, the earliest first")
    func bought() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let rows = IntentRows(pool: database.pool)
                let id = try await intake.openIntent("gems100", as: IntentRows.player()).id
                let unused = try await intake.openIntent("gems100", as: IntentRows.player()).id
                try await rows.order("30", token: id, state: "granted", at: 30)
                try await rows.order("10", token: id, state: "parked", at: 10)
                try await rows.order("20", token: id, state: "revoked", at: 20, environment: "sandbox")
                try await rows.order("40", token: id, state: "granted", at: 40, app: TestIntake.otherApp)
                try await rows.order("50", token: UUID().uuidString, state: "granted", at: 50)
                let answer = try await intake.intent(id, as: IntentRows.player())
                #expect(answer.state == "bought")
                let transactions = try #require(answer.fields["transactions"] as? [[String: String]])
                #expect(
                    transactions == [
                        ["transaction_id": "10", "environment": "production", "state": "parked"],
                        ["transaction_id": "20", "environment": "sandbox", "state": "revoked"],
                        ["transaction_id": "30", "environment": "production", "state": "granted"],
                    ])
                let other = try await intake.intent(unused, as: IntentRows.player())
                #expect(other.state == "open" && other.fields["transactions"] == nil)
                for number in 100..<130 {
                    try await rows.order("\(number)", token: id, state: "granted", at: number)
                }
                let many = try await intake.intent(id, as: IntentRows.player())
                let ids = (many.fields["transactions"] as? [[String: String]])?.compactMap { $0["transaction_id"] }
                #expect(ids == ["10", "20", "30"] + (100..<117).map(String.init))
                #expect(IntentStore.purchasesMaximum == 20)
            }
        }
    }

    @Test("the id is the account's token for ever: another account cannot take it")
    func token() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let id = try await intake.openIntent("gems100", as: IntentRows.player()).id
                func put(_ account: String) async throws -> TestIntake.Answer {
                    try await intake.send(
                        .put, "/v1/account-tokens/\(id)", token: TestIntake.serverKey,
                        body: "{\"app\":\"\(TestIntake.app)\",\"account\":\"\(account)\"}")
                }
                #expect(try await put("player-2").slug == "account-token-taken")
                #expect(try await put("player-1").status == 200)
            }
        }
    }

    @Test("an id that is another account's token opens nothing: both rows or none")
    func atomic() async throws {
        try await TestDatabase.with { database in
            let id = UUID()
            let owner = try await AccountTokenStore(pool: database.pool)
                .register(app: "a", token: id, account: "first")
            #expect(owner == "first")
            await #expect(throws: PostgresError.self) {
                try await IntentStore(pool: database.pool)
                    .open(id, app: "a", account: "second", productId: "p", limit: 5)
            }
            let rows = IntentRows(pool: database.pool)
            #expect(try await rows.intents().isEmpty)
            #expect(try await rows.tokens() == ["\(id.uuidString.lowercased()) a first"])
        }
    }

    @Test("without a database it is 503, and the caller may come again")
    func databaseDown() async throws {
        try await TestIntake.with(url: "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2") { intake in
            let answer = try await intake.openIntent("gems100", as: IntentRows.player())
            #expect(answer.slug == "database-unavailable")
            #expect(answer.headers[.retryAfter] == "5")
            let asked = try await intake.intent(UUID().uuidString, as: IntentRows.player())
            #expect(asked.slug == "database-unavailable")
        }
    }
}
