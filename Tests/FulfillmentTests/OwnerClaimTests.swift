import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// A person says whose a parked order is.
@Suite("Claims by operators", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct OwnerClaimTests {
    private func claim(_ id: String, for account: String, _ bench: Bench) async throws -> Int64 {
        try await OperatorClaimStore(pool: bench.pool).claim(
            environment: .production, transactionId: id, account: account, actor: "eve", reason: "ticket 12"
        ).auditId
    }

    @Test func `an unclaimed consumable is granted, with the operator's row in the history`() async throws {
        try await Bench.withOwners { bench in
            let receipt = Verdict.genuine([Bench.entry("g1"), Bench.entry("g2")])
            try await bench.settle([try await bench.verdict("s1", receipt, account: "anna", claims: ["g1"])])
            let audit = try await claim("g2", for: "ben", bench)
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.grantParked() == 0)
            #expect(try await bench.standing(of: "g2") == "granted - ben")
            #expect(try await bench.gems(of: "ben") == 100)
            #expect(try await bench.bindings(of: "g2") == [">ben operator"])
            #expect(
                try await bench.answers("SELECT audit_id FROM binding_history WHERE original_transaction_id = 'g2'")
                    == ["\(audit)"])
            #expect(
                try await bench.answers("SELECT concat_ws(' ', actor, action, subject, reason) FROM audit_log")
                    == ["eve claim production g2 ben ticket 12"])
            #expect(try await bench.number("SELECT count(*) FROM operator_claims WHERE due_at IS NOT NULL") == 0)
            try await bench.expectClean()
        }
    }

    @Test func `a subscription with a token of nobody goes to the account, with all that waits and comes`() async throws
    {
        try await Bench.withOwners { bench in
            let token = UUID()
            try await bench.post("s1", Bench.season(1, token: token), by: "ben")
            try await bench.notify("n1", Bench.season(2, token: token))
            #expect(try await bench.outcome("s1")?.reason == .accountTokenUnknown)
            _ = try await claim("v2", for: "ben", bench)
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "v1") == "granted - ben")
            #expect(try await bench.standing(of: "v2") == "granted - ben")
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            #expect(try await bench.owner(of: "v1") == "ben operator")
            try await bench.notify("n2", Bench.season(3, token: token))
            #expect(try await bench.standing(of: "v3") == "granted - ben")
            try await bench.expectClean()
        }
    }

    @Test func `an order in somebody's lineage takes the lineage along, and both are told`() async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Bench.season(1), by: "anna")
            try await bench.notify("n1", Bench.season(2, token: UUID()))
            #expect(try await bench.standing(of: "v2") == "parked account_token_unknown -")
            _ = try await claim("v2", for: "ben", bench)
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.bindings(of: "v1") == [">anna possession s1", "anna>ben operator"])
            #expect(try await bench.inForce() == ["ben vip v1", "ben vip v2"])
            #expect(try await bench.tellings(to: "anna").count == 1)
            #expect(try await bench.tellings(to: "ben").count == 1)
            try await bench.expectClean()
        }
    }

    @Test func `a claim of an unknown product is held for the next doubt`() async throws {
        try await Bench.withOwners { bench in
            let receipt = Verdict.genuine([Bench.entry("g1"), Bench.entry("h1", product: "hat")])
            try await bench.settle([try await bench.verdict("s1", receipt, account: "anna", claims: ["g1"])])
            _ = try await claim("h1", for: "ben", bench)
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "h1") == "parked product_unknown ben")
            try await bench.expectClean()
        }
    }

    @Test func `what cannot be claimed is refused, and nothing is written`() async throws {
        try await Bench.withOwners { bench in
            let receipt = Verdict.genuine([Bench.entry("g1"), Bench.entry("g2"), Bench.entry("h1", product: "hat")])
            try await bench.settle([try await bench.verdict("s1", receipt, account: "anna", claims: ["g1", "h1"])])
            await #expect(throws: OperatorClaimStore.Refusal.orderNotFound) {
                _ = try await claim("nothing", for: "ben", bench)
            }
            await #expect(throws: OperatorClaimStore.Refusal.orderNotParked(.granted)) {
                _ = try await claim("g1", for: "ben", bench)
            }
            await #expect(
                throws: OperatorClaimStore.Refusal.orderHasAccount(account: "anna", reason: .productUnknown)
            ) {
                _ = try await claim("h1", for: "ben", bench)
            }
            await #expect(throws: OperatorClaimStore.Refusal.invalid(field: "account")) {
                _ = try await claim("g2", for: "", bench)
            }
            #expect(try await bench.number("SELECT count(*) FROM audit_log") == 0)
            _ = try await claim("g2", for: "ben", bench)
            await #expect(throws: OperatorClaimStore.Refusal.alreadyClaimed(account: "ben")) {
                _ = try await claim("g2", for: "cleo", bench)
            }
            #expect(try await bench.number("SELECT count(*) FROM audit_log") == 1)
        }
    }

    @Test func `a claim that comes too late is over`() async throws {
        try await Bench.withOwners { bench in
            let receipt = Verdict.genuine([Bench.entry("g1"), Bench.entry("g2")])
            try await bench.settle([try await bench.verdict("s1", receipt, account: "anna", claims: ["g1"])])
            _ = try await claim("g2", for: "ben", bench)
            try await bench.settle([try await bench.verdict("s2", receipt, account: "cleo", claims: ["g2"])])
            #expect(try await bench.grantParked() == 0)
            #expect(try await bench.standing(of: "g2") == "granted - cleo")
            #expect(try await bench.number("SELECT count(*) FROM operator_claims WHERE due_at IS NOT NULL") == 0)
            try await bench.expectClean()
        }
    }
}
