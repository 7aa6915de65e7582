import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Price increases")
struct PriceIncreaseTests {
    private static func raise(
        _ shop: inout LifecycleShop, consent: Bool, effective: Int64? = nil, to price: Int64 = 12_990
    ) throws -> Int {
        try shop.state.raisePrice(
            bundleId: LifecycleShop.bundleId, productId: "vip", to: price, needsConsent: consent,
            effectiveDate: effective, now: shop.now)
    }

    @Test("without consent: it is told, and the next renewal costs more")
    func told() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        let id = try shop.buy("vip").id
        _ = try shop.buy("vip", by: "bob")
        _ = shop.news()
        #expect(try Self.raise(&shop, consent: false) == 2)
        #expect(shop.news() == ["PRICE_INCREASE/ACCEPTED", "PRICE_INCREASE/ACCEPTED"])
        #expect(try shop.subscription(id).priceIncrease?.hasConsent == true)
        #expect(try shop.subscription(id).renewalPrice == 12_990)
        shop.advance(days: 31)
        #expect(shop.lineage(id).map(\.price) == [9_990, 12_990])
        #expect(try shop.subscription(id).priceIncrease == nil)
        #expect(try shop.buy("vip", by: "carol").price == 12_990)
    }

    @Test("with consent: who agrees pays more, who does not loses it")
    func consent() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        let alice = try shop.buy("vip").id
        let bob = try shop.buy("vip", by: "bob").id
        _ = shop.news()
        #expect(try Self.raise(&shop, consent: true) == 2)
        #expect(shop.news() == ["PRICE_INCREASE/PENDING", "PRICE_INCREASE/PENDING"])
        #expect(try shop.subscription(alice).priceIncrease?.hasConsent == false)
        try shop.state.consentToPrice(alice, true, now: shop.now)
        try shop.state.consentToPrice(bob, false, now: shop.now)
        #expect(shop.news() == ["PRICE_INCREASE/ACCEPTED"])
        #expect(shop.refusal { try $0.state.consentToPrice(alice, true, now: $0.now) } == 409)
        shop.advance(days: 31)
        #expect(shop.news() == ["DID_RENEW", "EXPIRED/PRICE_INCREASE"])
        #expect(shop.lineage(alice).map(\.price) == [9_990, 12_990])
        #expect(try shop.subscription(bob).status == .expired)
        #expect(try shop.subscription(bob).expirationIntent == .noConsentToPriceIncrease)
        #expect(shop.refusal { try $0.state.consentToPrice(bob, true, now: $0.now) } == 409)
    }

    @Test("a date ahead leaves the renewals before it as they are")
    func effectiveDate() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        let id = try shop.buy("vip").id
        _ = try Self.raise(&shop, consent: true, effective: try LifecycleShop.instant("2026-04-15T00:00:00Z"))
        try shop.advance(to: "2026-04-02T00:00:00Z")
        try shop.state.consentToPrice(id, true, now: shop.now)
        try shop.advance(to: "2026-05-02T00:00:00Z")
        #expect(shop.lineage(id).map(\.price) == [9_990, 9_990, 12_990])
    }

    @Test("what cannot be raised")
    func refused() throws {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        #expect(shop.refusal { _ = try Self.raise(&$0, consent: true, to: 9_990) } == 400)
        shop.product("vip", type: .consumable)
        #expect(shop.refusal { _ = try Self.raise(&$0, consent: true) } == 409)
    }
}
