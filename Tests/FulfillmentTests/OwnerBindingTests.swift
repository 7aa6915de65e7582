import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// Whose a lineage is: by token, by possession, and for all that comes later.
@Suite("Binding lineages", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct OwnerBindingTests {
    @Test func `a renewal goes to the lineage's owner, whoever posts it`() async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Bench.season(1), by: "anna")
            try await bench.post("s2", Bench.season(2), by: "ben")
            #expect(try await bench.standing(of: "v2") == "granted - anna")
            #expect(try await bench.outcome("s2")?.reason == .belongsToAnotherAccount)
            try await bench.notify("n1", Bench.season(3))
            #expect(try await bench.standing(of: "v3") == "granted - anna")
            #expect(try await bench.gems(of: "anna") == 30)
            #expect(try await bench.bindings(of: "v1") == [">anna possession s1"])
            try await bench.expectClean()
        }
    }

    @Test func `renewals that came before anybody posted wait, and are granted with the first post`() async throws {
        try await Bench.withOwners { bench in
            try await bench.notify("n1", Bench.season(1))
            try await bench.notify("n2", Bench.season(2))
            #expect(try await bench.standing(of: "v1") == "parked unclaimed -")
            #expect(try await bench.owner(of: "v1") == "-")
            #expect(try await bench.outcome("n1")?.state == .fulfilled)
            try await bench.post("s1", Bench.season(2), by: "anna")
            #expect(try await bench.standing(of: "v1") == "granted - anna")
            #expect(try await bench.standing(of: "v2") == "granted - anna")
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(try await bench.column("correlation_id", of: "v1") == "req_n1")
            #expect(
                try await bench.number("SELECT count(*) FROM events WHERE type = '\(PurchaseEvent.fulfilled)'") == 2)
            try await bench.expectClean()
        }
    }

    @Test(arguments: [true, false])
    func `a post and Apple's notification in one batch leave the same`(isPostFirst: Bool) async throws {
        try await Bench.withOwners { bench in
            let post = try await bench.verdict("s1", .genuine([Bench.season(1)]), account: "anna")
            let told = try await bench.notification("n1", [Bench.season(1)])
            let gems = try await bench.verdict("s2", .genuine([Bench.signed("g")]), account: "anna")
            let toldGems = try await bench.notification("n2", [Bench.signed("g")])
            try await bench.settle(isPostFirst ? [post, told, gems, toldGems] : [told, post, toldGems, gems])
            #expect(try await bench.standing(of: "v1") == "granted - anna")
            #expect(try await bench.standing(of: "g") == "granted - anna")
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            try await bench.expectClean()
        }
    }

    @Test func `what was taken back while it was nobody's is the first poster's, too`() async throws {
        try await Bench.withOwners { bench in
            var refunded = Bench.season(1)
            refunded.revocationDate = Bench.day(3)
            refunded.revocationType = "REFUND_FULL"
            refunded.revocationPercentage = 100_000
            try await bench.notify("n1", refunded)
            #expect(try await bench.standing(of: "v1") == "revoked revoked_by_apple -")
            #expect(
                try await bench.column(
                    "concat_ws(' ', revocation_type, revocation_percentage, revoked_at IS NOT NULL)", of: "v1")
                    == "REFUND_FULL 100000 t")
            try await bench.post("s1", Bench.season(2), by: "anna")
            #expect(try await bench.standing(of: "v1") == "revoked revoked_by_apple anna")
            #expect(try await bench.gems(of: "anna") == 10)
            try await bench.expectClean()
        }
    }

    @Test func `a token binds, and the first binding is written down`() async throws {
        try await Bench.withOwners { bench in
            let token = try await bench.token(of: "anna")
            try await bench.post("s1", Bench.season(1, token: token), by: "ben")
            #expect(try await bench.owner(of: "v1") == "anna token")
            #expect(try await bench.bindings(of: "v1") == [">anna token s1"])
            #expect(try await bench.outcome("s1")?.reason == .belongsToAnotherAccount)
            #expect(try await bench.tellings(to: "anna") == [])
            try await bench.expectClean()
        }
    }

    @Test(arguments: [[1, 2], [2, 1]])
    func `another token of a newer purchase moves the lineage, in any order`(order: [Int]) async throws {
        try await Bench.withOwners { bench in
            let tokens = [try await bench.token(of: "anna"), try await bench.token(of: "ben")]
            for number in order {
                try await bench.notify("n\(number)", Bench.season(number, token: tokens[number - 1]))
            }
            #expect(try await bench.owner(of: "v1") == "ben token")
            #expect(try await bench.standing(of: "v1") == "granted - ben")
            #expect(try await bench.standing(of: "v2") == "granted - ben")
            #expect(try await bench.inForce() == ["ben vip v1", "ben vip v2"])
            // Apple signs the old purchase again when somebody asks; that is no newer purchase.
            try await bench.notify("n3", Bench.season(1, token: tokens[0], signed: 100))
            #expect(try await bench.owner(of: "v1") == "ben token")
            #expect(try await bench.tellings(to: "anna").count == (order == [1, 2] ? 1 : 0))
            try await bench.expectClean()
        }
    }

    @Test func `a token that comes again moves nothing back; another one does`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .transfer)) { bench in
            let token = try await bench.token(of: "anna")
            try await bench.post("s1", Bench.season(1, token: token), by: "anna")
            try await bench.post("s2", Bench.season(1, token: token), by: "ben")
            #expect(try await bench.owner(of: "v1") == "ben transfer")
            try await bench.notify("n1", Bench.season(2, token: token))
            #expect(try await bench.standing(of: "v2") == "granted - ben")
            let other = try await bench.token(of: "cleo")
            try await bench.notify("n2", Bench.season(3, token: other))
            #expect(try await bench.owner(of: "v1") == "cleo token")
            #expect(try await bench.bindings(of: "v1").last == "ben>cleo token n2")
            #expect(try await bench.tellings(to: "ben").count == 2)
            #expect(try await bench.tellings(to: "cleo").count == 1)
            try await bench.expectClean()
        }
    }

    @Test func `the first token of a lineage that was moved on purpose is the one it always had`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .transfer)) { bench in
            var entry = Bench.season(1)
            entry.productType = .unstated
            try await bench.post("s1", entry, by: "anna")
            try await bench.post("s2", entry, by: "ben")
            let token = try await bench.token(of: "anna")
            try await bench.notify("n1", Bench.season(1, token: token))
            #expect(try await bench.owner(of: "v1") == "ben transfer")
            #expect(try await bench.standing(of: "v1") == "granted - ben")
            try await bench.expectClean()
        }
    }

    @Test func `a token of nobody waits for its account, and no possession gets past it`() async throws {
        try await Bench.withOwners { bench in
            let token = UUID()
            try await bench.post("s1", Bench.season(1, token: token), by: "ben")
            #expect(try await bench.standing(of: "v1") == "parked account_token_unknown -")
            var entry = Bench.season(1)
            entry.productType = .unstated
            try await bench.post("s2", entry, by: "ben")
            #expect(try await bench.owner(of: "v1") == "-")
            #expect(try await bench.outcome("s2")?.reason == .accountTokenUnknown)
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "anna")
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.grantParked() == 0)
            #expect(try await bench.standing(of: "v1") == "granted - anna")
            #expect(try await bench.bindings(of: "v1") == [">anna token"])
            #expect(try await bench.outcome("s2")?.reason == .belongsToAnotherAccount)
            try await bench.notify("n1", Bench.season(2, token: token))
            #expect(try await bench.standing(of: "v2") == "granted - anna")
            try await bench.expectClean()
        }
    }

    @Test func `an order of a product that nobody knew binds its lineage when it is granted`() async throws {
        try await Bench.withOwners { bench in
            var entry = Bench.season(1)
            entry.productType = .unstated
            var before = bench
            before.products = Bench.catalogue
            try await before.post("s1", entry, by: "anna")
            #expect(try await bench.standing(of: "v1") == "parked product_unknown anna")
            #expect(try await bench.owner(of: "v1") == nil)
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "v1") == "granted - anna")
            #expect(try await bench.owner(of: "v1") == "anna possession")
            try await bench.post("s2", Bench.season(2), by: "ben")
            #expect(try await bench.standing(of: "v2") == "granted - anna")
            try await bench.expectClean()
        }
    }

    @Test func `of two players' gems in one old receipt each gets his own, by claiming them`() async throws {
        try await Bench.withOwners { bench in
            let receipt = [Bench.entry("g1"), Bench.entry("g2"), Bench.entry("p", product: "pro")]
            try await bench.settle([
                try await bench.verdict("s1", .genuine(receipt), account: "anna", claims: ["g1", "p"])
            ])
            #expect(try await bench.standing(of: "g2") == "parked unclaimed -")
            #expect(try await bench.gems(of: "anna") == 107)
            try await bench.settle([
                try await bench.verdict("s2", .genuine(receipt), account: "ben", claims: ["g2"])
            ])
            #expect(try await bench.standing(of: "g2") == "granted - ben")
            #expect(try await bench.standing(of: "g1") == "granted - anna")
            #expect(try await bench.owner(of: "p") == "anna possession")
            #expect(try await bench.number("SELECT count(*) FROM lineages") == 1)
            try await bench.expectClean()
        }
    }

    @Test func `who posts a known order is named in its story`() async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Bench.signed("g"), by: "anna")
            try await bench.post("s2", Bench.signed("g"), by: "ben")
            #expect(
                try await bench.answers("SELECT submission_id FROM submission_transactions WHERE transaction_id = 'g'")
                    == ["s2"])
        }
    }
}
