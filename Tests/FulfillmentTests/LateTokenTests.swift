import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// A token that is registered while a batch that names it is settled.
@Suite("Tokens registered meanwhile", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct LateTokenTests {
    @Test func `an order that waits for its lineage's owner is not left behind`() async throws {
        try await Bench.withOwners { bench in
            let token = UUID()
            let renewal = Bench.season(2, token: token)
            try await bench.notify("n1", Bench.season(1))
            try await bench.notify("n2", renewal)
            #expect(try await bench.standing(of: "v1") == "parked unclaimed -")
            #expect(try await bench.standing(of: "v2") == "parked account_token_unknown -")
            let again = try await bench.notification("n3", [renewal])
            // It has read the tokens, and waits for the lineage.
            try await bench.meanwhile(at: "SELECT FROM lineages WHERE original_transaction_id = 'v1' FOR UPDATE") {
                try await bench.settle([again])
            } _: {
                _ = try await AccountTokenStore(pool: bench.pool).register(
                    app: Bench.app, token: token, account: "anna")
            }
            _ = try await bench.grantParked()
            #expect(try await bench.standing(of: "v2") == "granted - anna")
            #expect(try await bench.standing(of: "v1") == "granted - anna")
            #expect(try await bench.gems(of: "anna") == 20)
            try await bench.expectClean()
        }
    }

    /// Seed 897 of the histories: the lineage stayed with who had it, and the refund was nobody's for ever.
    @Test func `what Apple took back before its token was known is its payer's, and so is the lineage`() async throws {
        try await Bench.withOwners { bench in
            let (first, second) = (UUID(), UUID())
            _ = try await AccountTokenStore(pool: bench.pool).register(
                app: Bench.app, token: first, account: "cleo")
            var refunded = Bench.season(2, token: second)
            refunded.revocationDate = refunded.purchaseDate.addingTimeInterval(86_400)
            try await bench.notify("n1", Bench.season(1, token: first))
            try await bench.notify("n2", refunded)
            #expect(try await bench.standing(of: "v1") == "granted - cleo")
            #expect(try await bench.standing(of: "v2") == "revoked revoked_by_apple -")
            _ = try await AccountTokenStore(pool: bench.pool).register(
                app: Bench.app, token: second, account: "anna")
            _ = try await bench.grantParked()
            #expect(try await bench.standing(of: "v2") == "revoked revoked_by_apple anna")
            #expect(try await bench.standing(of: "v1") == "granted - anna")
            // Nothing is left to look at.
            #expect(try await bench.grantParked() == 0)
            try await bench.expectClean()
        }
    }
}
