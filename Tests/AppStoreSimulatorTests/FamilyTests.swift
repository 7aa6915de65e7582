import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Families")
struct FamilyTests {
    private static func shop() throws -> LifecycleShop {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z", grace: .threeDays)
        shop.product("vip", shared: true)
        shop.product("solo")
        shop.product("map", type: .nonConsumable, shared: true)
        shop.product("coins", type: .consumable, shared: true)
        shop.account("alice", family: "smith")
        shop.account("bob", family: "smith")
        shop.account("eve")
        return shop
    }

    /// What a member has, oldest first.
    private static func held(_ shop: LifecycleShop, by account: String) -> [TransactionRecord] {
        shop.state.holdings[DownloadRecord.key(LifecycleShop.bundleId, account, .production), default: []]
            .compactMap { shop.state.transactions[$0] }
    }

    @Test("a share has its own ids, no price and no token, and renews and ends with the buyer's")
    func follows() throws {
        var shop = try Self.shop()
        var purchase = shop.purchase("vip", by: "alice")
        purchase.appAccountToken = "6f8b0d5c-0000-4000-8000-000000000001"
        guard case .bought(let bought) = try shop.state.buy(purchase, now: shop.now) else {
            Issue.record("not bought")
            return
        }
        #expect(shop.news() == ["SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/INITIAL_BUY"])
        let copy = try #require(Self.held(shop, by: "bob").first)
        #expect(Self.held(shop, by: "bob").count == 1 && Self.held(shop, by: "eve").isEmpty)
        #expect(copy.isFamilyShared && copy.price == nil && copy.currency == nil && copy.appAccountToken == nil)
        #expect(copy.transactionId != bought.transactionId && copy.originalTransactionId == copy.transactionId)
        #expect(copy.webOrderLineItemId != bought.webOrderLineItemId && copy.orderId != bought.orderId)
        #expect(copy.expiresDate == bought.expiresDate)
        #expect(copy.appTransactionId != bought.appTransactionId)
        #expect(try shop.subscription(copy.id).isFamilyShared)
        shop.advance(days: 31)
        #expect(shop.news() == ["DID_RENEW", "DID_RENEW"])
        let second = try #require(Self.held(shop, by: "bob").last)
        #expect(second.originalTransactionId == copy.id && second.isRenewal)
        #expect(try shop.subscription(copy.id).transactionId == second.id)
        try shop.state.setPaymentFails(bought.id, true, now: shop.now)
        shop.advance(days: 30)
        #expect(shop.news() == ["DID_FAIL_TO_RENEW/GRACE_PERIOD", "DID_FAIL_TO_RENEW/GRACE_PERIOD"])
        #expect(try shop.subscription(copy.id).status == .gracePeriod)
        try shop.state.setPaymentFails(bought.id, false, now: shop.now)
        #expect(shop.news() == ["DID_RENEW/BILLING_RECOVERY", "DID_RENEW/BILLING_RECOVERY"])
        try shop.state.extendRenewal(bought.id, days: 9, reason: 0, requestIdentifier: "r", now: shop.now)
        #expect(
            try shop.transaction(shop.subscription(copy.id).transactionId).expiresDate
                == shop.subscription(bought.id).renewalDate)
        _ = shop.news()
        try shop.state.setAutoRenew(bought.id, false, now: shop.now)
        shop.advance(days: 60)
        #expect(shop.news().suffix(2) == ["EXPIRED/VOLUNTARY", "EXPIRED/VOLUNTARY"])
        #expect(try shop.subscription(copy.id).status == .expired)
        #expect(try shop.subscription(copy.id).dueDate == nil)
        #expect(shop.refusal { try $0.state.setAutoRenew(copy.id, true, now: $0.now) } == 409)
        #expect(throws: RenewalExtensionRefusal.familyShared) {
            try shop.state.extendRenewal(copy.id, days: 9, reason: 0, requestIdentifier: "r", now: shop.now)
        }
    }

    @Test("the buyer's refund revokes the shares, with its reason; reversed, they come back")
    func refund() throws {
        var shop = try Self.shop()
        let subscription = try shop.buy("vip")
        let map = try shop.buy("map")
        let copies = Self.held(shop, by: "bob")
        _ = shop.news()
        for id in [subscription.id, map.id] {
            try shop.state.refund(id, percentage: nil, reason: 1, now: shop.now)
            #expect(shop.news() == ["REFUND", "REVOKE"])
        }
        for copy in copies {
            let revoked = try shop.transaction(copy.id)
            #expect(revoked.revocationType == .familyRevoke && revoked.revocationReason == 1)
            #expect(revoked.revocationDate == shop.now)
            #expect(shop.refusal { try $0.state.refund(copy.id, percentage: nil, reason: 0, now: $0.now) } == 409)
        }
        #expect(try shop.subscription(copies[0].id).status == .revoked)
        try shop.state.reverseRefund(subscription.id, now: shop.now)
        #expect(shop.news() == ["REFUND_REVERSED", "SUBSCRIBED/RESUBSCRIBE"])
        #expect(try shop.subscription(copies[0].id).status == .active)
        try shop.state.reverseRefund(map.id, now: shop.now)
        #expect(shop.news() == ["REFUND_REVERSED", "ONE_TIME_CHARGE"])
        #expect(try shop.transaction(copies[1].id).revocationDate == nil)
    }

    @Test("an upgrade reaches the family; a plan that is not shared takes the shares away")
    func upgrade() throws {
        var shop = try Self.shop()
        shop.product("vip-gold", level: 0, shared: true)
        shop.product("solo-gold", level: -1)
        let first = try shop.buy("vip")
        let copy = try #require(Self.held(shop, by: "bob").first)
        _ = shop.news()
        _ = try shop.buy("vip-gold")
        #expect(shop.news() == ["DID_CHANGE_RENEWAL_PREF/UPGRADE", "DID_CHANGE_RENEWAL_PREF/UPGRADE"])
        #expect(try shop.transaction(first.id).isUpgraded && shop.transaction(copy.id).isUpgraded)
        #expect(try shop.subscription(copy.id).productId == "vip-gold")
        _ = try shop.buy("solo-gold")
        #expect(shop.news() == ["REVOKE", "DID_CHANGE_RENEWAL_PREF/UPGRADE"])
        #expect(try shop.subscription(copy.id).status == .revoked)
    }
}
