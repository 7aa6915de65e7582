import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

private typealias Sub = SubscriptionBench

@Suite("Subscriptions that the clock ends", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct SubscriptionEndTests {
    @Test func `three processes end each once, and never what was renewed meanwhile`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            let ids = (1...60).map(String.init)
            try await bench.post(ids.map { Sub.period($0, from: 0, to: 30, lineage: $0) })
            bench.on(30)
            let renewed = ids.suffix(20).map { Sub.period("r\($0)", from: 30, to: 60, lineage: $0) }
            var proofs: [VerdictMessage] = []
            for period in renewed { proofs.append(try await bench.verdict([period])) }
            let messages = proofs
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 1...3 {
                    group.addTask {
                        var count = 0
                        while case let ended = try await bench.endSubscriptions.end(limit: 7), ended > 0 {
                            count += ended
                        }
                        return count
                    }
                }
                group.addTask {
                    for message in messages { try await bench.bench.settle([message]) }
                    return 0
                }
                var ended = 0
                for try await count in group { ended += count }
                #expect((40...60).contains(ended))
            }
            try await bench.endSubscriptions.look()
            let expired = try await bench.bench.number(
                """
                SELECT count(*) FROM (SELECT DISTINCT body::jsonb -> 'data' -> 'subscription' ->> 'original_transaction_id'
                FROM events WHERE type = 'iap.subscription.expired') AS one
                """)
            #expect(try await bench.events().count { $0 == "expired" } == Int(expired), "each once")
            #expect((40...60).contains(expired))
            #expect(try await bench.bench.number("SELECT count(*) FROM subscriptions WHERE state = 'expired'") == 40)
            #expect(try await bench.bench.number("SELECT count(*) FROM subscriptions WHERE state = 'active'") == 20)
            #expect(try await bench.events().count { $0 == "renewed" } == 20)
            #expect(try await bench.endSubscriptions.end(limit: 100) == 0)
        }
    }

    @Test func `the end is told with what led to the period, and published`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)])
            bench.on(29.999)
            #expect(try await bench.endSubscriptions.end(limit: 10) == 0)
            bench.on(30)
            #expect(try await bench.endSubscriptions.end(limit: 10) == 1)
            let event = try #require(try await bench.event(PurchaseEvent.subscriptionExpired))
            #expect(event.correlationId == "req_sub1")
            #expect(event.data.entitlements == ["basic"])
            #expect(event.data.subscription?.state == .expired)
            #expect(event.data.previousSubscription?.state == .active)
            #expect(bench.bench.published.count(PurchaseEvent.subscriptionExpired) == 1)
        }
    }

    @Test func `the database's clock ends what is over`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)])
            let ender = EndSubscriptions(
                pool: bench.bench.pool, subscriptions: UpdateSubscriptions(),
                announce: AnnounceOutcomes { bench.bench.published.add($0) }, eventLease: .seconds(30))
            try await ender.look()
            #expect(try await bench.standing()?.state == .expired, "2023 is over")
        }
    }

    @Test func `what is over when it is first seen is recorded, and not told`() async throws {
        try await Sub.with { bench in
            bench.on(100)
            try await bench.post([Sub.period("1", from: 0, to: 30)])
            #expect(try await bench.standing()?.state == .expired)
            #expect(try await bench.events().isEmpty)
        }
    }
}
