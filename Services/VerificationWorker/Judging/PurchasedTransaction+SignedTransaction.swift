import AppStore
import PurchaseModel

extension PurchasedTransaction {
    /// Apple's words in ours; the verified payload goes along as evidence.
    init(_ signed: SignedTransaction) {
        self.init(
            environment: signed.environment.flatMap { StoreEnvironment(appleName: $0.rawValue) },
            transactionId: signed.transactionId, originalTransactionId: signed.originalTransactionId,
            bundleId: signed.bundleId, productId: signed.productId,
            productType: ProductType(appleName: signed.type.rawValue), quantity: Int(signed.quantity ?? 1),
            purchaseDate: signed.purchaseDate, signedDate: signed.signedDate)
        originalPurchaseDate = signed.originalPurchaseDate
        expiresDate = signed.expiresDate
        appAccountToken = signed.appAccountToken
        ownership = signed.inAppOwnershipType?.rawValue
        storefront = signed.storefront
        currency = signed.currency
        priceMilliunits = signed.price
        revocationDate = signed.revocationDate
        revocationReason = signed.revocationReason.map { Int($0.rawValue) }
        evidence = String(decoding: signed.payload, as: UTF8.self)
    }
}
