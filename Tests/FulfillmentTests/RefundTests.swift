import Foundation
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// What Apple takes back, and gives back, of what was granted.
@Suite("Refunds", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct RefundTests {
    @Test func `a refund takes back what was granted, says so, and keeps when it was granted`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1"))
            try await bench.notify(Bench.refunded("t1", at: 10))
            #expect(try await bench.standing(of: "t1") == "revoked revoked_by_apple anna")
            #expect(
                try await bench.column("granted_at < revoked_at AND revocation_type = 'REFUND_FULL'", of: "t1")
                    == "true")
            #expect(try await bench.lines(of: "t1") == ["grant 1 100 gem", "revocation 1 -100 gem"])
            #expect(
                try await bench.events(of: "t1") == [
                    "transaction.fulfilled anna 100gem", "refund.granted anna -100gem",
                ])
            #expect(try await bench.balance() == 0)
            try await bench.expectClean()
        }
    }

    @Test func `the same refund again, alone or twice in a batch, costs no write`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1"))
            try await bench.settle([
                try await bench.notice([Bench.refunded("t1", at: 10)]),
                try await bench.notice([Bench.refunded("t1", at: 10)]),
            ])
            let version = try await bench.column("xmin::text || ' ' || ctid::text", of: "t1")
            try await bench.notify(Bench.refunded("t1", at: 10), Bench.refunded("t1", at: 10))
            try await bench.notify(Bench.bought("t1"))
            #expect(try await bench.column("xmin::text || ' ' || ctid::text", of: "t1") == version)
            #expect(try await bench.lines(of: "t1").count == 2)
            #expect(try await bench.events(of: "t1").count == 2)
        }
    }

    @Test func `refund, reversal, refund: each gives or takes exactly what the one before did not`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1"))
            try await bench.notify(Bench.refunded("t1", at: 10))
            try await bench.notify(Bench.bought("t1", at: 20))
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            #expect(try await bench.column("revoked_at IS NULL AND revocation_date IS NULL", of: "t1") == "true")
            #expect(try await bench.balance() == 100)
            try await bench.notify(Bench.refunded("t1", at: 30))
            #expect(try await bench.standing(of: "t1") == "revoked revoked_by_apple anna")
            #expect(
                try await bench.lines(of: "t1") == [
                    "grant 1 100 gem", "revocation 1 -100 gem", "reversal 1 100 gem", "revocation 2 -100 gem",
                ])
            #expect(
                try await bench.events(of: "t1").suffix(2) == [
                    "refund.reversed anna 100gem", "refund.granted anna -100gem",
                ])
            try await bench.expectClean()
        }
    }

    @Test("in any order, and in one batch or several, the end is the same", arguments: 1...4)
    func anyOrder(batches: Int) async throws {
        try await Bench.withRefunds { bench in
            for index in 0..<24 {
                let (id, account) = ("t\(index)", "player\(index)")
                let order = Self.permutation(
                    index,
                    of: [
                        Bench.bought(id), Bench.refunded(id, at: 10), Bench.bought(id, at: 20),
                        Bench.refunded(id, at: 30, percentage: 40_000),
                    ])
                let size = 4 / batches
                for batch in 0..<batches {
                    let part = order[batch * size..<(batch == batches - 1 ? 4 : (batch + 1) * size)]
                    try await bench.settle([
                        try await bench.verdict(UUID().uuidString, .genuine(Array(part)), account: account)
                    ])
                }
                // Who never had it loses nothing.
                let wasGranted = try await bench.column("granted_at IS NOT NULL", of: id) == "true"
                #expect(try await bench.balance(account) == (wasGranted ? 60 : 0))
                #expect(try await bench.standing(of: id) == "revoked revoked_by_apple \(account)")
                #expect(try await bench.column("signed_date = to_timestamp(1700000030)", of: id) == "true")
                #expect(try await bench.column("revocation_percentage", of: id) == "40000")
            }
            try await bench.expectClean()
        }
    }

    private static func permutation(_ index: Int, of list: [Transaction]) -> [Transaction] {
        var rest = list
        var index = index
        var result: [Transaction] = []
        while !rest.isEmpty {
            let count = rest.count
            result.append(rest.remove(at: index % count))
            index /= count
        }
        return result
    }

    @Test func `a refund before the purchase is known grants nothing; its reversal grants as if it were new`()
        async throws
    {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.refunded("t1", at: 10))
            #expect(try await bench.standing(of: "t1") == "revoked revoked_by_apple anna")
            try await bench.post(Bench.bought("t1"))
            try await bench.notify(Bench.refunded("t1", at: 15, percentage: 30_000))
            #expect(try await bench.lines(of: "t1").isEmpty)
            try await bench.notify(Bench.bought("t1", at: 20))
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            #expect(try await bench.lines(of: "t1") == ["grant 1 100 gem"])
            #expect(
                try await bench.events(of: "t1") == ["transaction.revoked anna", "transaction.fulfilled anna 100gem"])
            #expect(try await bench.column("catalogue_version IS NOT NULL", of: "t1") == "true")
            try await bench.notify(Bench.refunded("t1", at: 30))
            #expect(try await bench.balance() == 0)
            try await bench.expectClean()
        }
    }

    @Test func `a refund that nobody posted is somebody's once it is claimed, and its reversal grants to him`()
        async throws
    {
        try await Bench.withRefunds { bench in
            try await bench.notify(Bench.refunded("t1", at: 10))
            try await bench.post(Bench.bought("t1"), by: "ben")
            #expect(try await bench.standing(of: "t1") == "revoked revoked_by_apple ben")
            try await bench.notify(Bench.bought("t1", at: 20))
            #expect(try await bench.standing(of: "t1") == "granted - ben")
            #expect(try await bench.balance("ben") == 100)
        }
    }

    @Test func `what is parked and taken back is never granted, unless it is given back`() async throws {
        try await Bench.withRefunds { bench in
            var bench = bench
            try await bench.post(Bench.bought("t1", product: "later"))
            #expect(try await bench.standing(of: "t1") == "parked product_unknown anna")
            try await bench.notify(Bench.refunded("t1", product: "later", at: 10))
            #expect(try await bench.standing(of: "t1") == "revoked revoked_by_apple anna")
            bench.products = Catalogue([
                Bench.app: [
                    Catalogue.Product(
                        id: "later", type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: 7)],
                        entitlements: [])
                ]
            ])
            #expect(try await bench.grantParked() == 0)
            #expect(try await bench.balance() == 0)
            try await bench.notify(Bench.bought("t1", product: "later", at: 20))
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            #expect(try await bench.balance() == 7)
        }
    }

    @Test func `two refunds in one batch, of the same account`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1"), Bench.bought("t2"), Bench.bought("t3"))
            try await bench.spend(150)
            try await bench.settle([
                try await bench.notice([Bench.refunded("t2", at: 10)]),
                try await bench.notice([Bench.refunded("t1", at: 10)]),
            ])
            #expect(try await bench.lines(of: "t1").last == "revocation 1 -100 gem")
            #expect(try await bench.lines(of: "t2").last == "revocation 1 -50 gem")
            #expect(try await bench.balance() == 0)
            try await bench.expectClean()
        }
    }

    @Test func `a non-consumable's entitlement goes and comes back, but for what another order gives`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1", product: "pro"), Bench.bought("t2", product: "suite"))
            try await bench.notify(Bench.refunded("t2", product: "suite", at: 10))
            #expect(try await bench.entitlements(of: "t2") == ["extras anna refund", "pro anna refund"])
            #expect(try await bench.entitlements(of: "t1") == ["pro anna -"])
            #expect(try await bench.events(of: "t2").last == "refund.granted anna extras")
            try await bench.notify(Bench.bought("t2", product: "suite", at: 20))
            #expect(try await bench.entitlements(of: "t2") == ["extras anna -", "pro anna -"])
            #expect(try await bench.events(of: "t2").last == "refund.reversed anna extras,pro")
        }
    }

    @Test func `the end of a family is no refund`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1", product: "pro"))
            try await bench.notify(Bench.refunded("t1", product: "pro", at: 10, type: "FAMILY_REVOKE"))
            #expect(try await bench.entitlements(of: "t1") == ["pro anna family_revoke"])
            #expect(try await bench.events(of: "t1").last == "family.revoked anna pro")
            var shared = Bench.bought("t2", product: "pro")
            shared.ownership = "FAMILY_SHARED"
            try await bench.post(shared)
            shared.signedDate = Bench.time(10)
            shared.revocationDate = Bench.time(9)
            try await bench.notify(shared)
            #expect(try await bench.events(of: "t2").last == "family.revoked anna pro", "before Apple named the type")
        }
    }

    @Test func `an older period is refunded, and only that one`() async throws {
        try await Bench.withRefunds { bench in
            var periods = (1...3).map { Bench.bought("t\($0)", product: "vip.monthly") }
            for index in periods.indices {
                periods[index].originalTransactionId = "t1"
                periods[index].purchaseDate = Bench.time(Double(index) * 1000)
                if index < 2 { periods[index].expiresDate = Bench.time(Double(index + 1) * 1000) }
            }
            try await bench.settle([try await bench.verdict("s1", .genuine(periods), account: "anna")])
            #expect(try await bench.balance() == 30)
            var refund = periods[1]
            refund.signedDate = Bench.time(5000)
            refund.revocationDate = Bench.time(4999)
            refund.revocationPercentage = 55_000
            refund.revocationType = "REFUND_PRORATED"
            try await bench.notify(refund)
            #expect(try await bench.balance() == 25)
            #expect(try await bench.standing(of: "t2") == "revoked revoked_by_apple anna")
            #expect(try await bench.standing(of: "t3") == "granted - anna")
            #expect(try await bench.events(of: "t2").last == "refund.granted anna -5gem", "it had ended long ago")
            #expect(try await bench.entitlements(of: "t3") == ["vip anna -"])
        }
    }

    @Test func `a later end of the period moves the entitlement, told once`() async throws {
        try await Bench.withRefunds { bench in
            var period = Bench.bought("t1", product: "vip.monthly")
            period.expiresDate = Bench.time(1000)
            try await bench.post(period)
            period.signedDate = Bench.time(500)
            period.expiresDate = Bench.time(2_000_000_000)
            try await bench.notify(period)
            #expect(try await bench.column("expires_date = to_timestamp(3700000000)", of: "t1") == "true")
            #expect(
                try await bench.number(
                    "SELECT count(*) FROM entitlements WHERE expires_at = to_timestamp(3700000000)") == 1)
            period.signedDate = Bench.time(400)
            period.expiresDate = Bench.time(1500)
            try await bench.notify(period)
            #expect(try await bench.column("expires_date = to_timestamp(3700000000)", of: "t1") == "true")
        }
    }

    @Test func `a refund of what is shared is everybody's, and so is its reversal`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .share)) { bench in
            let pass = Bench.signed("n1", product: "pro")
            try await bench.post(pass, by: "anna")
            try await bench.post(pass, by: "ben")
            var refund = pass
            refund.signedDate = Bench.time(10)
            refund.revocationDate = Bench.time(9)
            try await bench.notify(refund)
            #expect(try await bench.entitlements(of: "n1") == ["pro anna refund", "pro ben refund"])
            try await bench.notify(Bench.bought("n1", product: "pro", at: 20))
            #expect(try await bench.entitlements(of: "n1") == ["pro anna -", "pro ben -"])
            #expect(
                try await bench.events(of: "n1").filter { !$0.hasPrefix("customer") } == [
                    "transaction.fulfilled anna 7gem pro", "refund.granted anna -7gem pro",
                    "refund.reversed anna 7gem pro",
                    "refund.granted ben pro", "refund.reversed ben pro",
                ])
            try await bench.expectClean()
        }
    }

    @Test func `a lineage that went away between a refund and its reversal, and came back, agrees with what was told`()
        async throws
    {
        try await Bench.withOwners(RestoreRule(policy: .transfer)) { bench in
            var bench = bench
            bench.products = Catalogue([
                Bench.app: [
                    Catalogue.Product(
                        id: "vip", type: .autoRenewable, items: [], entitlements: ["vip"],
                        restore: RestoreRule(policy: .transfer))
                ]
            ])
            try await bench.post(Bench.season(1), Bench.season(2), by: "anna")
            var refund = Bench.season(1, signed: 1)
            refund.revocationDate = refund.signedDate
            try await bench.notify(refund)
            try await bench.post(Bench.season(2, signed: 1), by: "ben")
            try await bench.notify(Bench.season(1, signed: 2))
            try await bench.post(Bench.season(2, signed: 2), by: "anna")
            #expect(try await bench.standing(of: "v1") == "granted - anna")
            #expect(
                try await bench.events(of: "v1").filter { $0.hasPrefix("refund") }
                    == ["refund.granted anna", "refund.reversed ben"])
            try await bench.expectClean()
        }
    }
}
