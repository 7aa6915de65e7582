import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

private typealias Sub = SubscriptionBench

/// Who hears of a subscription, and what of access: no account's backend takes away what the account still has, or gives
/// what it may not use.
@Suite("What subscriptions tell of access", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct SubscriptionEventTests {
    /// A subscription that two may share, and the same for ever.
    private static func shop(_ policy: RestorePolicy = .share) -> Catalogue {
        Catalogue([
            Bench.app: [
                Catalogue.Product(
                    id: "basic", type: .autoRenewable, items: [], entitlements: ["news", "pro"],
                    restore: RestoreRule(policy: policy, transfersMaximum: 1_000)),
                Catalogue.Product(id: "lifetime", type: .nonConsumable, items: [], entitlements: ["pro"]),
            ]
        ])
    }

    private static func with(
        _ policy: RestorePolicy = .share, _ body: (SubscriptionBench) async throws -> Void
    ) async throws {
        try await Sub.with { bench in
            var bench = bench
            bench.bench.products = shop(policy)
            try await body(bench)
        }
    }

    /// `type entitlements` of what an account was told of subscriptions, oldest first.
    private func told(_ account: String, _ bench: SubscriptionBench) async throws -> [String] {
        let result = try await bench.bench.pool.query(
            """
            SELECT concat_ws(' ', replace(type, 'iap.subscription.', ''), (SELECT string_agg(n, ',')
                FROM jsonb_array_elements_text(body::jsonb -> 'data' -> 'entitlements') n)) AS value
            FROM events WHERE account = $1 AND type LIKE 'iap.subscription.%' ORDER BY sequence
            """, [.text(account)])
        return try result.rows.map { try $0.decode("value") }
    }

    private func lifetime(_ id: String) -> Transaction {
        var transaction = Bench.signed(id, product: "lifetime")
        transaction.productType = .nonConsumable
        return transaction
    }

    @Test func `who shares it hears that access ends by the clock, and what else moves it`() async throws {
        try await Self.with { bench in
            bench.on(1)
            let month = Sub.period("1", from: 0, to: 30)
            try await bench.post([month], [Sub.renewal(signed: 0)], account: "anna")
            try await bench.post([month], account: "ben")
            try await bench.post([], [Sub.renewal(signed: 2) { $0.willRenew = false }], account: "anna")
            var longer = month
            longer.expiresDate = Sub.day(37)
            longer.signedDate = Sub.day(20)
            try await bench.post([longer], account: "")
            bench.on(37)
            try await bench.endSubscriptions.look()
            try await bench.endEntitlements.look()
            #expect(
                try await told("anna", bench) == [
                    "started news,pro", "cancel_scheduled", "extended news,pro", "expired news,pro",
                ])
            #expect(try await told("ben", bench) == ["extended news,pro", "expired news,pro"])
            #expect(try await bench.events(of: "ben", like: PurchaseEvent.entitlementExpired).isEmpty)
            try await bench.bench.expectClean()
        }
    }

    @Test func `what ends is named as lost only where nothing else gives it`() async throws {
        try await Self.with { bench in
            bench.on(1)
            let month = Sub.period("1", from: 0, to: 30)
            try await bench.post([month], account: "anna")
            try await bench.post([month], account: "ben")
            try await bench.post([lifetime("l")], account: "anna")
            bench.on(30)
            try await bench.endSubscriptions.look()
            #expect(try await told("anna", bench).last == "expired news", "she has `pro` for ever")
            #expect(try await told("ben", bench).last == "expired news,pro")
        }
    }

    @Test func `what a guardian froze is not told as something that may be used`() async throws {
        try await Self.with { bench in
            bench.on(1)
            var consent = try await bench.verdict([])
            consent.rescindedConsents = [
                RescindedConsent(
                    environment: .production, bundleId: Bench.app, appTransactionId: "child", signedDate: Sub.day(1))
            ]
            try await bench.bench.settle([consent])
            let month = Sub.period("1", from: 0, to: 30) { $0.appTransactionId = "child" }
            try await bench.post([month], [Sub.renewal(signed: 0)])
            #expect(try await told("player", bench) == ["started"])
            var longer = month
            longer.expiresDate = Sub.day(31)
            longer.signedDate = Sub.day(2)
            try await bench.post([longer])
            #expect(try await told("player", bench) == ["started", "extended"])
            try await bench.post([Sub.period("2", from: 31, to: 61) { $0.appTransactionId = "child" }])
            #expect(
                try await told("player", bench).last == "renewed news,pro", "it was bought after the guardian's word")
        }
    }

    @Test(arguments: [false, true])
    func `what the new plan does not give is told as lost: at once, or when the old one ends`(
        isUpgrade: Bool
    ) async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)], [Sub.renewal(signed: 0)])
            let start = isUpgrade ? 10.0 : 30
            bench.on(start)
            let next = Sub.period("2", from: start, to: start + 30, product: "premium")
            try await bench.post([next])
            try await bench.post([next])
            try await bench.endEntitlements.look()
            try await bench.endSubscriptions.look()
            #expect(try await bench.events(like: PurchaseEvent.entitlementExpired).count == 1)
            let event = try #require(try await bench.event(PurchaseEvent.entitlementExpired))
            #expect(event.data.entitlements == ["basic"])
            #expect(event.data.transaction?.transactionId == "1")
            #expect(event.correlationId == (isUpgrade ? "req_sub2" : "req_sub1"))
            #expect(try await told("player", bench).last == "plan_changed premium")
            bench.on(60)
            try await bench.endSubscriptions.look()
            try await bench.endEntitlements.look()
            #expect(try await bench.events(like: PurchaseEvent.entitlementExpired).count == 1)
            #expect(try await told("player", bench).last == "expired premium")
        }
    }

    @Test func `an end that grace moved after it was noted is told once another plan is paid for`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)], [Sub.renewal(signed: 0)])
            bench.on(30)
            try await bench.endEntitlements.look()
            #expect(try await bench.events(like: PurchaseEvent.entitlementExpired).isEmpty, "it is the current period")
            let failed = Sub.renewal(signed: 30) {
                $0.isInBillingRetry = true
                $0.gracePeriodExpiresDate = Sub.day(46)
            }
            try await bench.post([], [failed])
            #expect(try await bench.entitlements() == ["1 player 46 -"])
            bench.on(40)
            try await bench.post([Sub.period("2", from: 40, to: 70, product: "premium")])
            #expect(try await bench.entitlements() == ["1 player 30 -", "2 player 70 -"])
            for _ in 1...2 { try await bench.endEntitlements.look() }
            #expect(try await bench.events(like: PurchaseEvent.entitlementExpired).count == 1)
            let event = try #require(try await bench.event(PurchaseEvent.entitlementExpired))
            #expect(event.data.entitlements == ["basic"] && event.data.transaction?.transactionId == "1")
            try await bench.bench.expectClean()
        }
    }

    @Test func `a renewal ends nothing`() async throws {
        try await Self.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)])
            bench.on(30)
            try await bench.post([Sub.period("2", from: 30, to: 60)])
            try await bench.endEntitlements.look()
            #expect(try await bench.events(like: PurchaseEvent.entitlementExpired).isEmpty)
        }
    }

    @Test func `a restore and word of the next renewal, at once, do not wait for each other`() async throws {
        try await Self.with(.transfer) { bench in
            bench.on(1)
            let ids = (1...10).map { "s\($0)" }
            let months = ids.map { Sub.period($0, from: 0, to: 30, lineage: $0) }
            try await bench.post(months, ids.map { Sub.renewal(signed: 0, lineage: $0) }, account: "anna")
            var restores: [VerdictMessage] = []
            var words: [VerdictMessage] = []
            for round in 1...30 {
                restores.append(try await bench.verdict(months, account: round % 2 == 0 ? "anna" : "ben"))
                let said = ids.map { Sub.renewal(signed: Double(round) / 100, lineage: $0) }
                words.append(try await bench.verdict([], said, account: ""))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for stream in [restores, words, words.reversed()] {
                    group.addTask { for message in stream { try await bench.bench.settle([message]) } }
                }
                try await group.waitForAll()
            }
            #expect(
                try await bench.bench.number(
                    "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0)
            #expect(try await bench.bench.number("SELECT count(*) FROM subscriptions WHERE account = 'anna'") == 10)
            try await bench.bench.expectClean()
        }
    }
}
