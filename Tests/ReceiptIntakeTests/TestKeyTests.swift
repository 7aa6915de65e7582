import Foundation
import HTTPTypes
import Postgres
import PurchaseModel
import Testing

@testable import ReceiptIntake

@Suite(
    "Test keys", .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct TestKeyTests {
    private static let keys = [TestIntake.testKey, TestIntake.plainTestKey, TestIntake.namedTestKey]

    private func with(_ body: @Sendable (TestIntake, TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in try await body(intake, database) }
        }
    }

    @Test("a route that does not keep to the sandbox refuses every test key, whatever it is asked")
    func everyRoute() async throws {
        try await with { intake, _ in
            var taken = 0
            for route in intake.routes where route.access.scope != nil {
                let name = "\(route.method) \(route.path)"
                let path = route.path.replacing("{uuid}", with: UUID().uuidString).replacing("{id}", with: "player-1")
                    .replacing("{transaction_id}", with: "1").replacing("{original_transaction_id}", with: "1")
                    .replacing("{endpoint}", with: "we_none").replacing("{event}", with: "evt_none")
                let isRead = route.method == .get || route.method == .delete
                func send(_ key: String, _ query: String = "", _ fields: String = "") async throws -> TestIntake.Answer
                {
                    try await intake.send(
                        route.method, isRead ? "\(path)?app=\(TestIntake.app)\(query)" : path, token: key,
                        body: isRead ? nil : #"{"app":"\#(TestIntake.app)"\#(fields)}"#)
                }
                for key in Self.keys {
                    let slug = try await send(key).slug
                    #expect((slug == "live-key-required") == !route.access.takesTestKeys, "\(name): \(slug ?? "")")
                }
                guard route.access.takesTestKeys else { continue }
                taken += 1
                // These name no environment: a proof and an id belong to one.
                let unnamed = ["/v1/purchases", "/v1/intents", "/v1/find", "/v1/refund-requests/"]
                guard !unnamed.contains(where: { route.path.hasPrefix($0) }), !route.path.hasSuffix("/attempts")
                else { continue }
                let items = #","items":[{"item":"gem","amount":1}]"#
                let production = try await intake.send(
                    route.method, isRead ? "\(path)?app=\(TestIntake.app)&environment=production" : path,
                    token: TestIntake.testKey,
                    body: isRead ? nil : #"{"app":"\#(TestIntake.app)","environment":"production"\#(items)}"#,
                    headers: isRead ? [:] : [.idempotencyKey: "one"])
                #expect(production.status == 403 && production.slug == "live-key-required", "\(name)")
                #expect(try await send(TestIntake.testKey, "&environment=sandbox").status != 403, "\(name)")
            }
            #expect(taken >= 24)
        }
    }

    @Test("it reads the sandbox where it says nothing, and nothing of production")
    func reads() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.order("7", account: "player-1", at: 100, granted: 100)
            try await rows.order("8", account: "player-1", environment: "sandbox", at: 100, granted: 100)
            let told = try await EventRows(pool: rows.pool).tell(
                EventRows.draft(), EventRows.draft(environment: .sandbox))
            let app = "?app=\(TestIntake.app)"
            func get(_ path: String) async throws -> TestIntake.Answer {
                try await intake.send(.get, path + app, token: TestIntake.testKey)
            }
            let account = try await get("/v1/accounts/player-1")
            #expect(account.fields["environment"] as? String == "sandbox")
            let list = try await get("/v1/accounts/player-1/transactions").fields["data"] as? [[String: Any]] ?? []
            #expect(list.map { $0["transaction_id"] as? String } == ["8"])
            #expect(list.map { $0["environment"] as? String } == ["sandbox"])
            #expect(list.map { $0["store"] as? String } == ["app_store"])
            #expect(try await get("/v1/orders/7").status == 404)
            #expect(try await get("/v1/orders/8").fields["environment"] as? String == "sandbox")
            for path in ["/v1/events", "/v1/accounts/player-1/events"] {
                #expect(try await get(path).eventIds == [told[1]], "\(path)")
            }
        }
    }

    @Test("it posts signed transactions of the sandbox, and no other proof leaves anything behind")
    func posts() async throws {
        try await with { intake, database in
            func jws(_ environment: String) -> String {
                let payload = #"{"originalTransactionId":"2000000001","environment":"\#(environment)"}"#
                return [#"{"alg":"ES256"}"#, payload, "signature"].map { Base64URL.encode(Data($0.utf8)) }
                    .joined(separator: ".")
            }
            for key in Self.keys {
                for fields in [
                    ["signed_transaction": jws("Production")], ["signed_transaction": Proofs.fresh()],
                    ["transaction_id": "2000000001", "environment": "sandbox"], ["order_id": "MQ5LZK4PTX"],
                    ["receipt": "MIITuAYJKoZIhvcNAQcCoIITqTCC", "environment": "sandbox"],
                ] {
                    let answer = try await intake.post(fields: fields.merging(["account": "a"]) { $1 }, as: key)
                    #expect(answer.status == 403 && answer.slug == "live-key-required", "\(fields)")
                }
            }
            let rows = try await database.pool.query("SELECT FROM submissions").rows
            #expect(rows.isEmpty && intake.published.withLock { $0 }.isEmpty)
            let fields = ["account": "a", "signed_transaction": jws("Sandbox")]
            let posted = try await intake.post(fields: fields, as: TestIntake.testKey)
            #expect(posted.status == 202, "\(posted.text)")
            let path = "/v1/purchases/\(posted.id)"
            #expect(try await intake.send(.get, path, token: TestIntake.testKey).status == 202)
            for (environment, status) in [("production", 404), ("sandbox", 200)] {
                _ = try await database.pool.query(
                    """
                    UPDATE submissions SET state = 'fulfilled', due_at = NULL, settled_at = now(), outcome = jsonb_build_object(
                        'state', 'fulfilled', 'finish', true, 'transactions', jsonb_build_array(jsonb_build_object(
                            'store', 'app_store', 'environment', $1::text, 'transaction_id', '1', 'quantity', 1,
                            'original_transaction_id', '1', 'product_id', 'p', 'state', 'granted',
                            'purchased_at', '2026-11-21T15:39:21.000Z')))
                    """, [.text(environment)])
                let answer = try await intake.send(.get, path, token: TestIntake.testKey)
                #expect(answer.status == status, "\(environment): \(answer.text)")
            }
        }
    }

    @Test("it opens intents, and sees of them what the sandbox has")
    func intents() async throws {
        try await with { intake, _ in
            let opened = try await intake.send(
                .post, "/v1/intents", token: TestIntake.testKey,
                body: #"{"app":"\#(TestIntake.app)","account":"a","product_id":"gems"}"#)
            #expect(opened.status == 201, "\(opened.text)")
            let path = "/v1/intents/\(opened.id)?app=\(TestIntake.app)"
            #expect(try await intake.send(.get, path, token: TestIntake.testKey).state == "open")
        }
    }
}
