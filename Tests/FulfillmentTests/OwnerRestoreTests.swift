import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// Another account posts what is somebody's: the product's restore policy decides.
@Suite("Restoring purchases", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct OwnerRestoreTests {
    private static let week = ProductDuration("P1W") ?? RestoreRule.Default.period

    @Test func `keep: it stays where it is, and the other is told so`() async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Bench.signed("p", product: "pro"), by: "anna")
            try await bench.post("s2", Bench.signed("p", product: "pro"), by: "ben")
            #expect(try await bench.owner(of: "p") == "anna possession")
            #expect(try await bench.bindings(of: "p") == [">anna possession s1"])
            let outcome = try #require(try await bench.outcome("s2"))
            #expect(outcome.state == .rejected && outcome.finish && outcome.reason == .belongsToAnotherAccount)
            #expect(try await bench.tellings(to: "anna") + bench.tellings(to: "ben") == [])
            try await bench.expectClean()
        }
    }

    @Test func `transfer: everything of the lineage moves but the items, and both are told`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .transfer)) { bench in
            try await bench.post("s1", Bench.season(1), Bench.season(2), by: "anna")
            #expect(try await bench.number("SELECT count(*) FROM subscriptions WHERE account = 'anna'") == 1)
            // What was signed before the lineage was bound is no proof that one has it now.
            try await bench.post("s0", Bench.season(1), by: "ben")
            #expect(try await bench.owner(of: "v1") == "anna possession")
            try await bench.post("s2", Bench.season(1, signed: 40), by: "ben")
            #expect(try await bench.owner(of: "v1") == "ben transfer")
            #expect(try await bench.bindings(of: "v1") == [">anna possession s1", "anna>ben transfer transfer s2"])
            #expect(try await bench.standing(of: "v1") == "granted - ben")
            #expect(try await bench.standing(of: "v2") == "granted - ben")
            #expect(try await bench.inForce() == ["ben vip v1", "ben vip v2"])
            #expect(try await bench.number("SELECT count(*) FROM entitlements WHERE account = 'anna'") == 0)
            #expect(try await bench.number("SELECT count(*) FROM subscriptions WHERE account = 'ben'") == 1)
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(try await bench.gems(of: "ben") == 0)
            let outcome = try #require(try await bench.outcome("s2"))
            #expect(outcome.state == .fulfilled && outcome.finish && outcome.reason == nil)
            #expect(outcome.transactions.map(\.state) == [.granted])
            let told = [#"iap.customer.transferred anna>ben ["vip"]"#]
            #expect(try await bench.tellings(to: "anna") == told)
            #expect(try await bench.tellings(to: "ben") == told)
            try await bench.expectClean()
        }
    }

    @Test func `a verdict that comes again moves nothing again`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .transfer)) { bench in
            let pass = Verdict.genuine([Bench.signed("p", product: "pro")])
            let first = try await bench.verdict("s1", pass, account: "anna")
            let again = try await bench.verdict("s2", pass, account: "anna")
            let other = try await bench.verdict(
                "s3", .genuine(bench.signatures.resigned([Bench.signed("p", product: "pro")])), account: "ben")
            try await bench.settle([first, again])
            try await bench.settle([other])
            try await bench.settle([first, other, again, first])
            try await bench.settle([again])
            #expect(try await bench.owner(of: "p") == "ben transfer")
            #expect(try await bench.bindings(of: "p").count == 2)
            try await bench.post("s4", Bench.signed("p", product: "pro"), by: "anna")
            #expect(try await bench.owner(of: "p") == "anna transfer")
            #expect(try await bench.tellings(to: "ben").count == 2)
            try await bench.expectClean()
        }
    }

    @Test(arguments: [false, true])
    func `two players in one batch leave what they leave in two`(isOneBatch: Bool) async throws {
        try await Bench.withOwners(RestoreRule(policy: .transfer)) { bench in
            let pass = Verdict.genuine([Bench.signed("p", product: "pro")])
            let verdicts = [
                try await bench.verdict("s1", pass, account: "anna"),
                try await bench.verdict(
                    "s2", .genuine(bench.signatures.resigned([Bench.signed("p", product: "pro")])), account: "ben"),
            ]
            for batch in isOneBatch ? [verdicts] : verdicts.map({ [$0] }) { try await bench.settle(batch) }
            #expect(try await bench.bindings(of: "p") == [">anna possession s1", "anna>ben transfer transfer s2"])
            #expect(try await bench.gems(of: "anna") == 7)
            #expect(try await bench.inForce() == ["ben pro p"])
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            try await bench.expectClean()
        }
    }

    @Test func `no more transfers in a period than the rule allows`() async throws {
        let rule = RestoreRule(policy: .transfer, transfersMaximum: 2, period: Self.week)
        try await Bench.withOwners(rule) { bench in
            let pass = Bench.signed("p", product: "pro")
            var bench = bench
            bench.now = { Date() }
            for (number, account) in ["anna", "ben", "cleo", "anna"].enumerated() {
                try await bench.post("s\(number)", pass, by: account)
            }
            #expect(try await bench.owner(of: "p") == "cleo transfer")
            let outcome = try #require(try await bench.outcome("s3"))
            #expect(outcome.state == .rejected && outcome.finish && outcome.reason == .restoreLimitReached)
            #expect(outcome.transactions.map(\.reason) == [.restoreLimitReached])
            #expect(
                try await bench.answers("SELECT refused FROM lineage_claims WHERE submission_id = 's3'")
                    == ["restore_limit_reached"])
            // Who was refused may be heard again; a week later there is room.
            bench.now = { Date().addingTimeInterval(8 * 86_400) }
            try await bench.post("s4", pass, by: "anna")
            #expect(try await bench.owner(of: "p") == "anna transfer")
            try await bench.expectClean()
        }
    }

    @Test func `transfer_if_inactive: only while nothing of it may be used`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .transferIfInactive)) { bench in
            try await bench.post("s1", Bench.season(1), by: "anna")
            try await bench.post("s2", Bench.season(1), by: "ben")
            #expect(try await bench.owner(of: "v1") == "anna possession")
            #expect(try await bench.outcome("s2")?.reason == .belongsToAnotherAccount)
            var later = bench
            later.now = { Bench.day(40) }
            try await later.post("s3", Bench.season(1), by: "ben")
            #expect(try await later.owner(of: "v1") == "ben transfer")
            #expect(
                try await later.bindings(of: "v1").last == "anna>ben transfer transfer_if_inactive s3")
            try await later.expectClean()
        }
    }

    @Test func `share: both may use it, now and with every renewal, and only the owner gets items`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .share)) { bench in
            try await bench.post("s1", Bench.season(1), by: "anna")
            try await bench.post("s2", Bench.season(1), by: "ben")
            #expect(try await bench.owner(of: "v1") == "anna possession")
            #expect(try await bench.inForce() == ["anna vip v1", "ben vip v1"])
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            #expect(try await bench.outcome("s2")?.transactions.map(\.reason) == [nil])
            let told = [#"iap.customer.shared anna>ben ["vip"]"#]
            #expect(try await bench.tellings(to: "anna") == told)
            #expect(try await bench.tellings(to: "ben") == told)
            try await bench.notify("n1", Bench.season(2))
            #expect(
                try await bench.inForce() == ["anna vip v1", "anna vip v2", "ben vip v1", "ben vip v2"])
            #expect(try await bench.gems(of: "anna") == 20)
            #expect(try await bench.gems(of: "ben") == 0)
            #expect(try await bench.tellings(to: "ben").count == 2)
            try await bench.post("s3", Bench.season(2), by: "ben")
            #expect(try await bench.outcome("s3")?.state == .fulfilled)
            #expect(try await bench.bindings(of: "v1").count == 2)
            try await bench.expectClean()
        }
    }

    @Test func `no more accounts share than the rule allows`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .share, accountsMaximum: 2)) { bench in
            let pass = Bench.signed("p", product: "pro")
            for (number, account) in ["anna", "ben", "cleo"].enumerated() {
                try await bench.post("s\(number)", pass, by: account)
            }
            #expect(try await bench.inForce() == ["anna pro p", "ben pro p"])
            #expect(try await bench.outcome("s2")?.reason == .restoreLimitReached)
            try await bench.expectClean()
        }
    }

    @Test func `who shared it and then gets it has it once`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .share)) { bench in
            try await bench.post("s1", Bench.season(1), by: "anna")
            try await bench.post("s2", Bench.season(1), by: "ben")
            let token = try await bench.token(of: "ben")
            try await bench.notify("n1", Bench.season(2, token: token))
            #expect(try await bench.owner(of: "v1") == "ben token")
            #expect(try await bench.inForce() == ["ben vip v1", "ben vip v2"])
            #expect(try await bench.number("SELECT count(*) FROM lineage_shares") == 0)
            try await bench.expectClean()
        }
    }

    @Test func `what Apple took back is no proof for a restore`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .transfer)) { bench in
            try await bench.post("s1", Bench.signed("p", product: "pro"), by: "anna")
            var refunded = Bench.signed("p", product: "pro")
            refunded.revocationDate = Bench.day(2)
            refunded.signedDate = Bench.day(2)
            try await bench.post("s2", refunded, by: "ben")
            #expect(try await bench.owner(of: "p") == "anna possession")
            #expect(try await bench.standing(of: "p") == "revoked revoked_by_apple anna")
            try await bench.expectClean()
        }
    }

    @Test func `family members have lineages of their own`() async throws {
        try await Bench.withOwners { bench in
            var shared = Bench.season(1, lineage: "f")
            shared.ownership = "FAMILY_SHARED"
            try await bench.post("s1", Bench.season(1), by: "anna")
            try await bench.post("s2", shared, by: "ben")
            #expect(try await bench.inForce() == ["anna vip v1", "ben vip f1"])
            #expect(try await bench.column("ownership", of: "f1") == "FAMILY_SHARED")
            try await bench.expectClean()
        }
    }
}
