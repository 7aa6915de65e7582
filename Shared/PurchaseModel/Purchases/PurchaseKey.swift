import Foundation

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
