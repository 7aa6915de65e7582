import Foundation
import HTTPTypes
import Messages
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

/// A number proves nothing: what a player learns who posts one that is not the player's.
@Suite(
    "Posting a purchase by its number",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct NumberPostTests {
    private static let transaction = TransactionOutcome(
        Transaction(
            environment: .production, transactionId: "2000000123", originalTransactionId: "2000000100",
            bundleId: TestIntake.app, productId: "secret.product", productType: .consumable, quantity: 1,
            purchaseDate: Date(timeIntervalSince1970: 1_700_000_000),
            signedDate: Date(timeIntervalSince1970: 1_700_000_001)), state: .parked, reason: .unclaimed)

    /// What may be stored of a number that is not the poster's, or does not exist.
    private static let hidden: [SubmissionOutcome] = [
        .init(state: .parked, finish: false, reason: .possessionUnproven, detail: "x", transactions: [transaction]),
        .init(state: .rejected, finish: false, reason: .transactionNotFound, detail: "Apple knows none"),
        .init(state: .rejected, finish: false, reason: .orderNotFound, detail: "Apple knows none"),
        .init(state: .rejected, finish: false, reason: .transactionNotInReceipt, transactions: [transaction]),
    ]

    private static let numbers: [[String: String]] = [
        ["transaction_id": "2000000123"], ["order_id": "MV7KQ2XH0P"],
        ["receipt": Proofs.receipt(bytes: 500), "transaction_id": "2000000123"],
    ]

    private func player(_ name: String = "player-1") throws -> String {
        try TestTokens.hs256(TestTokens.claims(name))
    }

    private func settle(_ id: String, _ outcome: SubmissionOutcome, on pool: PostgresPool) async throws {
        try await pool.withTransaction { connection in
            // Whatever it was before.
            _ = try await connection.query(
                "UPDATE submissions SET state = 'received', outcome = NULL, due_at = now() WHERE id = $1", [.text(id)])
            try await SubmissionStore.settle([SettlementMessage(submissionId: id, outcome: outcome)], on: connection)
        }
    }

    /// The whole answer but its id.
    private func content(_ answer: TestIntake.Answer) -> String {
        "\(answer.status) " + answer.text.replacing(answer.id, with: "")
    }

    @Test("a player's post and the server's of the same number are two submissions", arguments: numbers)
    func authorities(fields: [String: String]) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let mine = try await intake.post(fields: fields, as: player())
                let servers = try await intake.post(
                    fields: fields.merging(["account": "player-1"]) { $1 }, as: TestIntake.serverKey)
                #expect(mine.status == 202 && servers.status == 202)
                #expect(mine.id != servers.id)
                #expect(try await database.column("is_server::text", of: mine.id) == "false")
                #expect(try await database.column("is_server::text", of: servers.id) == "true")
                #expect(try await intake.post(fields: fields, as: player()).id == mine.id)
                let due = try await database.pool.query("UPDATE submissions SET due_at = now() - interval '1 second'")
                #expect(due.affectedRows == 2)
                let claimed = try await SubmissionStore(pool: database.pool).claimDue(
                    limit: 10, lease: .seconds(60), leaseMaximum: .seconds(60))
                #expect(
                    Dictionary(uniqueKeysWithValues: claimed.submissions.map { ($0.message.submissionId, $0.isServer) })
                        == [
                            mine.id: false, servers.id: true,
                        ])
            }
        }
    }

    @Test("what proves itself is one submission, whoever posts it")
    func proofs() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                for fields in [["signed_transaction": Proofs.fresh()], ["receipt": Proofs.receipt(bytes: 300)]] {
                    let mine = try await intake.post(fields: fields, as: player())
                    #expect(try await database.column("is_server::text", of: mine.id) == "false")
                    let servers = try await intake.post(
                        fields: fields.merging(["account": "player-1"]) { $1 }, as: TestIntake.serverKey)
                    #expect(servers.id == mine.id)
                    #expect(
                        try await database.column("is_server::text", of: mine.id) == "true", "the server said so, too")
                }
            }
        }
    }

    @Test("to a player another's number, one that does not exist and one that is not known yet are one answer")
    func oneAnswer() async throws {
        try await TestDatabase.with { database in
            // More ids than a player may post at once.
            try await TestIntake.with(
                url: database.url, settings: ["intake.account_ids_per_minute": "6000"]
            ) { intake in
                for fields in Self.numbers {
                    var answers: Set<String> = []
                    func ask() async throws {
                        let posted = try await intake.post(fields: fields, as: player())
                        answers.insert(content(posted))
                        answers.insert(
                            content(try await intake.send(.get, "/v1/purchases/\(posted.id)", token: player())))
                        let stranger = try await intake.send(
                            .get, "/v1/purchases/\(posted.id)", token: player("player-2"))
                        #expect(stranger.status == 404)
                    }
                    let id = try await intake.post(fields: fields, as: player()).id
                    for outcome in Self.hidden {
                        try await settle(id, outcome, on: database.pool)
                        try await ask()
                    }
                    // Rejected long ago: the post has Apple asked again.
                    try await settle(id, Self.hidden[1], on: database.pool)
                    _ = try await database.pool.query("UPDATE submissions SET settled_at = now() - interval '1 hour'")
                    try await ask()
                    // Apple has answered once that it knows no such id.
                    _ = try await database.pool.query(
                        """
                        UPDATE submissions SET state = 'received', outcome = NULL, due_at = now() + interval '1 hour',
                            reopened_at = NULL, not_found_count = 1
                        """)
                    try await ask()
                    #expect(answers.count == 1, "\(answers)")
                    let answer = try #require(answers.first)
                    #expect(answer.hasPrefix("200 ") && answer.contains("\"possession_unproven\""))
                    #expect(answer.contains("\"finish\":false") && answer.contains("\"transactions\":[]"))
                    #expect(answer.contains("post the signed transaction"))
                    _ = try await database.pool.query("DELETE FROM submissions")
                }
            }
        }
    }

    @Test("the sandbox is Apple's word about a number, and stands in a receipt")
    func sandbox() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let refused = SubmissionOutcome(state: .rejected, finish: false, reason: .sandboxRefused)
                var reasons: [String?] = []
                for fields in Self.numbers {
                    let id = try await intake.post(fields: fields, as: player()).id
                    try await settle(id, refused, on: database.pool)
                    reasons.append(try await intake.post(fields: fields, as: player()).fields["reason"] as? String)
                }
                #expect(reasons == ["possession_unproven", "possession_unproven", "sandbox_refused"])
            }
        }
    }

    @Test("what Apple's token gives the poster is told; the server is told all, and so is its player")
    func toldToItsOwner() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let granted = SubmissionOutcome(state: .fulfilled, finish: true, transactions: [Self.transaction])
                let fields = Self.numbers[0]
                let mine = try await intake.post(fields: fields, as: player())
                try await settle(mine.id, granted, on: database.pool)
                let told = try await intake.post(fields: fields, as: player())
                #expect(told.state == "fulfilled" && told.text.contains("secret.product"))
                let named = fields.merging(["account": "player-1"]) { $1 }
                let servers = try await intake.post(fields: named, as: TestIntake.serverKey)
                for outcome in Self.hidden {
                    try await settle(servers.id, outcome, on: database.pool)
                    let path = "/v1/purchases/\(servers.id)"
                    for token in [TestIntake.serverKey, try player()] {
                        let answer = try await intake.send(.get, path, token: token)
                        #expect(answer.fields["reason"] as? String == outcome.reason?.rawValue)
                    }
                    try await settle(mine.id, outcome, on: database.pool)
                    let seen = try await intake.send(.get, "/v1/purchases/\(mine.id)", token: TestIntake.serverKey)
                    #expect(seen.fields["reason"] as? String == outcome.reason?.rawValue)
                }
            }
        }
    }

    @Test("an app that takes numbers for proofs is told what there is")
    func possessionByNumber() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, possession: .number) { intake in
                let id = try await intake.post(fields: Self.numbers[0], as: player()).id
                try await settle(id, Self.hidden[1], on: database.pool)
                let answer = try await intake.post(fields: Self.numbers[0], as: player())
                #expect(answer.fields["reason"] as? String == "transaction_not_found")
            }
        }
    }

    @Test("who waits learns by the time of the answer no more than by its words")
    func timing() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { row, waiters in
                // The hint of what was found, which comes at once; what is not found has none.
                if row.message.proof == "2000000123" {
                    waiters.resolve(row.message.submissionId, with: Self.hidden[0])
                }
            } _: { intake in
                let waits = Duration.seconds(1)
                for id in ["2000000123", "2000000999"] {
                    let start = ContinuousClock.now
                    let answer = try await intake.post(fields: ["transaction_id": id], as: player(), wait: 1)
                    #expect(ContinuousClock.now - start >= waits)
                    try await settle(answer.id, Self.hidden[id == "2000000123" ? 0 : 1], on: database.pool)
                    for again in 0..<2 {
                        let start = ContinuousClock.now
                        let answer =
                            again == 0
                            ? try await intake.post(fields: ["transaction_id": id], as: player(), wait: 1)
                            : try await intake.send(.get, "/v1/purchases/\(answer.id)?wait=1", token: player())
                        #expect(answer.fields["reason"] as? String == "possession_unproven")
                        #expect(ContinuousClock.now - start >= waits)
                    }
                }
            }
        }
    }

    @Test("the server's post of what was not found is judged again, at a pace, and its caller is told it was received")
    func reopened() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let fields = Self.numbers[0].merging(["account": "player-1"]) { $1 }
                let id = try await intake.post(fields: fields, as: TestIntake.serverKey).id
                try await settle(id, Self.hidden[1], on: database.pool)
                let early = try await intake.post(fields: fields, as: TestIntake.serverKey)
                #expect(early.status == 200 && early.fields["reason"] as? String == "transaction_not_found")
                #expect(intake.published.withLock(\.count) == 1)
                _ = try await database.pool.query("UPDATE submissions SET settled_at = now() - interval '60 seconds'")
                let later = try await intake.post(fields: fields, as: TestIntake.serverKey)
                #expect(later.id == id && later.status == 202 && later.state == "received")
                // It is published after its caller has the answer.
                while intake.published.withLock(\.count) < 2 { await Task.yield() }
                #expect(intake.published.withLock { $0.map(\.message.submissionId) } == [id, id])
                #expect(try await database.column("state", of: id) == "received")
            }
        }
    }
}
