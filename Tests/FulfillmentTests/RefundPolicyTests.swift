import Foundation
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment
@testable import Persistence

/// How far a refund goes, by the catalogue's policies, and what players spent meanwhile.
@Suite("Policies of refunds", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct RefundPolicyTests {
    @Test(
        "each policy, in full and in part",
        arguments: [
            ("gems.100", nil, -70, 0), ("gems.100", 50_000, -50, 20), ("gems.100", 80_000, -70, 0),
            ("debt.100", nil, -100, -30), ("debt.100", 33_333, -33, 37), ("kept.100", nil, 0, 70),
        ] as [(String, Int64?, Int64, Int64)])
    func policy(product: String, percentage: Int64?, taken: Int64, left: Int64) async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1", product: product))
            try await bench.spend(30)
            try await bench.notify(Bench.refunded("t1", product: product, at: 10, percentage: percentage))
            #expect(try await bench.balance() == left)
            #expect(
                try await bench.lines(of: "t1").dropFirst() == (taken == 0 ? [] : ["revocation 1 \(taken) gem"]))
            #expect(try await bench.standing(of: "t1") == "revoked revoked_by_apple anna")
            #expect(
                try await bench.events(of: "t1").last == "refund.granted anna" + (taken == 0 ? "" : " \(taken)gem"))
            try await bench.notify(Bench.bought("t1", product: product, at: 20))
            #expect(try await bench.balance() == 70, "given back is exactly what was taken")
            try await bench.expectClean()
        }
    }

    @Test func `every item has a policy of its own`() async throws {
        try await Bench.withRefunds { bench in
            var purchase = Bench.bought("t1", product: "mixed")
            purchase.quantity = 2
            try await bench.post(purchase)
            try await bench.spend(150)
            try await bench.spend(5, "key")
            purchase.revocationDate = Bench.time(9)
            purchase.signedDate = Bench.time(10)
            try await bench.notify(purchase)
            #expect(try await bench.balance() == 0)
            #expect(try await bench.balance("anna", "key") == -5)
            #expect(try await bench.balance("anna", "skin") == 2)
            #expect(try await bench.events(of: "t1").last == "refund.granted anna -50gem,-6key")
        }
    }

    @Test func `a debt is repaid by later grants, and nothing can be spent until then`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1", product: "debt.100"))
            try await bench.spend(100)
            try await bench.notify(Bench.refunded("t1", product: "debt.100", at: 10))
            #expect(try await bench.balance() == -100)
            let spent = try await bench.trySpending([Catalogue.ItemGrant(item: "gem", amount: 1)])
            #expect(spent == .insufficient([LedgerStore.Shortage(item: "gem", balance: -100, needed: 1)]))
            try await bench.post(Bench.bought("t2"))
            #expect(try await bench.balance() == 0)
            try await bench.post(Bench.bought("t3"))
            #expect(try await bench.balance() == 100)
            try await bench.expectClean()
        }
    }

    @Test func `another share takes the difference, another cause nothing more`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1"))
            try await bench.notify(Bench.refunded("t1", at: 10, percentage: 33_333))
            try await bench.notify(Bench.refunded("t1", at: 20, percentage: 66_666))
            try await bench.notify(Bench.refunded("t1", at: 30))
            try await bench.notify(Bench.refunded("t1", at: 40, percentage: 10_000))
            #expect(
                try await bench.lines(of: "t1") == [
                    "grant 1 100 gem", "revocation 1 -33 gem", "revocation 2 -33 gem", "revocation 3 -34 gem",
                    "reversal 1 90 gem",
                ])
            try await bench.notify(Bench.refunded("t1", at: 50, percentage: 10_000))
            #expect(try await bench.lines(of: "t1").count == 5)
            #expect(try await bench.column("signed_date = to_timestamp(1700000050)", of: "t1") == "true")
            #expect(try await bench.events(of: "t1").count == 5)
            try await bench.expectClean()
        }
    }

    @Test("a receipt that has a prorated refund, too, takes no more of it", arguments: [false, true])
    func receipt(isReceiptFirst: Bool) async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1"))
            var entry = Bench.entry("t1")
            entry.revocationDate = Bench.time(9)
            if isReceiptFirst { try await bench.post(entry) }
            try await bench.notify(Bench.refunded("t1", at: 10, percentage: 40_000))
            if !isReceiptFirst { try await bench.post(entry) }
            #expect(try await bench.balance() == 60)
            #expect(try await bench.column("revocation_type", of: "t1") == "REFUND_PRORATED")
            #expect(try await bench.standing(of: "t1") == "revoked revoked_by_apple anna")
            try await bench.expectClean()
        }
    }

    @Test func `of a product that is sold no more, as little is taken as there is`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1", product: "debt.100"))
            try await bench.spend(60)
            var later = bench
            later.products = Catalogue([:])
            try await later.notify(Bench.refunded("t1", product: "debt.100", at: 10))
            #expect(try await bench.balance() == 0)
            #expect(try await bench.lines(of: "t1").last == "revocation 1 -40 gem")
        }
    }

    @Test func `in one batch a refund does not reach for what the batch brings`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1"))
            try await bench.spend(100)
            let purchase = try await bench.verdict("s2", .genuine([Bench.bought("t2")]), account: "anna")
            try await bench.settle([purchase, try await bench.notice([Bench.refunded("t1", at: 10)])])
            #expect(try await bench.balance() == 100)
            #expect(try await bench.lines(of: "t1").count == 1)
        }
    }

    @Test func `what was bought by quantity is taken by quantity, to the account that got it`() async throws {
        try await Bench.withRefunds { bench in
            var purchase = Bench.bought("t1")
            purchase.quantity = 3
            try await bench.post(purchase)
            _ = try await bench.pool.query("UPDATE orders SET account = 'ben' WHERE transaction_id = 't1'")
            purchase.revocationDate = Bench.time(9)
            purchase.signedDate = Bench.time(10)
            try await bench.notify(purchase)
            #expect(try await bench.balance() == 0)
            #expect(try await bench.balance("ben") == 0)
            #expect(
                try await bench.events(of: "t1").suffix(2) == ["refund.granted anna -300gem", "refund.granted ben"],
                "told to who had the items, and to whose the order is")
        }
    }
}
