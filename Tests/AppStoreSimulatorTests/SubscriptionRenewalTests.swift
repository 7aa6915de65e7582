import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Subscription renewals")
struct SubscriptionRenewalTests {
    @Test(
        "periods of every kind",
        arguments: [
            ("P1W", "2026-02-07T10:00:00Z"), ("P3D", "2026-02-03T10:00:00Z"), ("P2M", "2026-03-31T10:00:00Z"),
            ("P6M", "2026-07-31T10:00:00Z"), ("P1Y", "2027-01-31T10:00:00Z"),
        ])
    func periods(_ period: String, _ end: String) throws {
        var shop = try LifecycleShop("2026-01-31T10:00:00Z")
        shop.product("vip", period: Period(period))
        let first = try shop.buy("vip")
        #expect(LifecycleShop.text(first.expiresDate) == end)
    }

    @Test("a product without a period lasts a month; purchase dates are whole seconds")
    func withoutPeriod() throws {
        var shop = try LifecycleShop("2026-02-10T10:00:00Z")
        shop.now += 345
        shop.product("vip", period: nil)
        let first = try shop.buy("vip")
        #expect(LifecycleShop.text(first.purchaseDate) == "2026-02-10T10:00:00Z")
        #expect(first.purchaseDate % 1_000 == 0)
        #expect(LifecycleShop.text(first.expiresDate) == "2026-03-10T10:00:00Z")
    }

    @Test("grace and retry are shortened with the sandbox's month")
    func sandboxGrace() throws {
        var shop = try LifecycleShop(grace: .sixteenDays, sandboxMonth: 300_000)
        shop.product("vip")
        let first = try shop.buy("vip", environment: .sandbox)
        try shop.state.setPaymentFails(first.id, true, now: shop.now)
        shop.advance(to: shop.now + 300_000)
        let record = try shop.subscription(first.id)
        #expect(record.status == .gracePeriod)
        #expect(record.gracePeriodExpiresDate == shop.now + 160_000)
        #expect(record.billingRetryEndsDate == shop.now + 600_000)
        shop.advance(days: 1)
        #expect(try shop.subscription(first.id).status == .expired)
    }

    @Test("guests: every sale is a subscription of its own; a named lineage gets a renewal; a past end is over")
    func guests() throws {
        var shop = try LifecycleShop("2026-02-10T10:00:00Z")
        shop.product("vip")
        let guest = StoreState.guest(token: "")
        let first = try shop.buy("vip", by: guest)
        let second = try shop.buy("vip", by: guest)
        #expect(first.originalTransactionId != second.originalTransactionId)
        #expect(first.accountId != second.accountId)
        var purchase = shop.purchase("vip", by: guest)
        purchase.originalTransactionId = "2000000000009999"
        purchase.expiresDate = 1_900_000_000_000
        guard case .bought(let renewal) = try shop.state.buy(purchase, now: shop.now) else {
            Issue.record("not bought")
            return
        }
        #expect(renewal.isRenewal)
        #expect(renewal.originalTransactionId == "2000000000009999")
        #expect(renewal.expiresDate == 1_900_000_000_000)
        #expect(try shop.subscription("2000000000009999").transactionId == renewal.id)
        purchase.originalTransactionId = nil
        purchase.expiresDate = shop.now - 1
        guard case .bought(let past) = try shop.state.buy(purchase, now: shop.now) else {
            Issue.record("not bought")
            return
        }
        #expect(try shop.subscription(past.id).status == .expired)
        shop.advance(days: 40)
        #expect(shop.lineage(past.id).count == 1)
        #expect(shop.lineage(first.id).count == 2)
        #expect(shop.lineage("2000000000009999").count == 1)
    }
}
