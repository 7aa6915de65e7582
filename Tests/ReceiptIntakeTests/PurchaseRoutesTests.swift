import Foundation
import HTTPTypes
import HummingbirdTesting
import Messages
import NIOCore
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "Posting and asking",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct PurchaseRoutesTests {
    private let fulfilled = SubmissionOutcome(state: .fulfilled, finish: true)

    private func player(_ name: String = "player-1", _ more: [String: Any] = [:]) throws -> String {
        try TestTokens.hs256(TestTokens.claims(name, more))
    }

    private func settle(_ id: String, _ outcome: SubmissionOutcome, on pool: PostgresPool) async throws {
        _ = try await pool.withTransaction {
            try await SubmissionStore.settle([SettlementMessage(submissionId: id, outcome: outcome)], on: $0)
        }
    }

    @Test("a purchase is on disk when its 202 comes, and is published once")
    func accepts() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let proof = Proofs.jws(originalTransactionId: "2000000999", nonce: "accepts")
                let answer = try await intake.post(proof, as: player(), headers: [.requestId: "req-of_1"])
                #expect(answer.status == 202)
                #expect(answer.state == "received")
                #expect(answer.finish == false)
                #expect(answer.headers[.location] == "/v1/purchases/\(answer.id)")
                #expect(answer.headers[.retryAfter] == "2")
                #expect(answer.headers[.requestId] == "req-of_1")
                #expect(try await database.column("correlation_id", of: answer.id) == "req-of_1")
                #expect(try await database.column("partition_key", of: answer.id) == "2000000999")
                #expect(try await database.column("account", of: answer.id) == "player-1")
                #expect(try await database.column("proof", of: answer.id) == proof)
                let again = try await intake.post(proof, as: player())
                #expect(again.status == 202)
                #expect(again.id == answer.id)
                #expect(try await database.submissionCount() == 1)
                #expect(intake.published.withLock { $0.map(\.message.submissionId) } == [answer.id])
                #expect(intake.published.withLock { $0.map(\.message.correlationId) } == ["req-of_1"])
            }
        }
    }

    @Test("ten identical posts at once are one row, one publication and ten equal answers")
    func concurrentIdenticalPosts() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let proof = Proofs.fresh()
                let token = try player()
                let ids = try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 0..<10 { group.addTask { try await intake.post(proof, as: token).id } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(ids.count == 10)
                #expect(Set(ids).count == 1)
                #expect(try await database.submissionCount() == 1)
                #expect(intake.published.withLock(\.count) == 1)
            }
        }
    }

    @Test("a settled purchase is answered at once, with what the app may finish", arguments: [0, 30])
    func settled(wait: Int) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let proof = Proofs.fresh()
                let id = try await intake.post(proof, as: player()).id
                try await settle(id, fulfilled, on: database.pool)
                let answer = try await intake.post(proof, as: player(), wait: wait)
                #expect(answer.status == 200)
                #expect(answer.state == "fulfilled")
                #expect(answer.finish == true)
                #expect(answer.headers[.location] == nil)
                let asked = try await intake.send(.get, "/v1/purchases/\(id)?wait=\(wait)", token: player())
                #expect(asked.status == 200)
                #expect(asked.text == answer.text)
            }
        }
    }

    @Test("a caller that waits is answered by the outcome, even one that comes before its own commit's answer")
    func waits() async throws {
        try await TestDatabase.with { database in
            let outcome = SubmissionOutcome(state: .rejected, finish: true, reason: .sandboxRefused, detail: "no")
            try await TestIntake.with(url: database.url) { row, waiters in
                waiters.resolve(row.message.submissionId, with: outcome)
            } _: { intake in
                let start = ContinuousClock.now
                let answer = try await intake.post(Proofs.fresh(), as: player(), wait: 30)
                #expect(answer.status == 200)
                #expect(answer.state == "rejected")
                #expect(answer.fields["reason"] as? String == "sandbox_refused")
                #expect(answer.fields["detail"] as? String == "no")
                #expect(ContinuousClock.now - start < .seconds(20))
                #expect(intake.waiters.count == 0)
            }
        }
    }

    @Test("a lost hint is no lost answer: at the end of the wait the database is asked")
    func lostHint() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let proof = Proofs.fresh()
                let token = try player()
                async let waiting = intake.post(proof, as: token, wait: 2)
                let id = SubmissionIdentifier.make(
                    app: TestIntake.app, account: "player-1", kind: .signedTransaction, proof: proof)
                while try await database.submissionCount() == 0 {}
                try await settle(id, fulfilled, on: database.pool)
                let answer = try await waiting
                #expect(answer.status == 200)
                #expect(answer.id == id)
                #expect(answer.state == "fulfilled")
            }
        }
    }

    @Test("when too many wait already, the answer is 202 at once")
    func tooManyWaiters() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, waitersMaximum: 0) { intake in
                let start = ContinuousClock.now
                let answer = try await intake.post(Proofs.fresh(), as: player(), wait: 30)
                #expect(answer.status == 202)
                #expect(ContinuousClock.now - start < .seconds(20))
            }
        }
    }

    @Test("a client that hangs up frees its place, and its purchase stays")
    func hangUp() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, setup: .live) { intake in
                let port = try #require(intake.client.port)
                let client = TestClient(host: "localhost", port: port)
                client.connect()
                var request = TestClient.Request("/v1/purchases?wait=30", method: .post, authority: "localhost")
                request.body = .init(
                    string: "{\"app\":\"\(TestIntake.app)\",\"signed_transaction\":\"\(Proofs.fresh())\"}")
                request.head.headerFields = [
                    .authorization: "Bearer \(try player())", .contentType: "application/json",
                    .contentLength: "\(request.body?.readableBytes ?? 0)",
                ]
                try await client.executeAndDontWaitForResponse(request)
                while try await database.submissionCount() == 0 {}
                #expect(intake.waiters.count == 1)
                let start = ContinuousClock.now
                try await client.shutdown()
                while intake.waiters.count > 0, ContinuousClock.now - start < .seconds(20) { await Task.yield() }
                #expect(intake.waiters.count == 0)
            }
        }
    }

    @Test("a submission exists for its account and its app's backend, and for nobody else")
    func visibility() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let id = try await intake.post(Proofs.fresh(), as: player("é")).id
                let path = "/v1/purchases/\(id)"
                #expect(try await intake.send(.get, path, token: player("é")).status == 202)
                #expect(try await intake.send(.get, path, token: TestIntake.serverKey).status == 202)
                // The same letter in another encoding is another account.
                #expect(try await intake.send(.get, path, token: player("e\u{301}")).slug == "not-found")
                #expect(try await intake.send(.get, path, token: player("player-2")).slug == "not-found")
                #expect(try await intake.send(.get, path, token: TestIntake.otherServerKey).slug == "not-found")
                #expect(try await intake.send(.get, path, token: nil).slug == "authentication-required")
                #expect(try await intake.send(.get, path, token: "csk_wrong").slug == "authentication-failed")
                let missing = "/v1/purchases/sub_00000000000000000000000000000000"
                for path in [missing, "/v1/purchases/1", "/v1/purchases/%00", "/v1/purchases/sub_x'--"] {
                    #expect(try await intake.send(.get, path, token: player()).slug == "not-found")
                }
            }
        }
    }

    @Test("a server key posts for the account it names")
    func serverKey() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let body =
                    "{\"app\":\"\(TestIntake.app)\",\"signed_transaction\":\"\(Proofs.fresh())\",\"account\":\"p-9\"}"
                let answer = try await intake.send(.post, "/v1/purchases", token: TestIntake.serverKey, body: body)
                #expect(answer.status == 202)
                #expect(try await database.column("account", of: answer.id) == "p-9")
                #expect(answer.headers[.requestId]?.hasPrefix("req_") == true)
            }
        }
    }

    @Test("the token that a player's JWT claims is registered before the purchase, once")
    func claimedToken() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let token = UUID()
                let claim = ["app_account_token": token.uuidString]
                // Another account's claim to it changes nothing, and its purchase is still taken.
                for name in ["player-1", "player-1", "player-2"] {
                    let answer = try await intake.post(Proofs.fresh(), as: player(name, claim))
                    #expect(answer.status == 202)
                }
                let known = try await database.pool.withConnection {
                    try await AccountTokenStore.accounts(of: [AppToken(app: TestIntake.app, token: token)], on: $0)
                }
                #expect(known == [AppToken(app: TestIntake.app, token: token): Account(stored: "player-1")])
                #expect(try await database.submissionCount() == 3)
            }
        }
    }

    @Test("the backend says whose a token is; it never becomes another's")
    func accountTokens() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let path = "/v1/account-tokens/\(UUID().uuidString)"
                func put(_ account: String, _ path: String, token: String) async throws -> TestIntake.Answer {
                    try await intake.send(
                        .put, path, token: token, body: "{\"app\":\"\(TestIntake.app)\",\"account\":\"\(account)\"}")
                }
                for _ in 0..<2 { #expect(try await put("player-1", path, token: TestIntake.serverKey).status == 200) }
                let taken = try await put("player-2", path, token: TestIntake.serverKey)
                #expect(taken.status == 409)
                #expect(taken.slug == "account-token-taken")
                #expect(try await put("player-1", path, token: player()).slug == "server-key-required")
                #expect(
                    try await put("player-1", path, token: TestIntake.otherServerKey).slug == "authentication-failed")
                let noUUID = try await put("player-1", "/v1/account-tokens/1", token: TestIntake.serverKey)
                #expect(noUUID.slug == "field-invalid")
                let unset = "/v1/account-tokens/00000000-0000-0000-0000-000000000000"
                #expect(try await put("player-1", unset, token: TestIntake.serverKey).slug == "field-invalid")
                #expect(try await put("", path, token: TestIntake.serverKey).slug == "field-invalid")
            }
        }
    }
}
