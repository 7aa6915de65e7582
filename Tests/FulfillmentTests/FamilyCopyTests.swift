import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// A family member's copy that came in a receipt, which does not say that it is one: corrected once Apple says so.
@Suite("Family copies out of receipts", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct FamilyCopyTests {
    private static func with(
        _ family: FamilyPolicy, _ takeBacks: [String: TakeBackPolicy] = [:], _ body: (Bench) async throws -> Void
    ) async throws {
        try await Bench.with { bench in
            var bench = bench
            bench.products = Catalogue([
                Bench.app: [
                    Catalogue.Product(
                        id: "pro", type: .nonConsumable, items: [Catalogue.ItemGrant(item: "gem", amount: 50)],
                        entitlements: ["pro"], takeBacks: takeBacks, family: family)
                ]
            ])
            try await body(bench)
            try await bench.expectClean()
        }
    }

    private static func copy(signed: Double = 5, revoked: Double? = nil) -> Transaction {
        var transaction = Bench.signed("f", product: "pro")
        transaction.ownership = "FAMILY_SHARED"
        transaction.signedDate = Bench.day(signed)
        transaction.revocationDate = revoked.map(Bench.day)
        return transaction
    }

    private static let entry = Bench.entry("f", product: "pro")

    private func lines(_ bench: Bench) async throws -> [String] { try await bench.lines(of: "f") }

    @Test func `the items are taken back, and the account is told`() async throws {
        try await Self.with(.entitlements) { bench in
            try await bench.post("s1", Self.entry, by: "ben")
            #expect(try await bench.gems(of: "ben") == 50)
            try await bench.notify("n1", Self.copy())
            #expect(try await bench.gems(of: "ben") == 0)
            #expect(try await lines(bench) == ["grant 1 50 gem", "correction 1 -50 gem"])
            #expect(try await bench.inForce() == ["ben pro f"])
            #expect(
                try await bench.events(of: "f") == [
                    "transaction.fulfilled ben 50gem pro", "account.adjusted ben -50gem",
                ])
            try await bench.notify("n2", Self.copy(signed: 6))
            try await bench.post("s2", Self.entry, by: "ben")
            #expect(try await lines(bench).count == 2)
        }
    }

    @Test func `what was spent meanwhile is taken as far as the product's refunds go`() async throws {
        for (policy, balance) in [(TakeBackPolicy.toZero, 0), (.toNegative, -30)] as [(TakeBackPolicy, Int64)] {
            try await Self.with(.entitlements, ["gem": policy]) { bench in
                try await bench.post("s1", Self.entry, by: "ben")
                try await bench.spend(30, by: "ben")
                try await bench.notify("n1", Self.copy())
                #expect(try await bench.gems(of: "ben") == balance)
            }
        }
    }

    @Test func `a revoke that says so takes all at once, and a new share gives no items back`() async throws {
        try await Self.with(.entitlements) { bench in
            try await bench.post("s1", Self.entry, by: "ben")
            try await bench.notify("n1", Self.copy(revoked: 4))
            #expect(try await bench.gems(of: "ben") == 0)
            #expect(try await bench.inForce().isEmpty)
            try await bench.notify("n2", Self.copy(signed: 6))
            #expect(try await bench.gems(of: "ben") == 0)
            #expect(try await bench.inForce() == ["ben pro f"])
        }
    }

    @Test func `a receipt's refund, given back as a family copy, brings no items`() async throws {
        try await Self.with(.entitlements) { bench in
            try await bench.post("s1", Self.entry, by: "ben")
            var cancelled = Self.entry
            cancelled.revocationDate = Bench.day(2)
            cancelled.signedDate = Bench.day(3)
            try await bench.post("s2", cancelled, by: "ben")
            #expect(try await bench.gems(of: "ben") == 0)
            try await bench.notify("n1", Self.copy())
            #expect(try await bench.gems(of: "ben") == 0)
            #expect(try await bench.inForce() == ["ben pro f"])
        }
    }

    @Test func `of a product that gives families nothing, the entitlement goes too, and stays gone`() async throws {
        try await Self.with(.nothing) { bench in
            try await bench.post("s1", Self.entry, by: "ben")
            #expect(try await bench.inForce() == ["ben pro f"])
            try await bench.notify("n1", Self.copy())
            #expect(try await bench.inForce().isEmpty)
            #expect(try await bench.entitlements(of: "f") == ["pro ben family_copy"])
            try await bench.notify("n2", Self.copy(signed: 6, revoked: 5.5))
            try await bench.notify("n3", Self.copy(signed: 7))
            #expect(try await bench.inForce().isEmpty)
        }
    }

    @Test func `of a product that gives families all, nothing is taken`() async throws {
        try await Self.with(.all) { bench in
            try await bench.post("s1", Self.entry, by: "ben")
            try await bench.notify("n1", Self.copy())
            #expect(try await bench.gems(of: "ben") == 50)
            #expect(try await lines(bench) == ["grant 1 50 gem"])
        }
    }
}
