/// The numbers of a receipt's attributes.
///
/// Apple documents few of them (archived "Receipt Validation Programming Guide", chapter "Receipt Fields"); the others are
/// named after what stands in genuine receipts of 2015 to 2025, and by their number where that does not tell.
enum ReceiptAttribute {
    static let receiptType: Int64 = 0
    static let appItemId: Int64 = 1
    static let bundleId: Int64 = 2
    static let applicationVersion: Int64 = 3
    static let opaqueValue: Int64 = 4
    static let hash: Int64 = 5
    static let opaque6: Int64 = 6
    /// Unreadable in Apple's receipts; in ours: who holds the receipt (``ReceiptHolder``).
    static let holder: Int64 = 7
    /// The creation date once more, but empty in the sandbox.
    static let productionDate: Int64 = 8
    /// Four letters: the release of what made the receipt.
    static let issuerRelease: Int64 = 9
    static let ageRating: Int64 = 10
    static let number11: Int64 = 11
    static let creationDate: Int64 = 12
    static let number13: Int64 = 13
    static let number14: Int64 = 14
    static let downloadId: Int64 = 15
    static let versionExternalIdentifier: Int64 = 16
    static let inAppPurchase: Int64 = 17
    static let originalPurchaseDate: Int64 = 18
    static let originalApplicationVersion: Int64 = 19
    /// Empty, and not there on a Mac.
    static let text20: Int64 = 20
    /// 3 on iOS, 2 on a Mac.
    static let number25: Int64 = 25

    /// Those of one purchase.
    enum Purchase {
        static let quantity: Int64 = 1701
        static let productId: Int64 = 1702
        static let transactionId: Int64 = 1703
        static let purchaseDate: Int64 = 1704
        static let originalTransactionId: Int64 = 1705
        static let originalPurchaseDate: Int64 = 1706
        static let productType: Int64 = 1707
        static let expiresDate: Int64 = 1708
        static let productItemId: Int64 = 1710
        static let webOrderLineItemId: Int64 = 1711
        static let cancellationDate: Int64 = 1712
        static let isTrialPeriod: Int64 = 1713
        static let isInIntroOfferPeriod: Int64 = 1719
        static let promotionalOfferId: Int64 = 1721
        static let number1722: Int64 = 1722
        /// UTF8Strings that are empty in every genuine receipt at hand.
        static let emptyTexts: [Int64] = [1709, 1714, 1715, 1716, 1717, 1718]
    }
}
