import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// A subscription lapsed, and somebody pays anew: Apple keeps the original id, whichever account of the app it is.
@Suite("Subscriptions that had lapsed", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct LapsedSubscriptionTests {
    /// Seasons 1 and 2 are one run, season 4 begins another.
    private static func season(_ number: Int, reason: String) -> Transaction {
        var season = Bench.season(number)
        season.transactionReason = reason
        season.webOrderLineItemId = "w\(number)"
        return season
    }

    private static let first = season(1, reason: "PURCHASE")
    private static let renewed = season(2, reason: "RENEWAL")
    private static let anew = season(4, reason: "PURCHASE")
    private static let renewedAnew = season(5, reason: "RENEWAL")

    private static func withAnna(
        _ policy: NewPurchasePolicy = .payer, _ body: (Bench) async throws -> Void
    ) async throws {
        try await Bench.withOwners(RestoreRule(policy: .keep, newPurchase: policy)) { bench in
            var bench = bench
            bench.now = { Bench.day(95) }
            try await bench.post("s1", first, by: "anna")
            try await bench.notify("n1", renewed)
            try await body(bench)
            try await bench.expectClean()
        }
    }

    @Test func `whoever shows Apple's proof of what was paid anew has it`() async throws {
        try await Self.withAnna { bench in
            try await bench.post("s2", Self.anew, by: "ben")
            #expect(try await bench.standing(of: "v4") == "granted - ben")
            let outcome = try #require(try await bench.outcome("s2"))
            #expect(outcome.state == .fulfilled && outcome.finish && outcome.reason == nil)
            #expect(try await bench.owner(of: "v1") == "ben purchase")
            try await bench.notify("n2", Self.renewedAnew)
            #expect(try await bench.standing(of: "v5") == "granted - ben")
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(try await bench.gems(of: "ben") == 20)
        }
    }

    @Test(arguments: ["anna", "ben"])
    func `Apple tells of it first: it waits for whoever posts it`(payer: String) async throws {
        try await Self.withAnna { bench in
            try await bench.notify("n2", Self.anew)
            #expect(try await bench.standing(of: "v4") == "parked unclaimed -")
            try await bench.post("s2", Self.anew, by: payer)
            #expect(try await bench.standing(of: "v4") == "granted - \(payer)")
            #expect(try await bench.gems(of: "anna") == (payer == "anna" ? 30 : 20))
        }
    }

    @Test func `when Apple renews it before anybody came, it is the owner's from before`() async throws {
        try await Self.withAnna { bench in
            try await bench.notify("n2", Self.anew)
            try await bench.notify("n3", Self.renewedAnew)
            #expect(try await bench.standing(of: "v4") == "granted - anna")
            #expect(try await bench.standing(of: "v5") == "granted - anna")
        }
    }

    @Test func `a product may leave it to the owner`() async throws {
        try await Self.withAnna(.owner) { bench in
            try await bench.notify("n2", Self.anew)
            #expect(try await bench.standing(of: "v4") == "granted - anna")
            // Whoever paid is never told to finish, and be left with nothing.
            for post in ["s2", "s3"] {
                try await bench.post(post, Self.anew, by: "ben")
                let outcome = try #require(try await bench.outcome(post))
                #expect(outcome.state == .rejected && outcome.reason == .belongsToAnotherAccount && !outcome.finish)
            }
            // A period of the first run was nobody else's.
            try await bench.post("s4", Self.first, by: "ben")
            #expect(try await bench.outcome("s4")?.finish == true)
        }
    }

    @Test func `a renewal that came late, after failed payments, is no new purchase`() async throws {
        try await Self.withAnna { bench in
            try await bench.notify("n2", Self.season(4, reason: "RENEWAL"))
            #expect(try await bench.standing(of: "v4") == "granted - anna")
            // Nobody who has the next month's signed data gets the subscription by it.
            try await bench.post("s2", Self.renewedAnew, by: "ben")
            #expect(try await bench.outcome("s2")?.reason == .belongsToAnotherAccount)
            #expect(try await bench.standing(of: "v5") == "granted - anna")
        }
    }

    @Test func `who claims what was claimed already gets what the restore policy gives`() async throws {
        try await Self.withAnna { bench in
            try await bench.post("s2", Self.anew, by: "ben")
            try await bench.post("s3", Self.anew, by: "cleo")
            #expect(try await bench.outcome("s3")?.reason == .belongsToAnotherAccount)
            #expect(try await bench.owner(of: "v1") == "ben purchase")
        }
    }
}
