import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

private typealias Sub = SubscriptionBench

@Suite("Entitlements that the clock ends", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct EntitlementEndTests {
    private func season(_ id: String) -> Transaction {
        var transaction = Bench.signed(id, product: "season")
        transaction.productType = .nonRenewing
        transaction.purchaseDate = Sub.day(0)
        return transaction
    }

    @Test func `each is told once, whoever looks`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post((1...40).map { season("\($0)") })
            #expect(try await bench.endEntitlements.end(limit: 100) == 0)
            bench.on(30)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 1...3 {
                    group.addTask {
                        var count = 0
                        while case let ended = try await bench.endEntitlements.end(limit: 7), ended > 0 {
                            count += ended
                        }
                        return count
                    }
                }
                var ended = 0
                for try await count in group { ended += count }
                #expect(ended == 40)
            }
            #expect(try await bench.events(like: PurchaseEvent.entitlementExpired).count == 40)
            let event = try #require(try await bench.event(PurchaseEvent.entitlementExpired))
            #expect(event.data.entitlements == ["arena", "season"], "one event for all that an order gave")
            #expect(event.customer?.id == "player")
            #expect(bench.bench.published.count(PurchaseEvent.entitlementExpired) == 40)
            #expect(try await bench.endEntitlements.end(limit: 100) == 0)
        }
    }

    @Test func `what a person gave ends by the clock, each with its own end, and now where it is taken away`()
        async throws
    {
        try await Sub.with { bench in
            bench.on(1)
            let pool = bench.bench.pool
            func adjust(_ entitling: LedgerStore.Entitling) async throws -> LedgerStore.Adjusted {
                try await LedgerStore.adjust(
                    environment: .production, app: Bench.app, account: Account(stored: "player"), items: [],
                    entitling: entitling, actor: "ada", reason: "a gift", pool: pool)
            }
            let in10Days = Date().addingTimeInterval(864_000)
            _ = try await adjust(
                .init(given: [
                    .init(entitlement: "beta", expiresAt: in10Days), .init(entitlement: "vip", expiresAt: nil),
                ]))
            let given = try #require(try await bench.event(PurchaseEvent.entitlementGranted))
            #expect(given.data.entitlements == ["beta", "vip"] && given.data.transaction == nil)
            // By the database's clock nothing has ended.
            let clock = EndEntitlements(
                pool: pool, announce: bench.endEntitlements.announce, eventLease: bench.endEntitlements.eventLease)
            #expect(try await clock.end(limit: 10) == 0)
            // What is given again has another end; what is taken away ends now.
            _ = try await adjust(
                .init(given: [.init(entitlement: "beta", expiresAt: in10Days.addingTimeInterval(1))], ended: ["vip"]))
            #expect(try await clock.end(limit: 10) == 1)
            let ended = try #require(try await bench.event(PurchaseEvent.entitlementExpired))
            #expect(ended.data.entitlements == ["vip"] && ended.data.transaction == nil && ended.data.state == nil)
            #expect(ended.correlationId.hasPrefix("adjustment_"))
            #expect(try await adjust(.init(ended: ["vip", "none"])) == .notByHand(["none", "vip"]))
            // An order's refund reaches the order's alone.
            let rows = try await pool.query("SELECT count(*) AS n FROM entitlements WHERE audit_id IS NOT NULL")
            #expect(try rows.rows.first?.decode("n", as: Int64.self) == 2)
            try await bench.bench.expectClean()
        }
    }

    @Test func `what another pass still gives does not end`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            var second = season("2")
            second.purchaseDate = Sub.day(20)
            try await bench.post([season("1"), second])
            bench.on(30)
            #expect(try await bench.endEntitlements.end(limit: 10) == 1)
            #expect(try await bench.events(like: PurchaseEvent.entitlementExpired).isEmpty, "the second runs on")
            bench.on(50)
            #expect(try await bench.endEntitlements.end(limit: 10) == 1)
            let event = try #require(try await bench.event(PurchaseEvent.entitlementExpired))
            #expect(event.data.transaction?.transactionId == "2")
            #expect(event.data.entitlements == ["arena", "season"])
        }
    }

    @Test func `subscriptions have events of their own, and are not looked at again`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)])
            bench.on(31)
            #expect(try await bench.endEntitlements.end(limit: 10) == 1)
            #expect(try await bench.events(like: PurchaseEvent.entitlementExpired).isEmpty)
            #expect(try await bench.endEntitlements.end(limit: 10) == 0)
        }
    }

    @Test func `what was taken back does not end as well`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([season("1")])
            _ = try await bench.bench.pool.query(
                "UPDATE entitlements SET revoked_at = now(), revoked_because = 'refund'")
            bench.on(31)
            #expect(try await bench.endEntitlements.end(limit: 10) == 0)
        }
    }

    @Test func `what is for ever has no end`() async throws {
        try await Sub.with { bench in
            var plain = bench
            plain.bench.products = Bench.catalogue
            try await plain.post([Bench.signed("1", product: "pro")])
            bench.on(100_000)
            #expect(try await bench.endEntitlements.end(limit: 10) == 0)
        }
    }
}
