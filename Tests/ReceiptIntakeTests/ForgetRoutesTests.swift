import Foundation
import HTTPTypes
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

/// `GET /v1/accounts/{id}/export`, `POST /v1/accounts/{id}/forget` and `GET /v1/forget-requests/{id}`.
@Suite(
    "Exporting and forgetting", .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment),
    .timeLimit(.minutes(2)))
struct ForgetRoutesTests {
    private static let account = "player-1"
    private static let query = "?app=\(TestIntake.app)"

    private static func body(_ app: String = TestIntake.app, more: String = "") -> String {
        #"{"app":"\#(app)"\#(more)}"#
    }

    private func ask(
        _ intake: TestIntake, account: String = account, body: String = body(),
        token: String? = TestIntake.key(.operate)
    ) async throws -> TestIntake.Answer {
        try await intake.send(.post, "/v1/accounts/\(account)/forget", token: token, body: body)
    }

    /// Carries out what was asked, as fulfillment does.
    private func carryOut(_ pool: PostgresPool) async throws {
        let due = try await ForgetRequestStore(pool: pool).claimDue(limit: 10, lease: .seconds(60))
        for request in due { #expect(try await ForgettingStore(pool: pool).advance(request) == .finished) }
    }

    @Test func `a server has an account forgotten, and is told how far it is`() async throws {
        try await WalletRows.with { intake, rows, _ in
            try await rows.grant([("gem", 100)], to: Self.account, order: "1")
            #expect(try await intake.spend([("gem", 30)], key: "k").status == 200)
            let answer = try await ask(intake, body: Self.body(more: #","reason":"wrote a letter""#))
            #expect(answer.status == 202, "\(answer.text)")
            let id = try #require(answer.fields["id"] as? String)
            let place = try #require(answer.headers[.location])
            #expect(place == "/v1/forget-requests/\(id)\(Self.query)")
            #expect(!answer.text.contains("forgotten-"))
            // Again while it is under way.
            #expect(try await ask(intake).fields["id"] as? String == id)
            let waiting = try await intake.send(.get, place, token: TestIntake.key(.operate))
            #expect(waiting.fields["state"] as? String == "under_way")

            try await carryOut(rows.pool)

            let ended = try await intake.send(.get, place, token: TestIntake.key(.operate))
            #expect(ended.fields["state"] as? String == "finished", "\(ended.text)")
            #expect((ended.fields["changed"] as? [String: Int])?["orders"] == 1)
            #expect(try await rows.balance("gem", of: Self.account) == nil)
            let log = try await rows.pool.query("SELECT concat_ws('|', actor, action, reason) AS line FROM audit_log")
            #expect(
                try log.rows.map { try $0.decode("line", as: String.self) } == [
                    "key only-operate|forget|wrote a letter"
                ])
        }
    }

    @Test func `an export is one JSON object, and a forgotten account has none`() async throws {
        try await WalletRows.with { intake, rows, _ in
            try await rows.grant([("gem", 100)], to: Self.account, order: "1")
            try await rows.grant([("gem", 100)], to: "player-2", order: "2")
            #expect(try await intake.spend([("gem", 30)], key: "k").status == 200)
            let path = "/v1/accounts/\(Self.account)/export\(Self.query)"
            let answer = try await intake.send(.get, path, token: TestIntake.serverKey)
            #expect(answer.status == 200, "\(answer.text)")
            let export = answer.fields
            #expect(export["account"] as? String == Self.account)
            #expect((export["orders"] as? [[String: Any]])?.map { $0["transaction_id"] as? String } == ["1"])
            #expect((export["spends"] as? [Any])?.count == 1 && (export["balances"] as? [Any])?.count == 1)
            _ = try await ask(intake)
            try await carryOut(rows.pool)
            #expect(try await intake.send(.get, path, token: TestIntake.serverKey).status == 404)
            let other = "/v1/accounts/player-2/export\(Self.query)"
            #expect(try await intake.send(.get, other, token: TestIntake.serverKey).status == 200)
        }
    }

    @Test func `players are refused, and another app's key`() async throws {
        try await WalletRows.with { intake, rows, _ in
            try await rows.grant([("gem", 100)], to: Self.account, order: "1")
            let player = try TestTokens.hs256(TestTokens.claims(Self.account))
            let id = try #require(try await ask(intake).fields["id"] as? String)
            for (method, path, body) in [
                (HTTPRequest.Method.get, "/v1/accounts/\(Self.account)/export\(Self.query)", nil),
                (.post, "/v1/accounts/\(Self.account)/forget", Self.body()),
                (.get, "/v1/forget-requests/\(id)\(Self.query)", nil),
            ] {
                let refused = try await intake.send(method, path, token: player, body: body)
                #expect(refused.status == 403, "\(path) \(refused.text)")
                #expect(refused.slug == "server-key-required")
                let key = path.contains("export") ? TestIntake.otherServerKey : TestIntake.otherOperatorKey
                let another = try await intake.send(method, path, token: key, body: body)
                #expect(another.status == 401, "\(path)")
                #expect(try await intake.send(method, path, token: nil, body: body).status == 401)
            }
            let unscoped = try await ask(intake, token: TestIntake.serverKey)
            #expect(unscoped.slug == "scope-missing", "an old key without a name could never do this")
            let unknown = "/v1/forget-requests/fgt_0\(Self.query)"
            #expect(try await intake.send(.get, unknown, token: TestIntake.key(.operate)).status == 404)
        }
    }

    @Test func `a pseudonym is no account that anybody can be`() async throws {
        try await WalletRows.with { intake, rows, _ in
            let pseudonym = Account.pseudonym(UUID()).text
            #expect(try await ask(intake, account: pseudonym).status == 404)
            let long = Self.body(more: #","reason":"\#(String(repeating: "x", count: 501))""#)
            #expect(try await ask(intake, body: long).status == 422)
            let posted = try await intake.send(
                .post, "/v1/intents", token: TestIntake.serverKey,
                body: #"{"app":"\#(TestIntake.app)","account":"\#(pseudonym)","product_id":"gems"}"#)
            #expect(posted.status == 422, "\(posted.text)")
            #expect(try await rows.count("forget_requests") == 0)
        }
    }

    @Test func `what is remembered of tokens is asked again, so that who comes back registers again`() async throws {
        let clock = Mutexed(ContinuousClock.now)
        let asked = Mutexed(0)
        let forgotten = Mutexed<Date?>(nil)
        let tokens = AccountTokens(
            store: { _, _, account in
                asked.withLock { $0 += 1 }
                return account
            }, lastForgotten: { forgotten.withLock { $0 } }, now: { clock.withLock { $0 } })
        let (token, account) = (UUID(), Account(stored: "a"))
        for _ in 0..<3 { #expect(try await tokens.register(token, app: "app", account: account)) }
        #expect(asked.withLock { $0 } == 1)
        clock.withLock { $0 += AccountTokens.rememberedTime + .seconds(1) }
        #expect(try await tokens.register(token, app: "app", account: account))
        #expect(asked.withLock { $0 } == 2)
        // Once somebody is to be forgotten, whatever was remembered is asked again, once.
        forgotten.withLock { $0 = Date() }
        clock.withLock { $0 += AccountTokens.askingTime }
        for _ in 0..<3 { #expect(try await tokens.register(token, app: "app", account: account)) }
        #expect(asked.withLock { $0 } == 3)
    }

    @Test func `a token that a new account of the same name registers is registered anew`() async throws {
        try await WalletRows.with { intake, rows, _ in
            let store = AccountTokenStore(pool: rows.pool)
            let token = UUID()
            #expect(try await store.register(app: TestIntake.app, token: token, account: "player") == "player")
            _ = try await ForgetRequestStore(pool: rows.pool).ask(
                app: TestIntake.app, account: Account(stored: "player"), actor: "eve", reason: "asked")
            let isOld =
                "SELECT count(*) FROM account_tokens t JOIN forget_requests r USING (account, app) "
                + "WHERE t.created_at <= r.requested_at AND t.token::text = ANY(r.tokens)"
            func old() async throws -> Int64 {
                try await rows.pool.query(isOld).rows[0].decode("count")
            }
            #expect(try await old() == 1)
            #expect(try await store.register(app: TestIntake.app, token: token, account: "player") == "player")
            #expect(try await old() == 0)
            // Another's it does not become.
            #expect(try await store.register(app: TestIntake.app, token: token, account: "other") == "player")
        }
    }
}
