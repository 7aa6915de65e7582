import Foundation
import PurchaseModel

/// Which orders of one lineage are one purchase, and which contradict each other: a rule without I/O.
struct MergePlan: Sendable {
    /// Orders that are one purchase, the first of them in front: the one that stays.
    struct MergedPurchase: Sendable {
        fileprivate(set) var orders: [DoubleOrder]
        fileprivate(set) var purchaseKey: String?
        fileprivate(set) var fallbackKey: String?

        var first: DoubleOrder { orders[0] }
        /// Those that become part of the first.
        var others: ArraySlice<DoubleOrder> { orders.dropFirst() }

        /// All that Apple signed of it, under the id of the order that stays.
        var transaction: Transaction {
            Purchase(first.transaction).adding(others.map(\.transaction)).transaction
        }

        fileprivate init(_ orders: [DoubleOrder]) {
            self.orders = orders
            // The keys follow from what is known of the purchase together, as they do everywhere.
            let keys = orders.count > 1 ? PurchaseKeys(of: transaction) : nil
            purchaseKey = orders.count > 1 ? keys?.key?.text : orders[0].purchaseKey
            fallbackKey = orders.count > 1 ? keys?.fallback?.text : orders[0].fallbackKey
        }
    }

    /// Two orders that share a key and are no one purchase.
    struct Conflict: Sendable {
        let first: DoubleOrder
        let later: DoubleOrder
        let cause: PurchaseConflict
    }

    /// Every order that was asked about is in one of them.
    private(set) var purchases: [MergedPurchase]
    private(set) var conflicts: [Conflict] = []

    /// - Parameter orders: all of one lineage that share a key with another of them.
    init(_ orders: [DoubleOrder]) {
        let sorted = orders.sorted(by: DoubleOrder.isBefore)
        var sets = DisjointSets(count: sorted.count)
        // What is bought anew each time is never another's copy; and one key of two products is no one purchase.
        for places in Self.shared(sorted, \.purchaseKey) where !places.contains(where: { sorted[$0].isNonRenewing }) {
            for same in Dictionary(grouping: places, by: { sorted[$0].productId }).values { sets.join(same) }
        }
        for places in Self.shared(sorted, \.fallbackKey) {
            // Where line items differ, one without belongs to the first that has one.
            let lineItem = places.lazy.compactMap { sorted[$0].lineItem }.first
            sets.join(places.filter { sorted[$0].lineItem == nil || sorted[$0].lineItem == lineItem })
        }
        purchases = sets.all.map { places in MergedPurchase(places.map { sorted[$0] }) }
        findConflicts()
    }

    /// Places of orders with the same key, each list sorted.
    private static func shared(
        _ orders: [DoubleOrder], _ key: KeyPath<DoubleOrder, String?>
    ) -> [[Int]] {
        var places: [String: [Int]] = [:]
        for (place, order) in orders.enumerated() {
            if let text = order[keyPath: key] { places[text, default: []].append(place) }
        }
        return places.values.filter { $0.count > 1 }
    }

    /// Of purchases that share a key the first keeps it.
    private mutating func findConflicts() {
        var byPurchaseKey: [String: DoubleOrder] = [:]
        var byFallbackKey: [String: DoubleOrder] = [:]
        for place in purchases.indices {
            let order = purchases[place].first
            if let key = purchases[place].purchaseKey {
                if let first = byPurchaseKey[key] {
                    conflicts.append(Conflict(first: first, later: order, cause: Self.cause(first, order)))
                    purchases[place].purchaseKey = nil
                } else {
                    byPurchaseKey[key] = order
                }
            }
            if let key = purchases[place].fallbackKey {
                if let first = byFallbackKey[key] {
                    conflicts.append(Conflict(first: first, later: order, cause: .twoLineItems))
                    purchases[place].fallbackKey = nil
                } else {
                    byFallbackKey[key] = order
                }
            }
        }
    }

    private static func cause(_ first: DoubleOrder, _ later: DoubleOrder) -> PurchaseConflict {
        if first.isNonRenewing || later.isNonRenewing { return .originalDiffers }
        return first.fallbackKey == nil ? .twoOrders : .lineItemOfAnother
    }
}

/// Numbers from 0, in sets that are joined.
private struct DisjointSets {
    private var parents: [Int]

    init(count: Int) {
        parents = Array(0..<count)
    }

    mutating func join(_ numbers: [Int]) {
        guard let first = numbers.first else { return }
        for number in numbers.dropFirst() {
            // The smallest of each set leads it.
            let (one, other) = (leader(of: first), leader(of: number))
            parents[max(one, other)] = min(one, other)
        }
    }

    private func leader(of number: Int) -> Int {
        var number = number
        while parents[number] != number { number = parents[number] }
        return number
    }

    /// All sets by their smallest number, each sorted.
    var all: [[Int]] {
        Dictionary(grouping: parents.indices) { leader(of: $0) }.sorted { $0.key < $1.key }.map(\.value)
    }
}
