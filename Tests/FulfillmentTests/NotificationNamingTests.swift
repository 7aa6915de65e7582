import Foundation
import Messages
import PersistenceTesting
import PurchaseModel
import Testing

/// A server notification about an order that was there before stands in the order's story.
@Suite(.enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct NotificationNamingTests {
    @Test func `the notification that refunds an order is named with it`() async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Bench.signed("g"), by: "anna")
            var refunded = Bench.signed("g")
            refunded.revocationDate = refunded.purchaseDate.addingTimeInterval(60)
            refunded.signedDate = refunded.signedDate.addingTimeInterval(120)
            try await bench.settle([try await bench.notification("n1", [refunded])])
            #expect(try await bench.standing(of: "g") == "revoked revoked_by_apple anna")
            #expect(
                try await bench.answers("SELECT submission_id FROM submission_transactions WHERE transaction_id = 'g'")
                    == ["n1"])
            #expect(try await bench.outcome("n1")?.state == .fulfilled)
            try await bench.expectClean()
        }
    }
}
