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
}
