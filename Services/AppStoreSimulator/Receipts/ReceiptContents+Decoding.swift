import Foundation

extension ReceiptContents {
    /// Reads what ``encoded()`` wrote; nil when it is something else.
    ///
    /// - Parameter payload: DER, which was found to be ours before.
    init?(payload: [UInt8]) {
        var cursor = DERCursor(payload)
        guard var attributes = cursor.enter(DERCursor.Tag.set), cursor.isAtEnd else { return nil }
        var values: [Int64: DERCursor.Element] = [:]
        var purchases: [InAppPurchase] = []
        while !attributes.isAtEnd {
            guard let (type, value) = attributes.nextAttribute() else { return nil }
            if type == ReceiptAttribute.inAppPurchase {
                guard let purchase = InAppPurchase(payload, in: value.content) else { return nil }
                purchases.append(purchase)
            } else {
                values[type] = value
            }
        }
        let fields = ReceiptFields(bytes: payload, values: values)
        guard let environment = Self.environment(fields.text(ReceiptAttribute.receiptType)),
            let bundleId = fields.text(ReceiptAttribute.bundleId),
            let applicationVersion = fields.text(ReceiptAttribute.applicationVersion),
            let originalApplicationVersion = fields.text(ReceiptAttribute.originalApplicationVersion),
            let creationDate = fields.date(ReceiptAttribute.creationDate),
            let originalPurchaseDate = fields.date(ReceiptAttribute.originalPurchaseDate),
            let holder = values[ReceiptAttribute.holder].flatMap({ ReceiptHolder(payload[$0.content]) })
        else { return nil }
        self.init(
            environment: environment, platform: values[ReceiptAttribute.text20] == nil ? "macOS" : "iOS",
            bundleId: bundleId, applicationVersion: applicationVersion,
            originalApplicationVersion: originalApplicationVersion, creationDate: creationDate,
            originalPurchaseDate: originalPurchaseDate, appItemId: fields.integer(ReceiptAttribute.appItemId) ?? 0,
            downloadId: fields.integer(ReceiptAttribute.downloadId) ?? 0,
            versionExternalIdentifier: fields.integer(ReceiptAttribute.versionExternalIdentifier) ?? 0,
            vendorIdentifier: holder.vendorIdentifier, accountId: holder.accountId, inAppPurchases: purchases)
    }

    private static func environment(_ receiptType: String?) -> StoreEnvironment? {
        StoreEnvironment.allCases.first { Self.receiptType($0) == receiptType }
    }
}

extension ReceiptContents.InAppPurchase {
    /// Reads one purchase; nil when it is something else.
    fileprivate init?(_ bytes: [UInt8], in range: Range<Int>) {
        typealias Attribute = ReceiptAttribute.Purchase
        var cursor = DERCursor(bytes, in: range)
        guard var attributes = cursor.enter(DERCursor.Tag.set) else { return nil }
        var values: [Int64: DERCursor.Element] = [:]
        while !attributes.isAtEnd {
            guard let (type, value) = attributes.nextAttribute() else { return nil }
            values[type] = value
        }
        let fields = ReceiptFields(bytes: bytes, values: values)
        guard let productId = fields.text(Attribute.productId),
            let transactionId = fields.text(Attribute.transactionId),
            let originalTransactionId = fields.text(Attribute.originalTransactionId),
            let purchaseDate = fields.date(Attribute.purchaseDate),
            let originalPurchaseDate = fields.date(Attribute.originalPurchaseDate),
            let kind = fields.integer(Attribute.productType).flatMap(Kind.init(rawValue:))
        else { return nil }
        self.init(
            quantity: fields.integer(Attribute.quantity) ?? 1, productId: productId, transactionId: transactionId,
            originalTransactionId: originalTransactionId, purchaseDate: purchaseDate,
            originalPurchaseDate: originalPurchaseDate, kind: kind, expiresDate: fields.date(Attribute.expiresDate),
            cancellationDate: fields.date(Attribute.cancellationDate),
            productItemId: fields.integer(Attribute.productItemId) ?? 0,
            webOrderLineItemId: fields.integer(Attribute.webOrderLineItemId) ?? 0,
            isTrialPeriod: fields.integer(Attribute.isTrialPeriod) == 1,
            isInIntroOfferPeriod: fields.integer(Attribute.isInIntroOfferPeriod) == 1,
            promotionalOfferId: fields.text(Attribute.promotionalOfferId))
    }
}

extension DERCursor {
    /// The next attribute: its type, and the OCTET STRING that holds its value.
    fileprivate mutating func nextAttribute() -> (type: Int64, value: Element)? {
        guard var attribute = enter(Tag.sequence), let type = attribute.next(Tag.integer).flatMap(integer),
            attribute.next(Tag.integer) != nil, let value = attribute.next(Tag.octetString)
        else { return nil }
        return (type, value)
    }
}

/// Attributes by their type.
private struct ReceiptFields {
    let bytes: [UInt8]
    let values: [Int64: DERCursor.Element]

    func text(_ type: Int64) -> String? {
        var cursor = cursor(type)
        return cursor?.next().flatMap { cursor?.text($0) }
    }

    func integer(_ type: Int64) -> Int64? {
        var cursor = cursor(type)
        return cursor?.next().flatMap { cursor?.integer($0) }
    }

    /// Milliseconds since 1970; nil for an empty string.
    func date(_ type: Int64) -> Int64? {
        text(type).flatMap(CalendarTime.seconds).map { $0 * 1_000 }
    }

    private func cursor(_ type: Int64) -> DERCursor? {
        values[type].map { DERCursor(bytes, in: $0.content) }
    }
}
