import AppStoreServerAPI
import Foundation
import PurchaseModel

extension Transaction {
    /// A purchase as verifyReceipt states it.
    ///
    /// - Parameters:
    ///   - bundleId: of the receipt, already compared with the app's.
    ///   - environment: of the host that answered.
    ///   - stated: when Apple said so; used where the answer does not tell.
    init(
        _ purchase: VerifyReceiptAnswer.Purchase, bundleId: String, environment: AppStoreEnvironment, stated: Date
    ) {
        self.init(
            environment: StoreEnvironment(appleName: environment.rawValue), transactionId: purchase.transactionId,
            originalTransactionId: purchase.originalTransactionId, bundleId: bundleId, productId: purchase.productId,
            productType: .unstated, quantity: purchase.quantity, purchaseDate: purchase.purchaseDate,
            signedDate: stated)
        originalPurchaseDate = purchase.originalPurchaseDate
        expiresDate = purchase.expiresDate
        appAccountToken = purchase.appAccountToken
        ownership = purchase.inAppOwnershipType
        // Of a period that an upgrade replaced, verifyReceipt gives the time of that as a cancellation (ADP,
        // cancellation_date); signed transactions tell of no revocation then, and neither do we.
        if !purchase.isUpgraded {
            revocationDate = purchase.cancellationDate
            revocationReason = purchase.cancellationReason.flatMap { Int($0) }
        }
        // Like signed transactions, which say nothing of what is not so.
        isUpgraded = purchase.isUpgraded ? true : nil
        subscriptionGroupId = purchase.subscriptionGroupIdentifier
        webOrderLineItemId = purchase.webOrderLineItemId
        take(
            ReceiptOffer(
                promotional: purchase.promotionalOfferId, code: purchase.offerCodeRefName,
                isTrial: purchase.isTrialPeriod, isIntroductory: purchase.isInIntroOfferPeriod))
        evidence = Self.statement(purchase, environment: environment)
    }

    /// This statement with what a newer one of the same transaction adds.
    ///
    /// The older one is signed and knows the product's type; the newer one knows what came after.
    func updated(by newer: Transaction) -> Transaction {
        var updated = self
        updated.expiresDate = newer.expiresDate ?? expiresDate
        updated.appAccountToken = appAccountToken ?? newer.appAccountToken
        updated.ownership = ownership ?? newer.ownership
        // What stands in a receipt as a cancellation may be an upgrade; only verifyReceipt tells them apart.
        let isUpgrade = newer.isUpgraded == true
        updated.revocationDate = isUpgrade ? newer.revocationDate : newer.revocationDate ?? revocationDate
        updated.revocationReason = isUpgrade ? newer.revocationReason : newer.revocationReason ?? revocationReason
        updated.isUpgraded = newer.isUpgraded ?? isUpgraded
        updated.subscriptionGroupId = newer.subscriptionGroupId ?? subscriptionGroupId
        updated.webOrderLineItemId = webOrderLineItemId ?? newer.webOrderLineItemId
        if newer.offerType != nil {
            updated.offerType = newer.offerType
            updated.offerIdentifier = newer.offerIdentifier
            updated.offerDiscountType = newer.offerDiscountType
        }
        updated.signedDate = max(signedDate, newer.signedDate)
        // Apple's servers tell of it today, whoever signed it.
        updated.hasExpiredSigner = newer.hasExpiredSigner
        // With the type from one and the owner from the other it could be taken for a signed transaction, which ends a
        // refund of which a receipt knows nothing.
        return updated.fromReceipt
    }

    /// What can be shown later of an answer that nobody signed.
    private struct Evidence: Encodable {
        let source = "verifyReceipt"
        let environment: String
        let transactionId: String
        let originalTransactionId: String
        let productId: String
        let webOrderLineItemId: String?
        let isInReceipt: Bool
        let isUpgraded: Bool?
        /// As verifyReceipt writes it: for an upgraded period, when that happened.
        let cancellationMilliseconds: Int64?

        enum CodingKeys: String, CodingKey {
            case source, environment
            case transactionId = "transaction_id"
            case originalTransactionId = "original_transaction_id"
            case productId = "product_id"
            case webOrderLineItemId = "web_order_line_item_id"
            case isInReceipt = "in_receipt"
            case isUpgraded = "is_upgraded"
            case cancellationMilliseconds = "cancellation_date_ms"
        }
    }

    private static func statement(
        _ purchase: VerifyReceiptAnswer.Purchase, environment: AppStoreEnvironment
    ) -> String? {
        let statement = Evidence(
            environment: environment.rawValue, transactionId: purchase.transactionId,
            originalTransactionId: purchase.originalTransactionId, productId: purchase.productId,
            webOrderLineItemId: purchase.webOrderLineItemId, isInReceipt: purchase.isInReceipt,
            isUpgraded: purchase.isUpgraded ? true : nil,
            cancellationMilliseconds: purchase.cancellationDate.map { Int64($0.timeIntervalSince1970 * 1_000) })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return (try? encoder.encode(statement)).map { String(decoding: $0, as: UTF8.self) }
    }
}
