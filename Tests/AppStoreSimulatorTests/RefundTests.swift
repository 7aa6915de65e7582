import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Refunds")
struct RefundTests {
    @Test(
        "every type of product is asked about, with the reason, and refunded in full",
        arguments: ProductType.allCases)
    func full(_ type: ProductType) throws {
        var shop = try LifecycleShop()
        shop.product("thing", type: type)
        let id = try shop.buy("thing").id
        _ = shop.news()
        try shop.state.requestRefund(id, reason: "FULFILLMENT_ISSUE", now: shop.now)
        let isSubscription = type == .autoRenewableSubscription
        #expect(
            shop.news() == ["CONSUMPTION_REQUEST"]
                + (isSubscription ? ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"] : []))
        #expect(shop.refusal { try $0.state.requestRefund(id, reason: "OTHER", now: $0.now) } == 409)
        try shop.state.refund(id, percentage: nil, reason: 1, now: shop.now)
        #expect(shop.news() == ["REFUND"])
        let refunded = try shop.transaction(id)
        #expect(refunded.revocationDate == shop.now)
        #expect(refunded.revocationReason == 1)
        #expect(refunded.revocationType == .refundFull)
        #expect(refunded.revocationPercentage == 100_000)
        #expect(shop.state.refundRequests[id]?.outcome == .granted)
        if isSubscription { #expect(try shop.subscription(id).status == .revoked) }
        shop.advance(days: 100)
        #expect(shop.news() == [])
        #expect(shop.refusal { try $0.state.refund(id, percentage: nil, reason: 0, now: $0.now) } == 409)
        #expect(shop.refusal { try $0.state.requestRefund(id, reason: "OTHER", now: $0.now) } == 409)
    }

    @Test("it is asked again under new UUIDs, four times at most, or until it is answered")
    func repeated() throws {
        var shop = try LifecycleShop()
        shop.product("coins", type: .consumable)
        let first = try shop.buy("coins").id
        let second = try shop.buy("coins").id
        _ = shop.news()
        try shop.state.requestRefund(first, reason: "OTHER", now: shop.now)
        try shop.state.requestRefund(second, reason: "OTHER", now: shop.now)
        let start = shop.now
        shop.advance(to: start + 12 * 3_600_000)
        shop.state.consumptionAnswered(second)
        shop.advance(days: 10)
        let asked = shop.state.notifications.rows.values.filter { $0.notificationType == "CONSUMPTION_REQUEST" }
        #expect(
            asked.filter { $0.transactionId == first }.map { ($0.createdDate - start) / 3_600_000 }.sorted()
                == [0, 12, 24, 36])
        #expect(asked.filter { $0.transactionId == second }.count == 2)
        #expect(Set(asked.map(\.notificationUUID)).count == 6)
        #expect(shop.state.refundRequests[first]?.nextRequestDate == nil)
    }

    @Test("a subscription's period in part: it is revoked, and comes back with its renewal date")
    func prorated() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        let id = try shop.buy("vip").id
        shop.advance(days: 5)
        _ = shop.news()
        try shop.state.refund(id, percentage: 67_932, reason: 0, now: shop.now)
        #expect(try shop.transaction(id).revocationType == .refundProrated)
        #expect(try shop.transaction(id).revocationPercentage == 67_932)
        #expect(try shop.subscription(id).status == .revoked)
        shop.advance(days: 5)
        try shop.state.reverseRefund(id, now: shop.now)
        #expect(shop.news() == ["REFUND", "REFUND_REVERSED"])
        let transaction = try shop.transaction(id)
        #expect(transaction.revocationDate == nil && transaction.revocationReason == nil)
        #expect(transaction.revocationType == nil && transaction.revocationPercentage == nil)
        let record = try shop.subscription(id)
        #expect(record.status == .active)
        #expect(!record.autoRenews)
        #expect(LifecycleShop.text(record.renewalDate) == "2026-04-01T00:00:00Z")
        #expect(shop.refusal { try $0.state.reverseRefund(id, now: $0.now) } == 409)
        try shop.state.setAutoRenew(id, true, now: shop.now)
        shop.advance(days: 30)
        #expect(shop.lineage(id).count == 2)
    }

    @Test("a period that is over is refunded, and the one that runs goes on")
    func oldPeriod() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        let id = try shop.buy("vip").id
        shop.advance(days: 40)
        try shop.state.refund(id, percentage: nil, reason: 0, now: shop.now)
        #expect(try shop.subscription(id).status == .active)
        #expect(try shop.transaction(id).revocationDate != nil)
        try shop.state.reverseRefund(id, now: shop.now)
        #expect(try shop.subscription(id).status == .active)
    }

    @Test("who resubscribes after a refund goes on in the lineage")
    func resubscribes() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        let id = try shop.buy("vip").id
        try shop.state.refund(id, percentage: nil, reason: 0, now: shop.now)
        _ = shop.news()
        #expect(try shop.buy("vip").originalTransactionId == id)
        #expect(shop.news() == ["SUBSCRIBED/RESUBSCRIBE"])
        // The old period comes back without a change of the one that runs.
        let renewalDate = try shop.subscription(id).renewalDate
        try shop.state.reverseRefund(id, now: shop.now)
        #expect(try shop.subscription(id).renewalDate == renewalDate)
    }

    @Test("declined; what cannot be asked, refunded or declined")
    func declined() throws {
        var shop = try LifecycleShop()
        shop.product("coins", type: .consumable)
        let id = try shop.buy("coins").id
        #expect(shop.refusal { try $0.state.declineRefund(id, now: $0.now) } == 409)
        #expect(shop.refusal { try $0.state.requestRefund(id, reason: "BORED", now: $0.now) } == 400)
        #expect(shop.refusal { try $0.state.requestRefund("1", reason: "OTHER", now: $0.now) } == 404)
        #expect(shop.refusal { try $0.state.refund("1", percentage: nil, reason: 0, now: $0.now) } == 404)
        #expect(shop.refusal { try $0.state.refund(id, percentage: 50_000, reason: 0, now: $0.now) } == 409)
        #expect(shop.refusal { try $0.state.refund(id, percentage: 0, reason: 0, now: $0.now) } == 400)
        #expect(shop.refusal { try $0.state.refund(id, percentage: nil, reason: 2, now: $0.now) } == 400)
        #expect(shop.refusal { try $0.state.reverseRefund(id, now: $0.now) } == 409)
        #expect(shop.refusal { try $0.state.reverseRefund("1", now: $0.now) } == 404)
        #expect(shop.refusal { try $0.state.declineRefund("1", now: $0.now) } == 404)
        try shop.state.requestRefund(id, reason: "OTHER", now: shop.now)
        _ = shop.news()
        try shop.state.declineRefund(id, now: shop.now)
        shop.advance(days: 3)
        #expect(shop.news() == ["REFUND_DECLINED"])
        #expect(try shop.transaction(id).revocationDate == nil)
        try shop.state.requestRefund(id, reason: "OTHER", now: shop.now)
        #expect(shop.state.refundRequests[id]?.outcome == .open)
    }
}
