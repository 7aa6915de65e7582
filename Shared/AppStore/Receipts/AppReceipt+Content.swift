import Foundation

/// What must be known of a receipt before its signature can be judged: nobody has vouched for it yet.
struct UnprovenReceipt {
    /// What the receipt's certificates are judged at.
    let creationDate: Date
    let isFromXcode: Bool

    init(_ signed: SignedReceipt, limits: ReceiptLimits) throws(SignedDataRejection) {
        var creationDate: Date?
        var type: String?
        var purchases = 0
        let values = ReceiptValues(signed.bytes)
        var walk = try ReceiptAttributeWalk(signed.bytes, in: signed.content)
        while let entry = try walk.next() {
            switch entry.type {
            case AppReceipt.Number.receiptType: type = try? values.strictText(entry)
            case AppReceipt.Number.creationDate:
                guard let date = try? values.strictDate(entry) else {
                    throw SignedDataRejection(.payloadInvalid, "the creation date is not a time")
                }
                creationDate = date
            case AppReceipt.Number.purchase: purchases += 1
            default: break
            }
        }
        guard purchases <= limits.purchasesMaximum else {
            throw SignedDataRejection(.payloadTooLarge, "more than \(limits.purchasesMaximum) purchases")
        }
        isFromXcode = type == AppReceipt.ReceiptType.xcode.rawValue
        // Xcode's receipts need no date: they are refused as what they are.
        guard let date = creationDate ?? (isFromXcode ? Date.distantPast : nil) else {
            throw SignedDataRejection(.signedDateMissing, "no creation date")
        }
        self.creationDate = date
    }
}

extension AppReceipt {
    /// Reads a receipt whose signature is good, and checks whose it is.
    init(
        _ signed: SignedReceipt, creationDate: Date, certificatesExpire: Date, app: AppIdentity
    ) throws(SignedDataRejection) {
        let bytes = signed.bytes
        var type, bundleId, applicationVersion, originalApplicationVersion: String?
        var expirationDate, originalPurchaseDate: Date?
        var appItemId, downloadId, versionExternalIdentifier: Int64?
        var opaqueValue: [UInt8] = []
        var deviceHash: [UInt8] = []
        var purchases = PurchaseList()
        var values = ReceiptValues(bytes)
        var walk = try ReceiptAttributeWalk(bytes, in: signed.content)
        while let entry = try walk.next() {
            if entry.type == Number.purchase {
                purchases.add(bytes, in: entry.value)
                continue
            }
            guard Number.known.contains(entry.type) else { continue }
            try values.note(entry)
            switch entry.type {
            case Number.receiptType: type = try values.strictText(entry)
            case Number.bundleId: bundleId = try values.strictText(entry)
            case Number.expirationDate: expirationDate = try values.strictDate(entry)
            case Number.appItemId: appItemId = values.integer(entry)
            case Number.applicationVersion: applicationVersion = values.text(entry)
            case Number.opaqueValue: opaqueValue = Array(bytes[entry.value])
            case Number.deviceHash: deviceHash = Array(bytes[entry.value])
            case Number.downloadId: downloadId = values.integer(entry)
            case Number.versionExternalIdentifier: versionExternalIdentifier = values.integer(entry)
            case Number.originalPurchaseDate: originalPurchaseDate = values.date(entry)
            case Number.originalApplicationVersion: originalApplicationVersion = values.text(entry)
            default: break
            }
        }
        guard let type, let bundleId else {
            throw SignedDataRejection(.fieldMissing, "no receipt type or bundle id")
        }
        try Self.check(bundleId, is: app)
        self.certificatesExpire = certificatesExpire
        self.type = ReceiptType(rawValue: type)
        self.environment = try Self.environment(of: self.type)
        self.bundleId = bundleId
        self.applicationVersion = applicationVersion
        self.originalApplicationVersion = originalApplicationVersion
        self.creationDate = creationDate
        self.expirationDate = expirationDate
        self.originalPurchaseDate = originalPurchaseDate
        self.appItemId = appItemId
        self.downloadId = downloadId
        self.versionExternalIdentifier = versionExternalIdentifier
        self.opaqueValue = opaqueValue
        self.deviceHash = deviceHash
        self.purchases = purchases.readable
        self.unreadablePurchases = purchases.unreadable
        self.unreadableAttributes = values.unreadable
        self.encoded = bytes[signed.content]
    }

    private static func environment(of type: ReceiptType) throws(SignedDataRejection) -> SignedDataEnvironment {
        guard let environment = type.environment else {
            throw SignedDataRejection(.environmentUnknown, "the receipt type is not one of Apple's four")
        }
        return environment
    }

    private static func check(_ bundleId: String, is app: AppIdentity) throws(SignedDataRejection) {
        // By bytes: to Swift's == the Kelvin sign is a K.
        guard DERWalk.areEqual(Array(bundleId.utf8)[...], Array(app.bundleId.utf8)[...]) else {
            throw SignedDataRejection(.bundleMismatch, "the receipt is another app's")
        }
    }
}

/// The purchases of a receipt: one that cannot be read takes nothing away from the others.
private struct PurchaseList {
    private var read: [AppReceipt.Purchase] = []
    private var unreadableIds: Set<[UInt8]> = []
    private(set) var unreadable = 0

    /// An id may stand there twice, once cancelled: what cannot be read may be the cancellation.
    var readable: [AppReceipt.Purchase] {
        read.filter { !unreadableIds.contains(Array($0.transactionId.utf8)) }
    }

    mutating func add(_ bytes: [UInt8], in range: Range<Int>) {
        if let purchase = try? AppReceipt.Purchase(bytes, in: range) {
            read.append(purchase)
        } else {
            unreadable += 1
            if let id = try? AppReceipt.Purchase.transactionId(bytes, in: range) { unreadableIds.insert(id) }
        }
    }
}
