import Foundation
import HTTPTypes
import HummingbirdTesting
import Messages
import Persistence
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite("The order id of Apple's e-mail as a proof")
struct OrderIdTests {
    private func request(_ fields: String) throws -> PurchaseRequest {
        try JSONBody.decode(PurchaseRequest.self, from: Array("{\"app\":\"a\",\(fields)}".utf8))
    }

    @Test(
        "it is the same however it was typed",
        arguments: ["MV7KQ2XH0P", "mv7kq2xh0p", " Mv7kQ2xh0P\\n", "\\t\\r\\nMV7KQ2XH0P\\u00a0\\u2003"])
    func spelling(text: String) throws {
        let proof = try request("\"order_id\":\"\(text)\"").proof()
        #expect(proof.kind == .orderId && proof.text == "MV7KQ2XH0P" && proof.namedTransactionId == nil)
        #expect(PartitionKey.make(proof, account: "player") == "MV7KQ2XH0P")
    }

    @Test(
        "what is no such id is a problem that names the field",
        arguments: [
            "", " ", "MV 7K", "MV-7K", "MV7K.", "ＭＶ７", "ß", "MV\\u00007K", "../MV7", "MV7K/", "\\u200bMV7K",
            String(repeating: "M", count: 65), String(repeating: " ", count: 100_000),
        ])
    func malformed(text: String) throws {
        let request = try request("\"order_id\":\"\(text)\"")
        let problem = try #require(throws: ProblemDetails.self) { try request.proof() }
        #expect(problem.code == "field-invalid" && problem.extensions["field"] == "order_id")
    }

    @Test("64 characters are the most; an id of digits and one of a letter are ids as well")
    func lengths() {
        #expect(OrderId(String(repeating: "m", count: 64))?.text == String(repeating: "M", count: 64))
        #expect(OrderId("7")?.text == "7")
        #expect(OrderId("  a  ")?.text == "A")
    }

    @Test(
        "it stands alone",
        arguments: [
            ("\"signed_transaction\":\"e30.e30.c2ln\"", "signed_transaction"), ("\"receipt\":\"MIIB\"", "receipt"),
            ("\"transaction_id\":\"1\"", "transaction_id"),
            ("\"receipt\":\"MIIB\",\"transaction_id\":\"1\"", "receipt"),
        ])
    func ambiguous(other: String, field: String) throws {
        let request = try request("\"order_id\":\"MV7K\",\(other)")
        let problem = try #require(throws: ProblemDetails.self) { try request.proof() }
        #expect(problem.code == "proof-ambiguous" && problem.extensions["field"] == "order_id")
        #expect(problem.detail?.contains("`\(field)` or `order_id`") == true)
        #expect(try self.request("\"order_id\":null,\(other)").proof().kind != .orderId)
    }

    @Test("no proof at all is told with all four names")
    func missing() throws {
        let problem = try #require(throws: ProblemDetails.self) { try request("\"order_id\":null").proof() }
        #expect(problem.code == "field-missing")
        #expect(problem.detail?.contains("`order_id`") == true)
    }

    @Test("only Apple can tell what was bought by it")
    func topic() {
        #expect(ProofKind.orderId.topic == Topics.lookups)
        #expect(ProofKind.serverNotification.topic == Topics.submissions)
    }

    @Test(
        "posted, it is one submission of the account, in upper case",
        .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment))
    func posted() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                let answer = try await intake.post(
                    fields: ["order_id": " mv7kq2xh0p ", "environment": "production"], as: player)
                #expect(answer.status == 202, "\(answer.text)")
                #expect(try await database.column("kind", of: answer.id) == "order_id")
                #expect(try await database.column("proof", of: answer.id) == "MV7KQ2XH0P")
                #expect(try await database.column("partition_key", of: answer.id) == "MV7KQ2XH0P")
                #expect(try await database.column("expected_environment", of: answer.id) == "production")
                let sent = await intake.firstPublished()
                #expect(sent.kind == .orderId && sent.proof == "MV7KQ2XH0P" && sent.account == "player-1")
                #expect(try await intake.post(fields: ["order_id": "MV7KQ2XH0P"], as: player).id == answer.id)
                let bare = try await intake.post(fields: ["transaction_id": "MV7KQ2XH0P"], as: player)
                #expect(bare.id != answer.id, "an id of a transaction is another proof")
                let theirs = try await intake.post(
                    fields: ["order_id": "MV7KQ2XH0P", "account": "player-2"], as: TestIntake.serverKey)
                #expect(theirs.status == 202 && theirs.id != answer.id)
                #expect(try await database.submissionCount() == 3)
            }
        }
    }
}
