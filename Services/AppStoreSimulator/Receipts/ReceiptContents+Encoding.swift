import Crypto
import Foundation

extension ReceiptContents {
    /// About how many bytes things have, so that buffers need not grow.
    private enum Size {
        static let receipt = 640
        static let purchase = 480
    }

    /// What Apple's receipts hold where nobody knows what it means; as in the genuine ones of 2023 to 2025.
    private enum Genuine {
        static let issuerRelease: Int64 = 0x5033_3035  // "P305"
        static let ageRating = "4+"
        static let number13: Int64 = 160_301
        static let number14OnPhones: Int64 = 256
        static let opaqueValueBytes = 16
        static let opaque6Bytes = 71
    }

    /// The receipt's payload in DER: the attributes of genuine receipts, with the same ASN.1 types.
    func encoded() -> [UInt8] {
        let isMac = platform == "macOS"
        let opaqueValue = RandomBytes.make(Genuine.opaqueValueBytes)
        let bundleIdBytes = AttributeSet.encoded(.utf8(bundleId))
        let creation = CalendarTime(seconds: creationDate / 1_000).internetText
        var set = AttributeSet(capacity: Size.receipt + inAppPurchases.count * Size.purchase)
        set.add(ReceiptAttribute.receiptType, .utf8(Self.receiptType(environment)))
        set.add(ReceiptAttribute.appItemId, .integer(appItemId))
        set.add(ReceiptAttribute.bundleId, .raw(bundleIdBytes))
        set.add(ReceiptAttribute.applicationVersion, .utf8(applicationVersion))
        set.add(ReceiptAttribute.opaqueValue, version: 2, .raw(opaqueValue))
        set.add(ReceiptAttribute.hash, .raw(Self.hash(vendorIdentifier, opaqueValue, bundleIdBytes)))
        set.add(ReceiptAttribute.opaque6, .raw(RandomBytes.make(Genuine.opaque6Bytes)))
        set.add(
            ReceiptAttribute.holder,
            .raw(ReceiptHolder(accountId: accountId, vendorIdentifier: vendorIdentifier).encoded()))
        set.add(ReceiptAttribute.productionDate, .ia5(environment == .production ? creation : ""))
        set.add(ReceiptAttribute.issuerRelease, .integer(Genuine.issuerRelease))
        set.add(ReceiptAttribute.ageRating, .ia5(Genuine.ageRating))
        set.add(ReceiptAttribute.number11, .integer(0))
        set.add(ReceiptAttribute.creationDate, .ia5(creation))
        set.add(ReceiptAttribute.number13, .integer(Genuine.number13))
        set.add(ReceiptAttribute.number14, .integer(isMac ? 1 : Genuine.number14OnPhones))
        set.add(ReceiptAttribute.downloadId, .integer(downloadId))
        set.add(ReceiptAttribute.versionExternalIdentifier, .integer(versionExternalIdentifier))
        set.add(
            ReceiptAttribute.originalPurchaseDate,
            .ia5(CalendarTime(seconds: originalPurchaseDate / 1_000).internetText))
        set.add(ReceiptAttribute.originalApplicationVersion, .utf8(originalApplicationVersion))
        if !isMac { set.add(ReceiptAttribute.text20, .utf8("")) }
        set.add(ReceiptAttribute.number25, .integer(isMac ? 2 : 3))
        for purchase in inAppPurchases {
            set.add(ReceiptAttribute.inAppPurchase, .raw(purchase.encoded(fraction: fraction)))
        }
        return set.encoded()
    }

    /// What ties a receipt to a device: the SHA-1 of the device's identifier, the opaque value and the bundle id's
    /// attribute (archived "Receipt Validation Programming Guide", "Compute the Hash of the GUID").
    static func hash(_ vendorIdentifier: UUID, _ opaqueValue: [UInt8], _ bundleId: [UInt8]) -> [UInt8] {
        var hash = Insecure.SHA1()
        withUnsafeBytes(of: vendorIdentifier.uuid) { hash.update(bufferPointer: $0) }
        hash.update(data: opaqueValue)
        hash.update(data: bundleId)
        return Array(hash.finalize())
    }
}

extension ReceiptContents.InAppPurchase {
    /// One purchase in DER: a date that it has not is an empty string.
    fileprivate func encoded(fraction: Int64?) -> [UInt8] {
        typealias Attribute = ReceiptAttribute.Purchase
        func date(_ date: Int64?) -> AttributeSet.Value {
            .ia5(date.map { CalendarTime(seconds: $0 / 1_000).internetText(fraction: fraction) } ?? "")
        }
        var set = AttributeSet(capacity: 512)
        set.add(Attribute.quantity, .integer(quantity))
        set.add(Attribute.productId, .utf8(productId))
        set.add(Attribute.transactionId, .utf8(transactionId))
        set.add(Attribute.purchaseDate, date(purchaseDate))
        set.add(Attribute.originalTransactionId, .utf8(originalTransactionId))
        set.add(Attribute.originalPurchaseDate, date(originalPurchaseDate))
        set.add(Attribute.productType, .integer(kind.rawValue))
        set.add(Attribute.expiresDate, date(expiresDate))
        set.add(Attribute.productItemId, .integer(productItemId))
        set.add(Attribute.webOrderLineItemId, .integer(webOrderLineItemId))
        set.add(Attribute.cancellationDate, date(cancellationDate))
        set.add(Attribute.isTrialPeriod, .integer(isTrialPeriod ? 1 : 0))
        if kind == .autoRenewableSubscription {
            set.add(Attribute.isInIntroOfferPeriod, .integer(isInIntroOfferPeriod ? 1 : 0))
        }
        if let promotionalOfferId { set.add(Attribute.promotionalOfferId, .utf8(promotionalOfferId)) }
        set.add(Attribute.number1722, .integer(0))
        for type in Attribute.emptyTexts { set.add(type, .utf8("")) }
        return set.encoded()
    }
}

/// Who holds a receipt, as the store writes it into an attribute of its own.
struct ReceiptHolder: Sendable, Equatable {
    enum Limit {
        /// Bytes that it has at least, as in genuine receipts; random ones fill it up.
        static let bytes = 62
    }

    var accountId: String
    var vendorIdentifier: UUID

    /// The device's sixteen bytes, the length of the account's name in two, its name.
    func encoded() -> [UInt8] {
        let name = Array(accountId.utf8.prefix(Int(UInt16.max)))
        var bytes = withUnsafeBytes(of: vendorIdentifier.uuid) { Array($0) }
        bytes.append(UInt8(name.count >> 8))
        bytes.append(UInt8(name.count & 0xFF))
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: RandomBytes.make(max(0, Limit.bytes - bytes.count)))
        return bytes
    }

    init(accountId: String, vendorIdentifier: UUID) {
        self.accountId = accountId
        self.vendorIdentifier = vendorIdentifier
    }

    /// Reads it; nil when it is something else.
    init?(_ bytes: ArraySlice<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count >= 18 else { return nil }
        let count = Int(bytes[16]) << 8 | Int(bytes[17])
        guard bytes.count >= 18 + count else { return nil }
        accountId = String(decoding: bytes[18..<18 + count], as: UTF8.self)
        vendorIdentifier = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

/// Bytes that mean nothing.
enum RandomBytes {
    static func make(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) }
        }
        return Array(bytes.prefix(count))
    }
}
