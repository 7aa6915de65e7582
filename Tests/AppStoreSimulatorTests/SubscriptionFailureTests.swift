import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Subscription failures")
struct SubscriptionFailureTests {
    @Test("without grace: billing retry for sixty days, then it expires")
    func retry() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        shop.account("alice")
        let id = try shop.buy("vip").id
        shop.account("alice", canPay: false)
        _ = shop.news()
        try shop.advance(to: "2026-04-01T00:00:00Z")
        var record = try shop.subscription(id)
        #expect(shop.news() == ["DID_FAIL_TO_RENEW"])
        #expect(record.status == .billingRetry)
        #expect(record.expirationIntent == .billingError)
        #expect(record.gracePeriodExpiresDate == nil)
        shop.advance(days: 59)
        #expect(shop.news() == [])
        shop.advance(days: 1)
        record = try shop.subscription(id)
        #expect(shop.news() == ["EXPIRED/BILLING_RETRY"])
        #expect(record.status == .expired)
        #expect(record.expirationIntent == .billingError)
        #expect(record.dueDate == nil)
    }

    @Test("a week has at most six days of grace")
    func weeklyGrace() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z", grace: .sixteenDays)
        shop.product("vip", period: Period(1, .week))
        let id = try shop.buy("vip").id
        try shop.state.setPaymentFails(id, true, now: shop.now)
        shop.advance(days: 7)
        #expect(try shop.subscription(id).gracePeriodExpiresDate == shop.now + 6 * LifecycleShop.day)
    }

    @Test("switched off while billing is retried, it is over at once")
    func offInRetry() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        let id = try shop.buy("vip").id
        try shop.state.setPaymentFails(id, true, now: shop.now)
        shop.advance(days: 32)
        _ = shop.news()
        try shop.state.setAutoRenew(id, false, now: shop.now)
        #expect(shop.news() == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY"])
        #expect(try shop.subscription(id).status == .expired)
    }

    @Test("a product that is not sold any more ends its subscriptions")
    func notForSale() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        let id = try shop.buy("vip").id
        try shop.state.stopSelling(bundleId: LifecycleShop.bundleId, productId: "vip", now: shop.now)
        #expect(shop.refusal { _ = try $0.buy("vip", by: "bob") } == 409)
        #expect(
            shop.refusal { try $0.state.stopSelling(bundleId: LifecycleShop.bundleId, productId: "vip", now: $0.now) }
                == 409)
        shop.advance(days: 31)
        #expect(shop.news() == ["SUBSCRIBED/INITIAL_BUY", "EXPIRED/PRODUCT_NOT_FOR_SALE"])
        #expect(try shop.subscription(id).expirationIntent == .productNotForSale)
    }

    @Test("a lapse of more than sixty days is a new start")
    func lapse() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        let first = try shop.buy("vip")
        try shop.state.setAutoRenew(first.id, false, now: shop.now)
        shop.advance(days: 31 + 30)
        _ = try shop.buy("vip")
        #expect(try shop.subscription(first.id).recentSubscriptionStartDate == first.purchaseDate)
        try shop.state.setAutoRenew(first.id, false, now: shop.now)
        shop.advance(days: 31 + 70)
        let late = try shop.buy("vip")
        #expect(late.originalTransactionId == first.id)
        #expect(late.originalPurchaseDate == first.purchaseDate)
        #expect(try shop.subscription(first.id).recentSubscriptionStartDate == late.purchaseDate)
    }
}
