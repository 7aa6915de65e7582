import AppStore
import Foundation
import PurchaseModel

extension Transaction {
    /// A purchase of a receipt that was verified here.
    ///
    /// Receipts state neither price nor owner; what they say was so when they were made.
    init(_ purchase: AppReceipt.Purchase, in receipt: AppReceipt) {
        self.init(
            environment: StoreEnvironment(appleName: receipt.environment.rawValue),
            transactionId: purchase.transactionId, originalTransactionId: purchase.originalTransactionId,
            bundleId: receipt.bundleId, productId: purchase.productId,
            productType: ProductType(purchase.productType), quantity: Int(purchase.quantity ?? 1),
            purchaseDate: purchase.purchaseDate, signedDate: receipt.creationDate)
        originalPurchaseDate = purchase.originalPurchaseDate
        expiresDate = purchase.expiresDate
        revocationDate = purchase.cancellationDate
        webOrderLineItemId = purchase.webOrderLineItemId
        take(
            ReceiptOffer(
                promotional: purchase.promotionalOfferId, code: nil, isTrial: purchase.isTrialPeriod ?? false,
                isIntroductory: purchase.isInIntroOfferPeriod ?? false))
        // The attributes as they were signed; they are DER, so JSON holds them as base64.
        evidence = "{\"receipt_attributes\":\"\(Data(purchase.encoded).base64EncodedString())\"}"
    }
}

extension ProductType {
    /// What receipts number; `unstated` where old ones say nothing, and the catalogue's word counts.
    init(_ type: AppReceipt.Purchase.ProductType?) {
        switch type {
        case nil: self = .unstated
        case .nonConsumable?: self = .nonConsumable
        case .consumable?: self = .consumable
        case .nonRenewingSubscription?: self = .nonRenewing
        case .autoRenewableSubscription?: self = .autoRenewable
        case .some(let other): self = ProductType(rawValue: String(other.rawValue))
        }
    }
}
