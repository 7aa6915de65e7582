import Foundation
import Messages
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

private typealias Sub = SubscriptionBench

@Suite("The life of a subscription", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct SubscriptionLifeTests {
    @Test func `it begins, renews, and is the account's`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)], [Sub.renewal(signed: 0)])
            #expect(try await bench.standing()?.state == .active)
            #expect(try await bench.standing()?.willRenew == true)
            bench.on(30)
            try await bench.post([Sub.period("2", from: 30, to: 60)])
            #expect(try await bench.standing()?.transactionId == "2")
            #expect(try await bench.events() == ["started", "renewed"])
            let event = try #require(try await bench.event(PurchaseEvent.subscriptionRenewed))
            #expect(event.customer?.id == "player")
            #expect(event.data.transaction?.transactionId == "2")
            #expect(event.data.subscription == (try await bench.standing()))
            #expect(event.data.previousSubscription?.transactionId == "1")
            #expect(event.data.entitlements == ["basic"])
            #expect(event.correlationId == "req_sub2")
            #expect(try await bench.entitlements() == ["1 player 30 -", "2 player 60 -"])
            #expect(
                try await bench.bench.number("SELECT count(*) FROM subscriptions WHERE account = 'player'") == 1)
        }
    }

    @Test func `an upgrade takes effect at once, and what it replaced ends`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            let year = Sub.period("1", from: 0, to: 400)
            try await bench.post([year])
            bench.on(10)
            try await bench.post([Sub.period("2", from: 10, to: 40, product: "premium")])
            #expect(try await bench.standing()?.productId == "premium")
            #expect(try await bench.entitlements() == ["1 player 400 upgraded", "2 player 40 -"])
            var upgraded = year
            upgraded.isUpgraded = true
            upgraded.signedDate = Sub.day(11)
            try await bench.post([upgraded])
            #expect(try await bench.standing()?.productId == "premium")
            #expect(try await bench.entitlements() == ["1 player 400 upgraded", "2 player 40 -"])
            #expect(try await bench.events() == ["started", "plan_changed"])
            bench.on(41)
            #expect(try await bench.endSubscriptions.end(limit: 10) == 1)
            #expect(try await bench.standing()?.state == .expired, "the year that was upgraded does not go on")
        }
    }

    @Test func `what was not overtaken after all is given back`() async throws {
        try await Sub.with { bench in
            bench.on(10)
            let month = Sub.period("1", from: 0, to: 30)
            try await bench.post([month, Sub.period("2", from: 29, to: 59, product: "premium")])
            #expect(try await bench.entitlements() == ["1 player 30 upgraded", "2 player 59 -"])
            var shorter = month
            shorter.expiresDate = Sub.day(29)
            shorter.signedDate = Sub.day(12)
            try await bench.post([shorter])
            #expect(try await bench.entitlements() == ["1 player 29 -", "2 player 59 -"])
        }
    }

    @Test func `a downgrade waits for the renewal`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30, product: "premium")], [Sub.renewal(signed: 0)])
            let planned = Sub.renewal(signed: 5) {
                $0.productId = "premium"
                $0.renewalProductId = "lite"
            }
            try await bench.post([], [planned])
            #expect(try await bench.standing()?.productId == "premium")
            #expect(try await bench.standing()?.renewalProductId == "lite")
            bench.on(30)
            try await bench.post(
                [Sub.period("2", from: 30, to: 60, product: "lite")],
                [Sub.renewal(signed: 30) { $0.renewalProductId = "lite" }])
            #expect(try await bench.standing()?.productId == "lite")
            #expect(try await bench.standing()?.renewalProductId == nil)
            #expect(
                try await bench.events() == ["started", "plan_change_scheduled", "renewed", "plan_changed"])
            #expect(try await bench.entitlements() == ["1 player 30 -", "2 player 60 -"])
        }
    }

    @Test func `grace goes on and payment comes: access never ended`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)], [Sub.renewal(signed: 0)])
            bench.on(30)
            let failed = Sub.renewal(signed: 30) {
                $0.isInBillingRetry = true
                $0.gracePeriodExpiresDate = Sub.day(46)
            }
            try await bench.post([], [failed])
            #expect(try await bench.standing()?.state == .gracePeriod)
            #expect(try await bench.entitlements() == ["1 player 46 -"])
            bench.on(35)
            try await bench.post([Sub.period("2", from: 35, to: 60)], [Sub.renewal(signed: 35)])
            #expect(try await bench.standing()?.state == .active)
            #expect(try await bench.standing()?.gracePeriodExpiresDate == nil)
            #expect(try await bench.entitlements() == ["1 player 30 -", "2 player 60 -"])
            #expect(try await bench.events() == ["started", "grace_started", "recovered"])
        }
    }

    @Test func `grace ends by the clock, then the App Store gives up`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)])
            bench.on(31)
            let failed = Sub.renewal(signed: 30) {
                $0.isInBillingRetry = true
                $0.gracePeriodExpiresDate = Sub.day(46)
            }
            try await bench.post([], [failed])
            bench.on(46)
            try await bench.endSubscriptions.look()
            #expect(try await bench.standing()?.state == .billingRetry)
            bench.on(90)
            try await bench.endSubscriptions.look()
            #expect(try await bench.standing()?.state == .billingRetry, "only Apple ends it")
            let over = Sub.renewal(signed: 90) {
                $0.willRenew = false
                $0.isInBillingRetry = false
                $0.expirationIntent = 2
            }
            try await bench.post([], [over])
            #expect(try await bench.standing()?.state == .expired)
            #expect(try await bench.standing()?.expirationIntent == 2)
            #expect(try await bench.events() == ["started", "grace_started", "grace_ended", "expired"])
        }
    }

    @Test func `without grace a failed payment ends access, and recovery begins a period`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)])
            bench.on(30)
            try await bench.post([], [Sub.renewal(signed: 30) { $0.isInBillingRetry = true }])
            #expect(try await bench.standing()?.state == .billingRetry)
            let lost = try #require(try await bench.event(PurchaseEvent.subscriptionRenewalFailed))
            #expect(lost.data.entitlements == ["basic"])
            bench.on(50)
            try await bench.post([Sub.period("2", from: 50, to: 80)], [Sub.renewal(signed: 50)])
            #expect(try await bench.events() == ["started", "renewal_failed", "recovered"])
        }
    }

    @Test func `an extension moves the end of the same period`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            let month = Sub.period("1", from: 0, to: 30)
            try await bench.post([month])
            var longer = month
            longer.expiresDate = Sub.day(37)
            longer.signedDate = Sub.day(20)
            bench.on(20)
            try await bench.post([longer])
            #expect(try await bench.standing()?.expiresDate == Sub.day(37))
            #expect(try await bench.entitlements() == ["1 player 37 -"])
            bench.on(31)
            #expect(try await bench.endSubscriptions.end(limit: 10) == 0)
            try await bench.post([month])
            #expect(try await bench.standing()?.expiresDate == Sub.day(37), "what was signed before says nothing new")
            #expect(try await bench.events() == ["started", "extended"])
        }
    }

    @Test func `a cancellation, its undoing, and a price that needs consent`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)], [Sub.renewal(signed: 0)])
            try await bench.post([], [Sub.renewal(signed: 2) { $0.willRenew = false }])
            try await bench.post([], [Sub.renewal(signed: 3)])
            try await bench.post([], [Sub.renewal(signed: 1)])
            let asked = Sub.renewal(signed: 4) {
                $0.priceIncreaseStatus = 0
                $0.renewalPriceMilliunits = 12_990
                $0.currency = "EUR"
            }
            try await bench.post([], [asked])
            #expect(try await bench.standing()?.renewalPriceMilliunits == 12_990)
            var agreed = asked
            agreed.signedDate = Sub.day(5)
            agreed.priceIncreaseStatus = 1
            try await bench.post([], [agreed, asked])
            #expect(
                try await bench.events() == [
                    "started", "cancel_scheduled", "cancel_undone", "price_increase_pending", "price_increase_accepted",
                ])
        }
    }

    @Test func `offers, family members and commitments are carried along`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            let period = Sub.period("1", from: 0, to: 30) {
                $0.offerType = 3
                $0.offerIdentifier = "SPRING"
                $0.ownership = "FAMILY_SHARED"
                $0.subscriptionGroupId = "G"
                $0.commitment = Transaction.Commitment(
                    billingPeriod: 1, billingPeriods: 12, expiresDate: Sub.day(365))
            }
            try await bench.post([period])
            let standing = try #require(try await bench.standing())
            #expect(standing.offerType == 3)
            #expect(standing.offerIdentifier == "SPRING")
            #expect(standing.ownership == "FAMILY_SHARED")
            #expect(standing.subscriptionGroupId == "G")
            #expect(standing.commitment?.billingPeriods == 12)
            #expect(standing.commitment?.expiresDate == Sub.day(365))
            #expect(standing.expiresDate == Sub.day(30), "a commitment is not paid for, periods are")
        }
    }

    @Test func `a lapse and a new purchase begin it again`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)])
            bench.on(30)
            try await bench.endSubscriptions.look()
            bench.on(50)
            try await bench.post([Sub.period("2", from: 50, to: 80)])
            #expect(try await bench.events() == ["started", "expired", "started"])
        }
    }

    @Test func `word of a renewal that comes after the end is no new beginning`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)])
            bench.on(30.001)
            try await bench.endSubscriptions.look()
            try await bench.post([Sub.period("2", from: 30, to: 60)])
            #expect(try await bench.events() == ["started", "expired", "renewed"])
        }
    }
}
