import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// Knowing a number proves nothing.
@Suite("Possession", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct PossessionTests {
    /// A verdict on a bare id that a player posted.
    private static func number(
        _ id: String, _ transaction: Transaction, by account: String, _ bench: Bench
    ) async throws -> VerdictMessage {
        var verdict = try await bench.verdict(id, .genuine([transaction]), account: account)
        verdict.claims.areUnproven = true
        return verdict
    }

    @Test(arguments: ["gems.100", "pro"])
    func `a bare id records the purchase, and the one who bought it gets it`(product: String) async throws {
        try await Bench.withOwners { bench in
            let bought = Bench.signed("t", product: product)
            try await bench.settle([try await Self.number("s1", bought, by: "mallory", bench)])
            #expect(try await bench.standing(of: "t") == "parked unclaimed -")
            let outcome = try #require(try await bench.outcome("s1"))
            #expect(outcome == SubmissionOutcomes.unproven)
            try await bench.post("s2", bought, by: "vera")
            #expect(try await bench.standing(of: "t") == "granted - vera")
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            // Nothing is shown of it to whoever guessed the number.
            #expect(try await bench.outcome("s1") == SubmissionOutcomes.unproven)
            #expect(try await bench.gems(of: "mallory") == 0)
            try await bench.expectClean()
        }
    }

    @Test func `Apple's token gives it to the poster, also when it is registered later`() async throws {
        try await Bench.withOwners { bench in
            let known = try await bench.token(of: "vera")
            let bought = Bench.signed("t1", token: known)
            try await bench.settle([try await Self.number("s1", bought, by: "vera", bench)])
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            let token = UUID()
            let other = Bench.signed("t2", token: token)
            try await bench.settle([try await Self.number("s2", other, by: "vera", bench)])
            #expect(try await bench.outcome("s2") == SubmissionOutcomes.unproven)
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "vera")
            _ = try await bench.grantParked()
            #expect(try await bench.standing(of: "t2") == "granted - vera")
            let outcome = try #require(try await bench.outcome("s2"))
            #expect(outcome.state == .fulfilled && outcome.transactions.map(\.transactionId) == ["t2"])
            try await bench.expectClean()
        }
    }
}
