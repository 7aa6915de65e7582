import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Restores and further grants")
struct RestoreTests {
    private static func shop(sandboxMonth: Int64? = nil) throws -> LifecycleShop {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z", sandboxMonth: sandboxMonth)
        shop.product("vip")
        shop.product("vip-gold", level: 0)
        shop.product("map", type: .nonConsumable)
        shop.product("coins", type: .consumable)
        shop.product("season", type: .nonRenewingSubscription)
        for id in ["phone", "tablet"] { shop.device(id, of: "alice") }
        return shop
    }

    /// The fields of a signed transaction that differ, by their names.
    private static func differences(_ left: TransactionRecord, _ right: TransactionRecord) throws -> Set<String> {
        let texts = [left, right].map { $0.payload(signedDate: 0) }
        let fields = try texts.map { try JSONDecoder().decode([String: JSONValue].self, from: Data($0.utf8)) }
        let names = Set(fields[0].keys).union(fields[1].keys)
        return names.filter { fields[0][$0] != fields[1][$0] }
    }

    @Test("each period of a subscription comes under another id, and nothing else of it changes")
    func periods() throws {
        var shop = try Self.shop()
        let id = try shop.buy("vip").id
        shop.advance(days: 70)
        let periods = shop.lineage(id)
        #expect(periods.count == 3)
        _ = shop.news()
        let restored = try shop.restore(on: "tablet")
        #expect(shop.news() == [])
        #expect(restored.map(\.purchaseId) == periods.map(\.id))
        for (period, copy) in zip(periods, restored) {
            #expect(try Self.differences(period, copy) == ["transactionId"])
            #expect(copy.deviceId == "tablet" && copy.receiptOriginalPurchaseDate == nil)
        }
        // It renews as before, and the next period is a purchase of its own.
        shop.advance(days: 31)
        #expect(shop.news() == ["DID_RENEW"])
        let next = try #require(shop.lineage(id).last)
        #expect(next.firstTransactionId == nil && next.webOrderLineItemId != periods[2].webOrderLineItemId)
        #expect(next.originalPurchaseDate == periods[0].originalPurchaseDate)
        #expect(try shop.subscription(id).transactionId == next.id)
    }

    @Test(
        "a non-consumable is dated by the restore or by the purchase, in receipts its original too",
        arguments: RestoreDates.Source.allCases, RestoreDates.Source.allCases)
    func dates(_ purchaseDate: RestoreDates.Source, _ originalPurchaseDate: RestoreDates.Source) throws {
        var shop = try Self.shop()
        let map = try shop.buy("map")
        shop.advance(days: 9)
        let dates = RestoreDates(purchaseDate: purchaseDate, originalPurchaseDate: originalPurchaseDate)
        let copy = try #require(try shop.restore(on: "tablet", dates: dates).first)
        #expect(copy.purchaseDate == (purchaseDate == .restore ? shop.now : map.purchaseDate))
        #expect(copy.originalPurchaseDate == map.originalPurchaseDate)
        #expect(copy.originalTransactionId == map.id && copy.webOrderLineItemId == nil)
        #expect(
            try Self.differences(map, copy)
                == (purchaseDate == .restore ? ["transactionId", "purchaseDate"] : ["transactionId"]))
        let inReceipt = ReceiptContents.InAppPurchase(copy)
        #expect(
            inReceipt.originalPurchaseDate == (originalPurchaseDate == .restore ? shop.now : map.originalPurchaseDate))
    }

    @Test("what is used up, does not renew, or was refunded is not restored")
    func notRestored() throws {
        var shop = try Self.shop()
        let coins = try shop.buy("coins")
        _ = try shop.buy("season")
        let map = try shop.buy("map")
        #expect(try shop.restore(on: "phone").map(\.originalTransactionId) == [map.id])
        try shop.state.finish(coins.id, now: shop.now)
        // Any device as often as it likes, each time under other ids.
        let ids = try (0..<3).flatMap { _ in try shop.restore(on: "tablet").map(\.id) }
        #expect(Set(ids).count == 3)
        #expect(shop.state.transactionIds(ofPurchase: ids[1]).count == 5)
        try shop.state.refund(ids[0], percentage: nil, reason: 0, now: shop.now)
        #expect(try shop.restore(on: "phone").isEmpty)
        // It was refunded under an id of a restore, so it can be bought again.
        let again = try shop.buy("map")
        #expect(again.originalTransactionId == again.id)
        #expect(try shop.restore(on: "phone").map(\.purchaseId) == [again.id])
    }

    @Test("a further grant differs in nothing but the id")
    func regrant() throws {
        var shop = try Self.shop()
        let period = try shop.buy("vip")
        let map = try shop.buy("map")
        _ = shop.news()
        for source in [period, map] {
            let granted = try shop.state.regrant(source.id, count: 3, now: shop.now)
            #expect(Set(granted.map(\.id)).count == 3)
            for copy in granted { #expect(try Self.differences(source, copy) == ["transactionId"]) }
            // A grant of a grant is one of the same purchase.
            let last = try shop.state.regrant(granted[2].id, on: "tablet", now: shop.now)
            #expect(last.map(\.purchaseId) == [source.id] && last[0].deviceId == "tablet")
        }
        #expect(shop.news() == [])
    }

    @Test("extensions and upgrades are of the purchase: every id says so")
    func changes() throws {
        var shop = try Self.shop()
        let id = try shop.buy("vip").id
        let ids = try shop.restore(on: "tablet").map(\.id) + shop.state.regrant(id, now: shop.now).map(\.id)
        try shop.state.extendRenewal(id, days: 9, reason: 0, requestIdentifier: "r", now: shop.now)
        let end = try shop.subscription(id).renewalDate
        #expect(try ids.allSatisfy { try shop.transaction($0).expiresDate == end })
        let better = try shop.buy("vip-gold")
        #expect(try ([id] + ids).allSatisfy { try shop.transaction($0).isUpgraded })
        #expect(try !shop.transaction(better.id).isUpgraded)
    }

    @Test("copies are no renewals: a sandbox subscription renews twelve times with and without them")
    func sandbox() throws {
        var shop = try Self.shop(sandboxMonth: 300_000)
        let id = try shop.buy("vip", environment: .sandbox).id
        for _ in 0..<8 {
            shop.advance(to: shop.now + 300_000)
            _ = try shop.restore(on: "tablet", environment: .sandbox)
        }
        shop.advance(days: 1)
        #expect(shop.lineage(id).filter(\.isRenewal).filter { $0.firstTransactionId == nil }.count == 12)
    }

    @Test("what cannot be restored or granted again is refused")
    func refused() throws {
        var shop = try Self.shop()
        shop.device("others", of: "eve")
        let coins = try shop.buy("coins").id
        let season = try shop.buy("season").id
        let map = try shop.buy("map").id
        #expect(shop.refusal { _ = try $0.restore(on: "nowhere") } == 404)
        #expect(shop.refusal { _ = try $0.state.regrant("1", now: $0.now) } == 404)
        for id in [coins, season] { #expect(shop.refusal { _ = try $0.state.regrant(id, now: $0.now) } == 409) }
        #expect(shop.refusal { _ = try $0.state.regrant(map, on: "nowhere", now: $0.now) } == 404)
        #expect(shop.refusal { _ = try $0.state.regrant(map, on: "others", now: $0.now) } == 409)
        for count in [0, 101] {
            #expect(shop.refusal { _ = try $0.state.regrant(map, count: count, now: $0.now) } == 400)
        }
        var account = shop.state.account("alice")
        account.isDeleted = true
        shop.state.put(account)
        #expect(shop.refusal { _ = try $0.restore(on: "phone") } == 409)
    }
}
