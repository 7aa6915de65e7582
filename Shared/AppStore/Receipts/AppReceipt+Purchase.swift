public import Foundation

extension AppReceipt {
    /// One transaction as a receipt tells of it (Apple's "In-App Purchase Receipt Fields").
    public struct Purchase: Sendable, Hashable {
        /// How many were bought (1701).
        public let quantity: Int64?
        /// What was bought (1702).
        public let productId: String
        /// The transaction (1703).
        public let transactionId: String
        /// The first transaction of a subscription or a restored purchase, or the transaction itself (1705).
        public let originalTransactionId: String
        /// When it was bought or renewed (1704).
        public let purchaseDate: Date
        /// When the original transaction was (1706).
        public let originalPurchaseDate: Date?
        /// When a subscription ends (1708).
        public let expiresDate: Date?
        /// When it was refunded, or replaced by an upgrade (1712).
        public let cancellationDate: Date?
        /// What kind of product it is (1707).
        public let productType: ProductType?
        /// Apple's number of the product (1710); 0 in the sandbox.
        public let productItemId: Int64?
        /// Which period of a subscription it is (1711), as signed transactions write it; nil for anything else.
        public let webOrderLineItemId: String?
        /// Whether it is a free trial (1713).
        public let isTrialPeriod: Bool?
        /// Whether it is at an introductory price (1719).
        public let isInIntroOfferPeriod: Bool?
        /// The promotional offer by which it was bought (1721).
        public let promotionalOfferId: String?
        /// Numbers of attributes that this version knows but could not read; they are nil above.
        public let unreadableAttributes: [Int64]
        /// The attributes as they were signed: a SET in DER.
        public let encoded: ArraySlice<UInt8>

        /// All attributes, known and unknown, as they are.
        public var attributes: [Attribute] { Attribute.all(in: encoded) }

        /// The attributes that Apple has documented nowhere or that came after this version, as they are.
        public var unknownAttributes: [Attribute] {
            attributes.filter { !Number.isKnown($0.type) }
        }

        /// The kind of a product, as receipts number it.
        public struct ProductType: RawRepresentable, Sendable, Hashable {
            /// Apple's value.
            public let rawValue: Int64

            /// Takes a value, known or not.
            public init(rawValue: Int64) { self.rawValue = rawValue }

            /// Bought once, for ever.
            public static let nonConsumable = ProductType(rawValue: 0)
            /// Used up; may be bought again.
            public static let consumable = ProductType(rawValue: 1)
            /// For a time; the app knows for how long.
            public static let nonRenewingSubscription = ProductType(rawValue: 2)
            /// Renews until cancelled.
            public static let autoRenewableSubscription = ProductType(rawValue: 3)
        }

        /// Apple's numbers of a purchase's attributes.
        enum Number {
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

            static let known: Set<Int64> = [
                quantity, productId, transactionId, purchaseDate, originalTransactionId, originalPurchaseDate,
                productType, expiresDate, productItemId, webOrderLineItemId, cancellationDate, isTrialPeriod,
                isInIntroOfferPeriod, promotionalOfferId,
            ]

            /// The known numbers as bits, less 1700: a receipt can have a hundred thousand to look up.
            static let knownBits: UInt64 = known.reduce(0) { $0 | 1 << UInt64($1 - 1_700) }

            static func isKnown(_ number: Int64) -> Bool {
                (quantity...promotionalOfferId).contains(number) && knownBits & 1 << UInt64(number - 1_700) != 0
            }
        }
    }
}

extension AppReceipt.Purchase {
    /// Most that can be bought at once; StoreKit allows 10, and a column for it 32 bits.
    private static let quantityMaximum: Int64 = 1_000_000

    /// The transaction id alone, in bytes, of a purchase that cannot be read.
    static func transactionId(_ bytes: [UInt8], in range: Range<Int>) throws(SignedDataRejection) -> [UInt8]? {
        let values = ReceiptValues(bytes)
        var walk = try ReceiptAttributeWalk(bytes, in: range)
        while let entry = try walk.next() {
            guard entry.type == Number.transactionId else { continue }
            return try values.strictText(entry).map { Array($0.utf8) }
        }
        return nil
    }

    /// Reads a purchase of a receipt whose signature is good.
    ///
    /// - Parameter range: the value of the receipt's attribute.
    init(_ bytes: [UInt8], in range: Range<Int>) throws(SignedDataRejection) {
        var quantity, productItemId, webOrderLineItemId: Int64?
        var productId, transactionId, originalTransactionId, promotionalOfferId: String?
        var purchaseDate, originalPurchaseDate, expiresDate, cancellationDate: Date?
        var productType: ProductType?
        var isTrialPeriod, isInIntroOfferPeriod: Bool?
        var values = ReceiptValues(bytes)
        var walk = try ReceiptAttributeWalk(bytes, in: range)
        while let entry = try walk.next() {
            guard Number.isKnown(entry.type) else { continue }
            try values.note(entry)
            switch entry.type {
            case Number.quantity: quantity = try values.strictInteger(entry, in: 1...Self.quantityMaximum)
            case Number.productId: productId = try values.strictText(entry)
            case Number.transactionId: transactionId = try values.strictText(entry)
            case Number.purchaseDate: purchaseDate = try values.strictDate(entry)
            case Number.originalTransactionId: originalTransactionId = try values.strictText(entry)
            case Number.originalPurchaseDate: originalPurchaseDate = values.date(entry)
            case Number.productType: productType = values.integer(entry).map(ProductType.init(rawValue:))
            case Number.expiresDate: expiresDate = try values.strictDate(entry)
            case Number.productItemId: productItemId = values.integer(entry)
            case Number.webOrderLineItemId: webOrderLineItemId = values.integer(entry)
            case Number.cancellationDate: cancellationDate = try values.strictDate(entry)
            case Number.isTrialPeriod: isTrialPeriod = values.flag(entry)
            case Number.isInIntroOfferPeriod: isInIntroOfferPeriod = values.flag(entry)
            case Number.promotionalOfferId: promotionalOfferId = values.text(entry)
            default: break
            }
        }
        guard let productId, let transactionId, let originalTransactionId, let purchaseDate else {
            throw SignedDataRejection(.fieldMissing, "a purchase lacks its product, transaction or date")
        }
        self.quantity = quantity
        self.productId = productId
        self.transactionId = transactionId
        self.originalTransactionId = originalTransactionId
        self.purchaseDate = purchaseDate
        self.originalPurchaseDate = originalPurchaseDate
        self.expiresDate = expiresDate
        self.cancellationDate = cancellationDate
        self.productType = productType
        self.productItemId = productItemId
        self.webOrderLineItemId = webOrderLineItemId.flatMap { $0 == 0 ? nil : String($0) }
        self.isTrialPeriod = isTrialPeriod
        self.isInIntroOfferPeriod = isInIntroOfferPeriod
        self.promotionalOfferId = promotionalOfferId
        self.unreadableAttributes = values.unreadable
        self.encoded = bytes[range]
    }
}
