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
