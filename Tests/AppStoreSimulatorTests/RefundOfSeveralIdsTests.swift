import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Refunds of purchases with several transaction ids")
struct RefundOfSeveralIdsTests {
    private static func shop() throws -> LifecycleShop {
        var shop = try LifecycleShop("2026-03-01T00:00:00Z")
        shop.product("vip")
        shop.product("map", type: .nonConsumable)
        shop.device("phone", of: "alice")
        return shop
    }

    /// A purchase, the same restored, and granted again: three ids, the first bought first.
    private static func buy(_ product: String, in shop: inout LifecycleShop) throws -> [String] {
        let id = try shop.buy(product).id
        _ = try shop.restore(on: "phone")
        _ = try shop.state.regrant(id, now: shop.now)
        _ = shop.news()
        return shop.state.transactionIds(ofPurchase: id)
    }

    private static func revoked(_ ids: [String], in shop: LifecycleShop) -> [String] {
        ids.filter { shop.state.transactions[$0]?.revocationDate != nil }
    }

    /// The transaction that the newest notification of a type names, by its signed payload.
    private static func named(by type: NotificationType, in shop: LifecycleShop) throws -> SignedFields {
        let row = try #require(
            shop.state.notifications.rows.values.filter { $0.notificationType == type.rawValue }
                .max { $0.sequence < $1.sequence })
        let payload = try #require(DecodedNotification.document(of: row.signedPayload)?.text)
        let fields = try #require(
            try JSONSerialization.jsonObject(with: Data(payload.utf8)) as? [String: Any])
        let data = try #require(fields["data"] as? [String: Any])
        let transaction = try #require(data["signedTransactionInfo"] as? [String: Any])
        #expect(row.transactionId == transaction["transactionId"] as? String)
        return try JSONDecoder().decode(
            SignedFields.self, from: try JSONSerialization.data(withJSONObject: transaction))
    }

    @Test(
        "any id is refunded, and named; it alone carries the revocation, or all do",
        arguments: ["vip", "map"], [0, 1, 2])
    func scopes(_ product: String, _ index: Int) throws {
        for scope in RevocationScope.allCases {
            var shop = try Self.shop()
            let ids = try Self.buy(product, in: &shop)
            #expect(ids.count == 3)
            try shop.state.refund(ids[index], percentage: nil, reason: 1, scope: scope, now: shop.now)
            #expect(shop.news() == ["REFUND"])
            #expect(try Self.named(by: .refund, in: shop).transactionId == ids[index])
            #expect(Self.revoked(ids, in: shop) == (scope == .namedTransaction ? [ids[index]] : ids))
            if product == "vip" { #expect(try shop.subscription(ids[0]).status == .revoked) }
            for id in ids {
                #expect(shop.refusal { try $0.state.refund(id, percentage: nil, reason: 0, now: $0.now) } == 409)
                #expect(shop.refusal { try $0.state.requestRefund(id, reason: "OTHER", now: $0.now) } == 409)
            }
            // The reversal may name another.
            let other = ids[(index + 1) % 3]
            try shop.state.reverseRefund(other, now: shop.now)
            #expect(shop.news() == ["REFUND_REVERSED"])
            #expect(try Self.named(by: .refundReversed, in: shop).transactionId == other)
            #expect(Self.revoked(ids, in: shop).isEmpty)
            if product == "vip" { #expect(try shop.subscription(ids[0]).status == .active) }
            #expect(shop.refusal { try $0.state.reverseRefund(ids[index], now: $0.now) } == 409)
        }
    }

    @Test("a request is one of the purchase, whichever id it or its decision names")
    func requests() throws {
        var shop = try Self.shop()
        let ids = try Self.buy("map", in: &shop)
        try shop.state.requestRefund(ids[1], reason: "OTHER", now: shop.now)
        #expect(shop.news() == ["CONSUMPTION_REQUEST"])
        #expect(shop.refusal { try $0.state.requestRefund(ids[0], reason: "OTHER", now: $0.now) } == 409)
        shop.state.consumptionAnswered(ids[2])
        shop.advance(days: 3)
        #expect(shop.news() == [])
        try shop.state.declineRefund(ids[0], now: shop.now)
        #expect(shop.news() == ["REFUND_DECLINED"])
        #expect(shop.refusal { try $0.state.declineRefund(ids[1], now: $0.now) } == 409)
        try shop.state.requestRefund(ids[2], reason: "OTHER", now: shop.now)
        try shop.state.refund(ids[0], percentage: nil, reason: 0, now: shop.now)
        #expect(shop.state.refundRequests[ids[2]]?.outcome == .granted)
        shop.advance(days: 3)
        #expect(shop.news() == ["CONSUMPTION_REQUEST", "REFUND"])
    }

    @Test("a period that is over is refunded by the id of a restore, and the one that runs goes on")
    func oldPeriod() throws {
        var shop = try Self.shop()
        let ids = try Self.buy("vip", in: &shop)
        shop.advance(days: 40)
        _ = shop.news()
        try shop.state.refund(ids[2], percentage: 50_000, reason: 0, now: shop.now)
        #expect(shop.news() == ["REFUND"])
        #expect(try shop.subscription(ids[0]).status == .active)
        #expect(try shop.transaction(ids[2]).revocationType == .refundProrated)
        // A grant of what was refunded is as the named transaction is.
        let granted = try [ids[0], ids[2]].map { try shop.state.regrant($0, now: shop.now)[0].revocationDate }
        #expect(granted == [nil, shop.now])
    }
}
