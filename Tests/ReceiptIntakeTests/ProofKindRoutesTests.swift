import Foundation
import HTTPTypes
import HummingbirdTesting
import Messages
import Persistence
import Postgres
import PurchaseModel
import Testing

@testable import ReceiptIntake

@Suite(
    "Posting receipts and transaction ids",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ProofKindRoutesTests {
    private func player(_ name: String = "player-1") throws -> String {
        try TestTokens.hs256(TestTokens.claims(name))
    }

    @Test("a receipt is stored without line breaks, with what it names and expects, and is sent with all of it")
    func receipt() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let receipt = Proofs.receipt(bytes: 3000)
                let answer = try await intake.post(
                    fields: [
                        "receipt": Proofs.broken(receipt, every: 76, by: "\r\n"), "transaction_id": "2000000123",
                        "environment": "production",
                    ], as: player())
                #expect(answer.status == 202, "\(answer.text)")
                #expect(try await database.column("kind", of: answer.id) == "receipt")
                #expect(try await database.column("proof", of: answer.id) == receipt)
                #expect(try await database.column("partition_key", of: answer.id) == "2000000123")
                #expect(try await database.column("named_transaction_id", of: answer.id) == "2000000123")
                #expect(try await database.column("expected_environment", of: answer.id) == "production")
                let sent = await intake.firstPublished()
                #expect(sent.kind == .receipt && sent.proof == receipt && !sent.isClaimCheck)
                #expect(sent.namedTransactionId == "2000000123" && sent.expectedEnvironment == .production)
                #expect(!sent.isAwaited)
            }
        }
    }

    @Test("the same receipt with and without line breaks is one submission, with another name it is another")
    func identity() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let receipt = Proofs.receipt(bytes: 500)
                let broken = Proofs.broken(receipt, every: 64, by: "\n")
                func id(_ receipt: String, _ more: [String: String] = [:], _ account: String = "player-1") async throws
                    -> String
                {
                    try await intake.post(
                        fields: ["receipt": receipt].merging(more) { $1 }, as: player(account)
                    ).id
                }
                let plain = try await id(receipt)
                #expect(try await id(broken) == plain)
                #expect(try await id(receipt, ["environment": "sandbox"]) == plain, "a hint is no content")
                let named = try await id(receipt, ["transaction_id": "1"])
                #expect(try await id(broken, ["transaction_id": "1"]) == named)
                let other = try await id(receipt, ["transaction_id": "2"])
                let theirs = try await id(receipt, ["transaction_id": "1"], "player-2")
                #expect(Set([plain, named, other, theirs]).count == 4)
                #expect(try await database.submissionCount() == 4)
            }
        }
    }

    @Test("a bare id is its own proof and key, and says that somebody waits")
    func bareId() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { row, waiters in
                waiters.resolve(row.message.submissionId, with: SubmissionOutcome(state: .fulfilled, finish: true))
            } _: { intake in
                let answer = try await intake.post(
                    fields: ["transaction_id": "2000000999", "environment": "sandbox"], as: player(), wait: 20)
                #expect(answer.status == 200)
                #expect(try await database.column("kind", of: answer.id) == "transaction_id")
                #expect(try await database.column("proof", of: answer.id) == "2000000999")
                #expect(try await database.column("partition_key", of: answer.id) == "2000000999")
                #expect(try await database.optionalColumn("named_transaction_id", of: answer.id) == nil)
                let sent = await intake.firstPublished()
                #expect(sent.isAwaited && sent.expectedEnvironment == .sandbox && sent.namedTransactionId == nil)
            }
        }
    }

    @Test("a caller that finds no room to wait is not waited for")
    func noRoom() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, waitersMaximum: 0) { intake in
                let answer = try await intake.post(Proofs.fresh(), as: player(), wait: 30)
                #expect(answer.status == 202)
                #expect(await intake.firstPublished().isAwaited == false)
            }
        }
    }

    @Test("a receipt of 1.5 MB is taken, stored whole and sent as a claim check")
    func claimCheck() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let receipt = Proofs.receipt(bytes: 1_500_000)
                let answer = try await intake.post(
                    fields: ["receipt": receipt, "transaction_id": "7"], as: TestIntake.serverKey)
                #expect(answer.slug == "field-missing")
                let accepted = try await intake.post(
                    fields: ["receipt": receipt, "transaction_id": "7", "account": "p"], as: TestIntake.serverKey)
                #expect(accepted.status == 202, "\(accepted.text)")
                #expect(try await SubmissionStore(pool: database.pool).proof(of: accepted.id) == receipt)
                let sent = await intake.firstPublished()
                #expect(sent.isClaimCheck && sent.proof.isEmpty && sent.namedTransactionId == "7")
            }
        }
    }

    @Test("a body beyond the limit is 413, whether it says its length or not", arguments: [true, false])
    func tooLarge(saysLength: Bool) async throws {
        try await TestDatabase.with { database in
            let settings = ["intake.body_bytes_maximum": "400000"]
            try await TestIntake.with(url: database.url, setup: .live, settings: settings) { intake in
                let receipt = Proofs.receipt(bytes: 310_000)
                let headers: HTTPFields = saysLength ? [:] : [.transferEncoding: "chunked"]
                let answer = try await intake.post(fields: ["receipt": receipt], as: player(), headers: headers)
                #expect(answer.status == 413)
                #expect(answer.slug == "body-too-large")
                #expect(answer.text.contains("400000"))
            }
            #expect(try await database.submissionCount() == 0)
        }
    }

    @Test("nothing of a body is read whose sender's credentials are not good", arguments: [TestingSetup.router, .live])
    func strangers(setup: TestingSetup) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, setup: setup) { intake in
                let expired = try TestTokens.hs256(TestTokens.claims("player", ["exp": 1]))
                let long = String(repeating: "x", count: 300_000)
                let routes: [(HTTPRequest.Method, String)] = [
                    (.post, "/v1/purchases"), (.post, "/v1/intents"), (.put, "/v1/account-tokens/\(UUID())"),
                    (.post, "/v1/accounts/player/spend"),
                ]
                for (method, path) in routes {
                    for token in ["csk_wrong", expired] {
                        for body in ["", "x", long] {
                            let answer = try await intake.send(method, path, token: token, body: body)
                            #expect(answer.slug == "authentication-failed", "\(path), \(body.count)")
                        }
                    }
                    let none = try await intake.send(method, path, token: nil, body: "x")
                    #expect(none.slug == "authentication-required", "\(path)")
                    let own = try await intake.send(method, path, token: TestIntake.serverKey, body: "x")
                    #expect(own.slug == "body-malformed", "\(path)")
                }
            }
        }
    }

    @Test("beyond what all bodies together may hold it is 503, and there is room again afterwards")
    func heldBytes() async throws {
        try await TestDatabase.with { database in
            let settings = ["intake.body_bytes_maximum": "400000", "intake.held_bytes_maximum": "400000"]
            try await TestIntake.with(url: database.url, settings: settings) { intake in
                try await database.pool.withConnection { lock in
                    // While the table is locked, what was posted waits for its commit and counts as held.
                    try await lock.executeScript("BEGIN; LOCK TABLE submissions IN ACCESS EXCLUSIVE MODE")
                    async let first = intake.post(fields: ["receipt": Proofs.receipt(bytes: 280_000)], as: player())
                    while try await database.insertsThatWait() == 0 {}
                    let refused = try await intake.post(
                        fields: ["receipt": Proofs.receipt(bytes: 100_000)], as: player())
                    #expect(refused.status == 503)
                    #expect(refused.slug == "overloaded")
                    #expect(refused.headers[.retryAfter] == "1")
                    try await lock.executeScript("COMMIT")
                    #expect(try await first.status == 202)
                }
                let later = try await intake.post(fields: ["receipt": Proofs.receipt(bytes: 280_000)], as: player())
                #expect(later.status == 202)
            }
            #expect(try await database.submissionCount() == 2)
        }
    }
}
