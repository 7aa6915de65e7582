import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// What certificates signed that have expired since: held where nothing else tells of it, and without a say in what is known.
@Suite("Signed under expired certificates", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct ExpiredSignerTests {
    private static func old(_ transaction: Transaction) -> Transaction {
        var transaction = transaction
        transaction.hasExpiredSigner = true
        return transaction
    }

    private static func pro(_ id: String = "t", token: UUID? = nil) -> Transaction {
        Bench.signed(id, product: "pro", token: token)
    }

    private func expectHeld(_ bench: Bench, _ id: String) async throws {
        let outcome = try #require(try await bench.outcome(id))
        #expect(outcome.state == .parked && outcome.reason == .signedWithExpiredCertificate && !outcome.finish)
        #expect(outcome.transactions.map(\.transactionId) == ["t"])
        #expect(try await bench.number("SELECT count(*) FROM entitlements") == 0)
    }

    @Test func `it is an order that grants nothing, binds nothing and refunds nothing`() async throws {
        try await Bench.withOwners { bench in
            let token = try await bench.token(of: "anna")
            var refunded = Self.old(Self.pro("r", token: token))
            refunded.revocationDate = Bench.day(1)
            try await bench.post("s1", Self.old(Self.pro(token: token)), by: "ben")
            try await expectHeld(bench, "s1")
            try await bench.notify("n1", refunded)
            for id in ["t", "r"] {
                #expect(try await bench.standing(of: id) == "parked signed_with_expired_certificate -")
                #expect(try await bench.owner(of: id) == "-")
            }
            #expect(try await bench.grantParked() == 0, "its token, too, says nothing")
            #expect(try await bench.standing(of: "t") == "parked signed_with_expired_certificate -")
            try await bench.expectClean()
        }
    }

    @Test func `a consumable is held, too, and is not granted when the catalogue changes`() async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Self.old(Bench.signed("t")), by: "anna")
            try await expectHeld(bench, "s1")
            #expect(try await bench.grantParked() == 0)
            #expect(try await bench.gems(of: "anna") == 0)
            try await bench.expectClean()
        }
    }

    @Test func `what was granted stays as it is, whatever an old certificate signs of it`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .transfer)) { bench in
            let other = try await bench.token(of: "ben")
            try await bench.post("s1", Bench.season(1), by: "anna")
            let before = try await bench.column("transaction - 'signed_at'", of: "v1")
            var forged = Self.old(Bench.season(1, token: other, signed: 1_000))
            forged.expiresDate = Bench.day(9_000)
            var refund = Self.old(Bench.season(1, signed: 2_000))
            refund.revocationDate = Bench.day(1)
            var copy = forged
            copy.transactionId = "v1-copy"
            try await bench.post("s2", forged, by: "ben")
            try await bench.notify("n1", refund)
            try await bench.post("s3", copy, by: "ben")
            #expect(try await bench.standing(of: "v1") == "granted - anna")
            #expect(try await bench.column("transaction - 'signed_at'", of: "v1") == before)
            #expect(try await bench.owner(of: "v1") == "anna possession")
            #expect(try await bench.inForce() == ["anna vip v1"])
            for id in ["s2", "s3"] {
                #expect(try await bench.outcome(id)?.reason == .belongsToAnotherAccount, "\(id)")
            }
            // Whose it is may post it again, as old as it is.
            try await bench.post("s4", Self.old(Bench.season(1)), by: "anna")
            let outcome = try #require(try await bench.outcome("s4"))
            #expect(outcome.state == .fulfilled && outcome.finish)
            try await bench.expectClean()
        }
    }

    @Test func `a period of a subscription that is somebody's is held, and extends nothing`() async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Bench.season(1), by: "anna")
            try await bench.notify("n1", Self.old(Bench.season(2)))
            #expect(try await bench.standing(of: "v2") == "parked signed_with_expired_certificate -")
            #expect(try await bench.inForce() == ["anna vip v1"])
            let ends = "SELECT extract(epoch FROM access_until)::int8 FROM subscriptions"
            #expect(try await bench.number(ends) == Int64(Bench.day(30).timeIntervalSince1970))
            // Apple tells of it by itself: then it is the owner's, as every period.
            try await bench.notify("n2", Bench.season(2))
            #expect(try await bench.standing(of: "v2") == "granted - anna")
            #expect(try await bench.number(ends) == Int64(Bench.day(60).timeIntervalSince1970))
            try await bench.expectClean()
        }
    }

    @Test func `a newer proof grants it to whoever posts that, and the first poster is told`() async throws {
        try await Bench.withOwners { bench in
            let nobodys = UUID()
            try await bench.post("s1", Self.old(Self.pro(token: nobodys)), by: "anna")
            try await expectHeld(bench, "s1")
            try await bench.post("s2", Self.pro(), by: "anna")
            #expect(try await bench.standing(of: "t") == "granted - anna")
            #expect(try await bench.column("transaction ? 'expired_signer'", of: "t") == "false")
            for id in ["s1", "s2"] {
                let outcome = try #require(try await bench.outcome(id))
                #expect(outcome.state == .fulfilled && outcome.finish, "\(id)")
            }
            #expect(try await bench.inForce() == ["anna pro t"])
            try await bench.expectClean()
        }
    }

    @Test func `once Apple tells of it an old proof is still no proof of whose it is`() async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Self.old(Self.pro()), by: "ben")
            try await bench.notify("n1", Self.pro())
            #expect(try await bench.standing(of: "t") == "parked unclaimed -")
            try await expectHeld(bench, "s1")
            try await bench.post("s2", Self.old(Self.pro()), by: "ben")
            try await expectHeld(bench, "s2")
            #expect(try await bench.standing(of: "t") == "parked unclaimed -")
            try await bench.post("s3", Self.pro(), by: "anna")
            #expect(try await bench.standing(of: "t") == "granted - anna")
            for id in ["s1", "s2"] {
                #expect(try await bench.outcome(id)?.reason == .belongsToAnotherAccount, "\(id)")
            }
            try await bench.expectClean()
        }
    }

    @Test func `an operator says that it was paid for, and whose it is`() async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Self.old(Self.pro()), by: "anna")
            _ = try await OperatorClaimStore(pool: bench.pool).claim(
                environment: .production, transactionId: "t", account: "anna", actor: "olga", reason: "saw the invoice")
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "t") == "granted - anna")
            let outcome = try #require(try await bench.outcome("s1"))
            #expect(outcome.state == .fulfilled && outcome.finish)
            // And it stays so when the same comes again.
            try await bench.post("s2", Self.old(Self.pro()), by: "anna")
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            #expect(try await bench.standing(of: "t") == "granted - anna")
            try await bench.expectClean()
        }
    }

    @Test func `of a receipt what is known counts, and what is not is held`() async throws {
        try await Bench.withOwners { bench in
            try await bench.post("s1", Self.pro("k"), by: "anna")
            let entries = [Bench.entry("k", product: "pro"), Bench.entry("t", product: "pro")].map(Self.old)
            try await bench.settle([
                try await bench.verdict("s2", .genuine(entries), account: "anna", claims: ["k"]),
                try await bench.verdict("s3", .genuine(entries), account: "anna", claims: ["t"]),
            ])
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            let held = try #require(try await bench.outcome("s3"))
            #expect(held.reason == .signedWithExpiredCertificate && !held.finish)
            #expect(try await bench.inForce() == ["anna pro k"])
            try await bench.expectClean()
        }
    }
}
