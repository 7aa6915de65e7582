/// What somebody is about to buy, checked: the product is known, the account is somebody's.
struct Purchase: Codable, Sendable {
    var bundleId: String
    var productId: String
    var environment: StoreEnvironment
    /// An Apple ID, or a guest: see ``StoreState/guest(token:)``.
    var accountId: String
    var deviceId: String?
    var quantity: Int64 = 1
    /// A lower-case UUID.
    var appAccountToken: String?
    /// Which of the product's offers is used.
    var offerKind: Offer.Kind?
    var offerIdentifier: String?
    /// Milliunits, instead of the product's price.
    var price: Int64?
    var currency: String?
    /// Instead of the account's.
    var storefront: String?
    var storefrontId: String?
    /// When a subscription's period ends instead, milliseconds since 1970.
    var expiresDate: Int64?
    /// For guests: makes it a renewal of a lineage that the store may not know.
    var originalTransactionId: String?
    /// JSON that stands in the transaction as it is.
    var advancedCommerceInfo: String?
}

/// What came of trying to buy.
enum PurchaseOutcome: Sendable {
    /// The buyer's transaction; family members may have got theirs besides.
    case bought(TransactionRecord)
    /// A non-consumable or a running subscription that the account has already.
    case alreadyOwned(TransactionRecord)
    /// A subscription will change its product with the next renewal.
    case changesAtRenewal(SubscriptionRecord)
    /// A guardian is asked.
    case deferred(DeferredPurchaseRecord)
}
