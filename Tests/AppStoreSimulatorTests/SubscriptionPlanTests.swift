import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Subscription plans and offers")
struct SubscriptionPlanTests {
    private static func shop() throws -> LifecycleShop {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        let month = Period(1, .month)
        let code = Offer(
            kind: .code, identifier: "SPRING", discount: .payAsYouGo, period: month, periodCount: 2, price: 990)
        shop.product("gold", level: 1, price: 19_990, offers: [code])
        shop.product(
            "silver", level: 2, price: 9_990,
            offers: [
                code,
                Offer(
                    kind: .introductory, discount: .freeTrial, period: Period(1, .week), periodCount: 1, price: 0),
                Offer(
                    kind: .promotional, identifier: "loyal", discount: .payUpFront, period: Period(3, .month),
                    periodCount: 1, price: 14_990),
            ])
        shop.product("silver-plus", level: 2, price: 10_990)
        shop.product("silver-year", level: 2, period: Period(1, .year), price: 99_990)
        shop.product("bronze", level: 3, price: 4_990, offers: [code])
        return shop
    }

    @Test(
        "which change comes at once and which at the renewal",
        arguments: [
            ("gold", true, "UPGRADE"), ("silver-plus", true, "UPGRADE"), ("silver-year", false, "DOWNGRADE"),
            ("bronze", false, "DOWNGRADE"),
        ], [true, false])
    func matrix(_ change: (product: String, isNow: Bool, subtype: String), _ byPurchase: Bool) throws {
        var shop = try Self.shop()
        let old = try shop.buy("silver")
        shop.advance(days: 10)
        _ = shop.news()
        let outcome =
            byPurchase
            ? try shop.choose(change.product)
            : try shop.state.changePlan(old.id, to: change.product, now: shop.now)
        #expect(shop.news() == ["DID_CHANGE_RENEWAL_PREF/\(change.subtype)"])
        #expect(outcome.name == (change.isNow ? "bought" : "changesAtRenewal"))
        let record = try shop.subscription(old.id)
        #expect(record.autoRenewProductId == change.product)
        #expect(record.productId == (change.isNow ? change.product : "silver"))
        #expect(try shop.transaction(old.id).isUpgraded == change.isNow)
        #expect(try shop.transaction(old.id).revocationDate == nil)
        if change.isNow {
            let new = try shop.transaction(record.transactionId)
            #expect(new.purchaseDate == shop.now)
            #expect(!new.isRenewal)
            #expect(new.originalTransactionId == old.id)
            #expect(LifecycleShop.text(record.renewalDate) == "2026-04-11T00:00:00Z")
        } else {
            #expect(LifecycleShop.text(record.renewalDate) == "2026-04-01T00:00:00Z")
            try shop.advance(to: "2026-04-01T00:00:00Z")
            #expect(shop.news() == ["DID_RENEW"])
            let renewed = try shop.subscription(old.id)
            #expect(renewed.productId == change.product)
            let transaction = try shop.transaction(renewed.transactionId)
            #expect(transaction.productId == change.product)
            #expect(transaction.price == shop.state.products["\(LifecycleShop.bundleId)/\(change.product)"]?.price)
        }
    }

    @Test("a downgrade is undone; the product that runs is owned; auto-renewal comes back by buying")
    func undone() throws {
        var shop = try Self.shop()
        let id = try shop.buy("silver").id
        #expect(try shop.choose("silver").name == "alreadyOwned")
        _ = try shop.choose("bronze")
        #expect(try shop.choose("bronze").name == "changesAtRenewal")
        _ = shop.news()
        _ = try shop.choose("silver")
        #expect(shop.news() == ["DID_CHANGE_RENEWAL_PREF"])
        #expect(try shop.subscription(id).autoRenewProductId == "silver")
        #expect(try shop.subscription(id).renewalPrice == 9_990)
        try shop.state.setAutoRenew(id, false, now: shop.now)
        #expect(try shop.choose("silver").name == "alreadyOwned")
        #expect(
            shop.news() == [
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED",
            ])
        #expect(shop.lineage(id).count == 1)
        #expect(shop.refusal { try $0.state.changePlan(id, to: "nothing", now: $0.now) } == 400)
        #expect(shop.refusal { try $0.state.changePlan("1", to: "gold", now: $0.now) } == 404)
    }

    @Test("pay as you go lasts for its periods; OFFER_REDEEMED only for an active subscription")
    func offers() throws {
        var shop = try Self.shop()
        let id = try shop.buy("silver").id
        _ = shop.news()
        #expect(try shop.choose("silver", offer: .code, identifier: "SPRING").name == "changesAtRenewal")
        #expect(shop.news() == ["OFFER_REDEEMED"])
        shop.advance(days: 31 + 30 + 31)
        #expect(shop.lineage(id).map(\.price) == [9_990, 990, 990, 9_990])
        #expect(shop.lineage(id).map { $0.offer?.identifier } == [nil, "SPRING", "SPRING", nil])
        _ = shop.news()
        _ = try shop.choose("bronze", offer: .code)
        #expect(shop.news() == ["OFFER_REDEEMED/DOWNGRADE"])
        let upgrade = try shop.buy("gold", offer: .code)
        #expect(shop.news() == ["OFFER_REDEEMED/UPGRADE"])
        #expect(upgrade.price == 990)
        let bob = try shop.buy("gold", by: "bob", offer: .code)
        #expect(shop.news() == ["SUBSCRIBED/INITIAL_BUY"])
        #expect(bob.offer?.kind == .code)
        #expect(try shop.subscription(bob.id).nextOfferPeriodsLeft == 1)
    }

    @Test("extended at most twice in a year, 1 to 90 days, and not what does not run")
    func extensions() throws {
        var shop = try Self.shop()
        let id = try shop.buy("silver").id
        func refusal(_ shop: inout LifecycleShop, _ id: String, days: Int = 10) -> RenewalExtensionRefusal? {
            do throws(RenewalExtensionRefusal) {
                try shop.state.extendRenewal(id, days: days, reason: 1, requestIdentifier: "r", now: shop.now)
                return nil
            } catch {
                return error
            }
        }
        _ = shop.news()
        #expect(refusal(&shop, id, days: 0) == .days)
        #expect(refusal(&shop, id, days: 91) == .days)
        #expect(refusal(&shop, "1") == .unknown)
        #expect(refusal(&shop, id) == nil)
        #expect(shop.news() == ["RENEWAL_EXTENDED"])
        #expect(LifecycleShop.text(try shop.transaction(id).expiresDate) == "2026-04-11T00:00:00Z")
        #expect(refusal(&shop, id) == nil)
        #expect(refusal(&shop, id) == .maximum)
        try shop.advance(to: "2026-04-20T23:59:59Z")
        #expect(shop.lineage(id).count == 1)
        try shop.advance(to: "2026-04-21T00:00:00Z")
        #expect(shop.lineage(id).count == 2)
        #expect(LifecycleShop.text(try shop.subscription(id).renewalDate) == "2026-05-21T00:00:00Z")
        shop.advance(days: 365)
        #expect(refusal(&shop, id) == nil)
        try shop.state.setPaymentFails(id, true, now: shop.now)
        shop.advance(days: 60)
        #expect(refusal(&shop, id) == .ineligible)
        let trial = try shop.buy("silver", by: "bob", offer: .introductory).id
        #expect(refusal(&shop, trial) == .ineligible)
    }
}
