import Foundation

/// What kind of product was sold; a value unknown today is kept as it came.
///
/// Source of Apple's names: developer.apple.com/documentation/appstoreserverapi/type.
package struct ProductType: RawRepresentable, Codable, Sendable, Hashable {
    /// Our name of the type, in snake case; Apple's own name where we know none.
    package let rawValue: String

    /// Keeps the name as it is.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Used up: coins, gems; may be bought any number of times.
    package static let consumable = ProductType(rawValue: "consumable")
    /// Owned for ever, restored on other devices.
    package static let nonConsumable = ProductType(rawValue: "non_consumable")
    /// A subscription that Apple renews.
    package static let autoRenewable = ProductType(rawValue: "auto_renewable")
    /// A subscription whose end the studio keeps.
    package static let nonRenewing = ProductType(rawValue: "non_renewing")

    /// Apple's data does not say, as in old receipts; the catalogue's word counts then.
    package static let unstated = ProductType(rawValue: "unstated")

    /// Whether this version knows what it is, or that Apple's data does not say.
    package var isKnown: Bool { self == .unstated || Self.known.contains(self) }

    /// The types a catalogue may name.
    package static let known: [ProductType] = [.consumable, .nonConsumable, .autoRenewable, .nonRenewing]

    /// Reads what was stored; what was kept under Apple's name by a version that did not know it is known by now.
    package init(from decoder: any Decoder) throws {
        self.init(appleName: try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the name.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    /// The type that Apple's signed data calls by this name.
    package init(appleName: String) {
        switch appleName {
        case "Consumable": self = .consumable
        case "Non-Consumable": self = .nonConsumable
        case "Auto-Renewable Subscription": self = .autoRenewable
        case "Non-Renewing Subscription": self = .nonRenewing
        default: self = ProductType(rawValue: appleName)
        }
    }
}

/// What was paid for, told apart from every other purchase of the same app and environment.
///
/// A transaction id does not do: Apple gives one purchase several, when it is restored, granted again, or seen by another
/// device. Source: developer.apple.com/documentation/appstoreserverapi/transactionid and …/weborderlineitemid.
package enum PurchaseKey: Sendable, Hashable {
    /// What is bought once in a lineage: a non-consumable, a non-renewing subscription, or what states no type.
    case once(originalTransactionId: String)
    /// A period of an auto-renewable subscription: all of its transactions share Apple's `webOrderLineItemId`.
    case period(originalTransactionId: String, webOrderLineItemId: String)
    /// The same period, where Apple's data lacks that id: by the product, and the second in which it was bought.
    case periodByDate(originalTransactionId: String, productId: String, purchaseSecond: Int64)

    /// As the database keeps it.
    package var text: String {
        switch self {
        case .once(let original): "o:\(original)"
        case .period(let original, let lineItem): "p:\(original):\(lineItem)"
        case .periodByDate(let original, let product, let second): "d:\(original):\(product):\(second)"
        }
    }
}

/// The keys of one purchase.
package struct PurchaseKeys: Sendable, Hashable {
    /// Its own key; nil for a consumable, whose one transaction id is its key, for a period without a line item, and for what is
    /// of a type that nobody here knows: two of them may be two purchases.
    package let key: PurchaseKey?
    /// What tells a period where a statement lacks the line item; nil for everything else.
    package let fallback: PurchaseKey?

    /// By how many seconds the dates of one period may differ: Apple rounds some in receipts, and cuts others.
    package static let tolerance: Int64 = 1

    /// The keys of the seconds beside a period's: a statement without a line item may have one of these.
    package var neighbours: [PurchaseKey] {
        guard case .periodByDate(let original, let product, let second) = fallback else { return [] }
        return (1...Self.tolerance).flatMap { [second - $0, second + $0] }.map {
            .periodByDate(originalTransactionId: original, productId: product, purchaseSecond: $0)
        }
    }

    /// No keys: of what contradicts another order.
    package static let none = PurchaseKeys(key: nil, fallback: nil)

    private init(key: PurchaseKey?, fallback: PurchaseKey?) {
        self.key = key
        self.fallback = fallback
    }

    /// The keys that a statement names.
    package init(of transaction: Transaction) {
        let original = transaction.originalTransactionId
        if transaction.productType == .consumable || !transaction.productType.isKnown {
            key = nil
            fallback = nil
        } else if transaction.isAutoRenewable {
            key = transaction.lineItem.map { .period(originalTransactionId: original, webOrderLineItemId: $0) }
            fallback = .periodByDate(
                originalTransactionId: original, productId: transaction.productId,
                purchaseSecond: Int64(transaction.purchaseDate.timeIntervalSince1970.rounded(.down)))
        } else {
            key = .once(originalTransactionId: original)
            fallback = nil
        }
    }
}

extension Transaction {
    /// Whether it is a period of an auto-renewable subscription: Apple says so, or it ends and nothing says what it is.
    package var isAutoRenewable: Bool {
        productType == .autoRenewable || productType == .unstated && expiresDate != nil
    }

    /// Apple's `webOrderLineItemId`; nil where there is none, for which receipts write 0, and Xcode "0".
    package var lineItem: String? {
        webOrderLineItemId.flatMap { $0.isEmpty || $0 == "0" ? nil : $0 }
    }

    /// Whether it is a family member's copy of a purchase that another Apple Account paid for.
    package var isFamilyCopy: Bool { ownership == Vocabulary.Ownership.familyShared }

    /// Whether Apple says that whoever has it paid for it; a receipt says nothing of it.
    package var isPurchased: Bool { ownership == Vocabulary.Ownership.purchased }

    /// Whether it is bought anew each time and never restored, and yet names another purchase as its first: then it
    /// is not known what was paid for.
    package func isMisnumbered(_ type: ProductType) -> Bool {
        (type == .consumable || type == .nonRenewing) && transactionId != originalTransactionId
    }
}
