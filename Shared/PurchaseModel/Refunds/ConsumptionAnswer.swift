package import Foundation

/// What Apple is told of a purchase when its customer asks for a refund: made of the ledger, sent by a worker.
///
/// Source of the fields: developer.apple.com/documentation/appstoreserverapi/consumptionrequest.
package struct ConsumptionAnswer: Codable, Sendable, Hashable {
    /// How much is all of it, in thousandths of a per cent.
    package static let whole = 100_000

    /// Whether it was granted once.
    package var isDelivered: Bool
    /// How much of it was used, in thousandths of a per cent; nil where that is not known, or not to be said.
    package var consumed: Int?
    /// What the studio would like; nil says nothing.
    package var preference: RefundPolicy.Preference?
    /// Whether the customer could try it before.
    package var hasSample: Bool

    package init(isDelivered: Bool, consumed: Int?, preference: RefundPolicy.Preference?, hasSample: Bool) {
        self.isDelivered = isDelivered
        self.consumed = consumed
        self.preference = preference
        self.hasSample = hasSample
    }

    enum CodingKeys: String, CodingKey {
        case consumed, preference
        case isDelivered = "delivered"
        case hasSample = "sample_content"
    }
}

/// What the database knows of a purchase whose refund is asked for.
package struct ConsumptionFacts: Sendable, Hashable {
    /// An item that the purchase brought.
    package struct Item: Sendable, Hashable {
        package let item: String
        /// How many it brought.
        package let granted: Int64
        /// How many the account has now, of whatever purchase; below zero is a debt.
        package let balance: Int64
        /// How many later purchases brought: what is used goes first from what came first.
        package let grantedLater: Int64

        package init(item: String, granted: Int64, balance: Int64, grantedLater: Int64) {
            self.item = item
            self.granted = granted
            self.balance = balance
            self.grantedLater = grantedLater
        }

        /// How many of them are used, by the rule first in, first out.
        package var used: Int64 { granted - min(max(balance - grantedLater, 0), granted) }
    }

    /// What kind of product Apple says it is.
    package let productType: ProductType
    /// Whether it was granted once.
    package let wasGranted: Bool
    /// What it brought.
    package let items: [Item]
    /// Whether players of the app spend through Countersign: else nobody here knows what they used.
    package let spendsHere: Bool
    package let purchaseDate: Date
    /// When what it entitles to ends; nil for ever, or for nothing.
    package let entitledUntil: Date?

    package init(
        productType: ProductType, wasGranted: Bool, items: [Item], spendsHere: Bool, purchaseDate: Date,
        entitledUntil: Date?
    ) {
        self.productType = productType
        self.wasGranted = wasGranted
        self.items = items
        self.spendsHere = spendsHere
        self.purchaseDate = purchaseDate
        self.entitledUntil = entitledUntil
    }
}

extension ConsumptionAnswer {
    /// What follows from the facts, by the product's policy.
    ///
    /// - Parameter now: until when time counts as used.
    package init(_ facts: ConsumptionFacts, policy: RefundPolicy, now: Date) {
        let consumed = Self.consumed(facts, now: now)
        self.init(
            isDelivered: facts.wasGranted, consumed: consumed,
            preference: Self.preference(facts, policy, consumed: consumed), hasSample: policy.hasSample)
    }

    /// The mean of the shares of what it brought: of each item, and of the time of a season.
    private static func consumed(_ facts: ConsumptionFacts, now: Date) -> Int? {
        // Apple wants no share of a subscription that renews, and 0 of what was not delivered (apple-facts C11).
        guard facts.productType != .autoRenewable else { return nil }
        guard facts.wasGranted else { return 0 }
        var shares: [Double] = []
        if facts.spendsHere {
            shares += facts.items.filter { $0.granted > 0 }.map { Double($0.used) / Double($0.granted) }
        }
        if facts.productType == .nonRenewing, let end = facts.entitledUntil, end > facts.purchaseDate {
            let length = end.timeIntervalSince(facts.purchaseDate)
            shares.append(min(max(now.timeIntervalSince(facts.purchaseDate) / length, 0), 1))
        }
        guard !shares.isEmpty else { return nil }
        let mean = shares.reduce(0, +) / Double(shares.count)
        return min(max(Int((mean * Double(whole)).rounded(.down)), 0), whole)
    }

    private static func preference(
        _ facts: ConsumptionFacts, _ policy: RefundPolicy, consumed: Int?
    ) -> RefundPolicy.Preference? {
        // Who got nothing is to have the money back, whatever the policy.
        guard facts.wasGranted else { return .grantFull }
        if let consumed, consumed > 0, let preference = policy.whenConsumed { return preference }
        return policy.preference
    }
}
