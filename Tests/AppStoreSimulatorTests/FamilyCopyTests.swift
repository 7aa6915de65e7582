import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Family members' copies")
struct FamilyCopyTests {
    private static func shop(_ lineItem: AppRecord.FamilyLineItem? = nil) throws -> LifecycleShop {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        var app = shop.state.ensureApp(LifecycleShop.bundleId)
        app.familyWebOrderLineItem = lineItem
        shop.state.put(app)
        shop.product("vip", shared: true)
        shop.product("map", type: .nonConsumable, shared: true)
        shop.product("coins", type: .consumable, shared: true)
        for id in ["mother", "father", "son"] {
            shop.account(id, family: "miller")
            shop.device("\(id)s-phone", of: id)
        }
        shop.account("eve")
        return shop
    }

    /// A member's copy of a purchase: its first transaction.
    private static func copy(of id: String, by account: String, in shop: LifecycleShop) throws -> TransactionRecord {
        try #require(
            shop.state.copies(of: id).compactMap { shop.state.transactions[$0] }.last { $0.accountId == account })
    }

    @Test(
        "a copy's line item is another than the buyer's, or there is none, in each period",
        arguments: [nil, AppRecord.FamilyLineItem.own, AppRecord.FamilyLineItem.none])
    func lineItems(_ lineItem: AppRecord.FamilyLineItem?) throws {
        var shop = try Self.shop(lineItem)
        let bought = try shop.buy("vip", by: "mother")
        shop.advance(days: 31)
        let renewed = try #require(shop.lineage(bought.id).last)
        for period in [bought, renewed] {
            let copies = try ["father", "son"].map { try Self.copy(of: period.id, by: $0, in: shop) }
            for copy in copies {
                #expect(copy.isFamilyShared && copy.price == nil && copy.currency == nil)
                #expect(copy.originalTransactionId != bought.id && copy.appTransactionId != bought.appTransactionId)
                #expect(copy.expiresDate == period.expiresDate)
            }
            let items = copies.map(\.webOrderLineItemId)
            if lineItem == AppRecord.FamilyLineItem.none {
                #expect(items == [nil, nil])
            } else {
                #expect(Set(items + [period.webOrderLineItemId]).count == 3 && !items.contains(nil))
            }
        }
    }

    @Test(
        "a member restores his own copy; REVOKE of it names the id that is chosen, and the others stay",
        arguments: [0, 1])
    func severalIds(_ index: Int) throws {
        for (product, scope) in [("vip", RevocationScope.namedTransaction), ("map", .everyTransaction)] {
            var shop = try Self.shop()
            let bought = try shop.buy(product, by: "mother")
            let restored = try #require(try shop.restore(on: "sons-phone").first)
            #expect(restored.isFamilyShared && restored.accountId == "son")
            let ids = shop.state.transactionIds(ofPurchase: restored.id)
            #expect(ids.count == 2 && ids[0] != bought.id)
            _ = shop.news()
            try shop.state.stopSharing(ids[index], scope: scope, now: shop.now)
            #expect(shop.news() == ["REVOKE"])
            let revoked = ids.filter { shop.state.transactions[$0]?.revocationDate != nil }
            #expect(revoked == (scope == .namedTransaction ? [ids[index]] : ids))
            #expect(try shop.transaction(ids[index]).revocationReason == 0)
            #expect(try shop.restore(on: "sons-phone").isEmpty)
            #expect(shop.refusal { try $0.state.stopSharing(ids[0], now: $0.now) } == 409)
            // Two are left, and the refund ends them; the reversal does not bring the son's back.
            try shop.state.refund(bought.id, percentage: nil, reason: 1, scope: scope, now: shop.now)
            #expect(shop.news() == ["REFUND", "REVOKE"])
            try shop.state.reverseRefund(bought.id, now: shop.now)
            #expect(
                shop.news() == ["REFUND_REVERSED", product == "vip" ? "SUBSCRIBED/RESUBSCRIBE" : "ONE_TIME_CHARGE"])
            #expect(try Self.copy(of: bought.id, by: "father", in: shop).revocationDate == nil)
            #expect(shop.state.isRevoked(purchase: ids[0]))
        }
    }

    @Test("the buyer's refund by whichever id revokes each member's copy once", arguments: RevocationScope.allCases)
    func refund(_ scope: RevocationScope) throws {
        var shop = try Self.shop()
        let bought = try shop.buy("map", by: "mother")
        let restored = try #require(try shop.restore(on: "mothers-phone").first)
        let sons = try #require(try shop.restore(on: "sons-phone").first)
        _ = shop.news()
        try shop.state.refund(restored.id, percentage: nil, reason: 1, scope: scope, now: shop.now)
        #expect(shop.news() == ["REFUND", "REVOKE", "REVOKE"])
        for account in ["father", "son"] {
            let copy = try Self.copy(of: bought.id, by: account, in: shop)
            #expect(copy.revocationType == .familyRevoke && copy.revocationReason == 1)
        }
        #expect(try (shop.transaction(sons.id).revocationDate != nil) == (scope == .everyTransaction))
        try shop.state.reverseRefund(bought.id, now: shop.now)
        #expect(shop.news() == ["REFUND_REVERSED", "ONE_TIME_CHARGE", "ONE_TIME_CHARGE"])
        #expect(!shop.state.isRevoked(purchase: sons.id))
    }

    @Test("who leaves loses each copy once, and a restore is not shared a second time")
    func leaves() throws {
        var shop = try Self.shop()
        let map = try shop.buy("map", by: "mother").id
        _ = try shop.buy("vip", by: "mother")
        _ = try shop.restore(on: "mothers-phone")
        _ = try shop.restore(on: "sons-phone")
        #expect(shop.state.copies(of: map).count == 2)
        _ = shop.news()
        try shop.state.leaveFamily("son", scope: .everyTransaction, now: shop.now)
        #expect(shop.news() == ["REVOKE", "REVOKE"])
        shop.account("eve", family: "miller")
        shop.state.joinFamily("eve", now: shop.now)
        #expect(shop.news().sorted() == ["ONE_TIME_CHARGE", "SUBSCRIBED/INITIAL_BUY"])
        // What was revoked is not shared anew, by whichever id it was.
        let further = shop.state.transactionIds(ofPurchase: map)[1]
        try shop.state.refund(further, percentage: nil, reason: 0, now: shop.now)
        _ = shop.news()
        shop.account("son", family: "miller")
        shop.state.joinFamily("son", now: shop.now)
        #expect(shop.news() == ["SUBSCRIBED/INITIAL_BUY"])
    }

    @Test("one purchase is shared with one member, also after its sharing was stopped", arguments: ["vip", "map"])
    func share(_ product: String) throws {
        var shop = try Self.shop()
        let bought = try shop.buy(product, by: "mother")
        let first = try Self.copy(of: bought.id, by: "son", in: shop)
        try shop.state.stopSharing(first.id, now: shop.now)
        let further = try shop.restore(on: "mothers-phone")[0].id
        _ = shop.news()
        let copy = try shop.state.shareWithMember(
            further, accountId: "son", lineItem: AppRecord.FamilyLineItem.none, now: shop.now)
        #expect(shop.news() == [product == "vip" ? "SUBSCRIBED/INITIAL_BUY" : "ONE_TIME_CHARGE"])
        #expect(copy.sharedFromTransactionId == bought.id && copy.webOrderLineItemId == nil)
        #expect(copy.originalTransactionId == copy.id && copy.id != first.id)
        #expect(shop.refusal { _ = try $0.state.shareWithMember(further, accountId: "son", now: $0.now) } == 409)
        try shop.state.refund(bought.id, percentage: nil, reason: 0, now: shop.now)
        #expect(shop.news() == ["REFUND", "REVOKE", "REVOKE"])
    }

    @Test("what is no copy, or cannot be shared, is refused")
    func refused() throws {
        var shop = try Self.shop()
        let coins = try shop.buy("coins", by: "mother").id
        let map = try shop.buy("map", by: "mother").id
        let vip = try shop.buy("vip", by: "mother").id
        let sons = try Self.copy(of: map, by: "son", in: shop).id
        for (id, account, status) in [
            ("1", "son", 404), (coins, "son", 409), (map, "eve", 409), (map, "mother", 409), (sons, "father", 409),
            (map, "son", 409),
        ] {
            #expect(
                shop.refusal { _ = try $0.state.shareWithMember(id, accountId: account, now: $0.now) } == status,
                "\(id) \(account)")
        }
        for (id, status) in [("1", 404), (coins, 409), (map, 409)] {
            #expect(shop.refusal { try $0.state.stopSharing(id, now: $0.now) } == status)
        }
        // Another period runs by now.
        let sonsPeriod = try Self.copy(of: vip, by: "son", in: shop).id
        shop.advance(days: 40)
        #expect(shop.refusal { try $0.state.stopSharing(sonsPeriod, now: $0.now) } == 409)
        try shop.state.refund(map, percentage: nil, reason: 0, now: shop.now)
        #expect(shop.refusal { _ = try $0.state.shareWithMember(map, accountId: "son", now: $0.now) } == 409)
    }
}
