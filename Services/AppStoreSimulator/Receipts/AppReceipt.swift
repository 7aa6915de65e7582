import Crypto
import Foundation

/// What the store has for the receipt of one account's copy of an app: taken in one look, worked on afterwards.
struct ReceiptHoldings: Sendable {
    enum Limit {
        /// Purchases in one receipt, the newest: some 4 MiB in base64, which is what `verifyReceipt` takes.
        static let purchases = 7_000
    }

    var bundleId: String
    var accountId: String
    var environment: StoreEnvironment
    /// Nil for an app that the store does not know (any more).
    var app: AppRecord?
    var account: AccountRecord
    /// Nil for somebody who never bought or asked for anything.
    var download: DownloadRecord?
    /// What belongs in a receipt now, oldest first.
    var transactions: [TransactionRecord]
    /// What those subscriptions are now, by original transaction id.
    var subscriptions: [String: SubscriptionRecord]
}

extension StoreState {
    /// What belongs in the receipt of one account's copy of an app on a device.
    ///
    /// - Parameter deviceId: nil for a device that is not registered.
    func receiptHoldings(
        bundleId: String, accountId: String, environment: StoreEnvironment, deviceId: String?
    ) -> ReceiptHoldings {
        let key = DownloadRecord.key(bundleId, accountId, environment)
        let held = holdings[key, default: []].compactMap { transactions[$0] }
            .filter { $0.isInReceipt && isSeen($0, on: deviceId) }
            .suffix(ReceiptHoldings.Limit.purchases)
        var known: [String: SubscriptionRecord] = [:]
        for transaction in held where transaction.type == .autoRenewableSubscription {
            let id = transaction.originalTransactionId
            if known[id] == nil { known[id] = subscriptions[id] }
        }
        return ReceiptHoldings(
            bundleId: bundleId, accountId: accountId, environment: environment, app: apps[bundleId],
            account: account(accountId), download: downloads[key], transactions: Array(held),
            subscriptions: known)
    }
}

extension TransactionRecord {
    /// A consumable is in the receipt until the app finishes it; everything else for ever, refunded or not (Apple's
    /// responseBody.Receipt.In_app).
    var isInReceipt: Bool { type != .consumable || !isFinished }
}

/// Makes receipts from what the store knows.
enum AppReceipt {
    /// 2013-08-01T07:00:00Z: when every app was bought in the sandbox.
    private static let sandboxPurchaseDate: Int64 = 1_375_340_400_000

    /// What the receipt of one account's copy of an app says now.
    ///
    /// - Parameters:
    ///   - device: whose hash it holds; without one, a device of the account that is nowhere registered.
    ///   - now: milliseconds since 1970.
    static func contents(
        of state: StoreState, bundleId: String, accountId: String, device: DeviceRecord?,
        environment: StoreEnvironment, now: Int64
    ) -> ReceiptContents {
        contents(
            of: state.receiptHoldings(
                bundleId: bundleId, accountId: accountId, environment: environment, deviceId: device?.id),
            vendorIdentifier: vendorIdentifier(of: device, accountId: accountId), now: now)
    }

    /// What a receipt says that holds these.
    static func contents(of holdings: ReceiptHoldings, vendorIdentifier: UUID, now: Int64) -> ReceiptContents {
        let isProduction = holdings.environment == .production
        let version = holdings.app?.bundleVersion ?? "1"
        let name = "\(holdings.bundleId) \(version)"
        let downloadName = DownloadRecord.key(holdings.bundleId, holdings.accountId, holdings.environment)
        return ReceiptContents(
            environment: holdings.environment, platform: holdings.download?.originalPlatform ?? "iOS",
            bundleId: holdings.bundleId, applicationVersion: version,
            originalApplicationVersion: isProduction
                ? holdings.download?.originalApplicationVersion ?? version : "1.0",
            creationDate: now / 1_000 * 1_000,
            originalPurchaseDate: isProduction
                ? holdings.download?.originalPurchaseDate ?? holdings.transactions.first?.originalPurchaseDate
                    ?? now / 1_000 * 1_000 : sandboxPurchaseDate,
            appItemId: isProduction ? holdings.app?.appAppleId ?? 0 : 0,
            downloadId: isProduction ? Number.derived(from: "download \(downloadName)", digits: 15) : 0,
            versionExternalIdentifier: isProduction ? Number.derived(from: name, digits: 9) : 0,
            vendorIdentifier: vendorIdentifier, accountId: holdings.accountId,
            inAppPurchases: holdings.transactions.map(ReceiptContents.InAppPurchase.init))
    }

    /// What a device calls itself to apps; for no device, something that is always the same for an account.
    static func vendorIdentifier(of device: DeviceRecord?, accountId: String) -> UUID {
        if let known = device.flatMap({ UUID(uuidString: $0.vendorIdentifier) }) { return known }
        let digest = Array(SHA256.hash(data: Array("device of \(accountId)".utf8)))
        return UUID(
            uuid: (
                digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6] & 0x0F | 0x40, digest[7],
                digest[8] & 0x3F | 0x80, digest[9], digest[10], digest[11], digest[12], digest[13], digest[14],
                digest[15]
            ))
    }
}

extension ReceiptContents.InAppPurchase {
    init(_ transaction: TransactionRecord) {
        let isSubscription = transaction.type == .autoRenewableSubscription
        let isIntroductory = transaction.offer?.kind == .introductory
        let isTrial = transaction.offer?.discount == .freeTrial
        self.init(
            quantity: transaction.quantity, productId: transaction.productId,
            transactionId: transaction.transactionId, originalTransactionId: transaction.originalTransactionId,
            purchaseDate: transaction.purchaseDate / 1_000 * 1_000,
            originalPurchaseDate: (transaction.receiptOriginalPurchaseDate ?? transaction.originalPurchaseDate)
                / 1_000 * 1_000, kind: Kind(transaction.type),
            expiresDate: isSubscription ? transaction.expiresDate.map { $0 / 1_000 * 1_000 } : nil,
            cancellationDate: transaction.revocationDate.map { $0 / 1_000 * 1_000 },
            productItemId: transaction.environment == .production
                ? Number.derived(from: "\(transaction.bundleId) \(transaction.productId)", digits: 10) : 0,
            webOrderLineItemId: transaction.webOrderLineItemId.flatMap { Int64($0) } ?? 0,
            isTrialPeriod: isTrial, isInIntroOfferPeriod: isIntroductory && !isTrial,
            promotionalOfferId: transaction.offer?.kind == .promotional ? transaction.offer?.identifier : nil)
    }
}
