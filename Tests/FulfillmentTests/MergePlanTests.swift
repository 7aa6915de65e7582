import Foundation
import PurchaseModel
import Testing

@testable import Persistence

/// Which orders of a lineage are one purchase, without a database.
struct MergePlanTests {
    private static func order(
        _ id: String, lineItem: String? = nil, product: String = "vip", second: Double = 0, granted: Double? = 0,
        isPeriod: Bool = true, isNonRenewing: Bool = false
    ) -> DoubleOrder {
        var transaction = Transaction(
            environment: .production, transactionId: id, originalTransactionId: "1", bundleId: "app",
            productId: product,
            productType: isPeriod ? .autoRenewable : isNonRenewing ? .nonRenewing : .nonConsumable, quantity: 1,
            purchaseDate: Date(timeIntervalSince1970: second), signedDate: Date(timeIntervalSince1970: second))
        transaction.webOrderLineItemId = lineItem
        transaction.expiresDate = isPeriod ? Date(timeIntervalSince1970: second + 100) : nil
        let keys = PurchaseKeys(of: transaction)
        return DoubleOrder(
            key: OrderKey(environment: .production, transactionId: id), app: "app", originalTransactionId: "1",
            state: granted == nil ? .parked : .granted, reason: nil, account: nil,
            grantedAt: granted.map { Date(timeIntervalSince1970: $0) }, createdAt: Date(timeIntervalSince1970: 0),
            submissionId: "sub", productId: product, isNonRenewing: isNonRenewing, purchaseKey: keys.key?.text,
            fallbackKey: keys.fallback?.text, lineItem: lineItem, transaction: transaction)
    }

    /// The ids of each purchase, the one that stays in front.
    private static func ids(_ plan: MergePlan) -> [[String]] {
        plan.purchases.map { $0.orders.map(\.key.transactionId) }
    }

    /// `later first cause` of each contradiction.
    private static func conflicts(_ plan: MergePlan) -> [String] {
        plan.conflicts.map { "\($0.later.key.transactionId) \($0.first.key.transactionId) \($0.cause.rawValue)" }
    }

    @Test("one line item, with or without the same second, is one purchase; the first granted stays")
    func oneLineItem() {
        let plan = MergePlan([
            Self.order("a", lineItem: "7", granted: 3), Self.order("b", lineItem: "7", second: 50, granted: 2),
            Self.order("c", granted: nil), Self.order("d", lineItem: "7", granted: 1),
        ])
        #expect(Self.ids(plan) == [["d", "b", "a", "c"]])
        #expect(plan.conflicts.isEmpty)
        #expect(plan.purchases.map(\.purchaseKey) == ["p:1:7"])
        #expect(plan.purchases.map(\.fallbackKey) == ["d:1:vip:0"])
    }

    @Test("of two line items in one second the later has no fallback, and what has none is the first one's")
    func twoLineItems() {
        let plan = MergePlan([
            Self.order("a", lineItem: "7", granted: 2), Self.order("b", granted: 1),
            Self.order("c", lineItem: "8", granted: 3),
        ])
        #expect(Self.ids(plan) == [["b", "a"], ["c"]])
        #expect(Self.conflicts(plan) == ["c b two_line_items"])
        #expect(plan.purchases.map(\.purchaseKey) == ["p:1:7", "p:1:8"])
        #expect(plan.purchases.map(\.fallbackKey) == ["d:1:vip:0", nil])
    }

    @Test("one line item of two products is two purchases")
    func twoProducts() {
        let plan = MergePlan([
            Self.order("a", lineItem: "7", granted: 1), Self.order("b", lineItem: "7", product: "gold", granted: 2),
        ])
        #expect(Self.ids(plan) == [["a"], ["b"]])
        #expect(Self.conflicts(plan) == ["b a line_item_of_another"])
        #expect(plan.purchases.map(\.purchaseKey) == ["p:1:7", nil])
    }

    @Test("what is restored is one purchase; what is bought anew each time, and two products, are not")
    func once() {
        let restored = MergePlan([
            Self.order("a", granted: 2, isPeriod: false), Self.order("b", second: 9, granted: 1, isPeriod: false),
        ])
        #expect(Self.ids(restored) == [["b", "a"]])
        #expect(restored.purchases.map(\.transaction.purchaseDate) == [Date(timeIntervalSince1970: 0)])
        let anew = MergePlan([
            Self.order("a", granted: 1, isPeriod: false, isNonRenewing: true),
            Self.order("b", granted: 2, isPeriod: false),
        ])
        #expect(Self.ids(anew) == [["a"], ["b"]])
        #expect(Self.conflicts(anew) == ["b a original_differs"])
        let products = MergePlan([
            Self.order("a", granted: 1, isPeriod: false), Self.order("b", product: "gold", granted: 2, isPeriod: false),
        ])
        #expect(Self.conflicts(products) == ["b a two_orders"])
        #expect(products.purchases.map(\.purchaseKey) == ["o:1", nil])
    }
}
