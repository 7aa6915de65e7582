import AppStore
import PurchaseModel

extension Transaction {
    /// Apple's words in ours; the verified payload goes along as evidence.
    init(_ signed: SignedTransaction) {
        self.init(
            environment: signed.environment.flatMap { StoreEnvironment(appleName: $0.rawValue) },
            transactionId: signed.transactionId, originalTransactionId: signed.originalTransactionId,
            bundleId: signed.bundleId, productId: signed.productId,
            productType: ProductType(appleName: signed.type.rawValue), quantity: Int(signed.quantity ?? 1),
            purchaseDate: signed.purchaseDate, signedDate: signed.signedDate)
        previousOriginalTransactionId = signed.previousOriginalTransactionId
        originalPurchaseDate = signed.originalPurchaseDate
        expiresDate = signed.expiresDate
        appAccountToken = signed.appAccountToken
        ownership = signed.inAppOwnershipType?.rawValue
        storefront = signed.storefront
        currency = signed.currency
        priceMilliunits = signed.price
        revocationDate = signed.revocationDate
        revocationReason = signed.revocationReason.map { Int($0.rawValue) }
        revocationType = signed.revocationType?.rawValue
        revocationPercentage = signed.revocationPercentage
        isUpgraded = signed.isUpgraded
        subscriptionGroupId = signed.subscriptionGroupIdentifier
        transactionReason = signed.transactionReason?.rawValue
        offerType = signed.offerType.map { Int($0.rawValue) }
        offerIdentifier = signed.offerIdentifier
        offerDiscountType = signed.offerDiscountType?.rawValue
        offerPeriod = signed.offerPeriod
        webOrderLineItemId = signed.webOrderLineItemId
        appTransactionId = signed.appTransactionId
        commitment = Commitment(signed)
        bundleField = signed.bundleField
        unknownFields = signed.unknownFields.isEmpty ? nil : signed.unknownFields.map { "transaction.\($0)" }
        evidence = String(decoding: signed.payload, as: UTF8.self)
    }
}

extension Transaction.Commitment {
    /// The commitment behind a subscription that is billed in instalments; nil for every other transaction.
    init?(_ signed: SignedTransaction) {
        guard signed.commitmentInfo != nil || signed.billingPlanType != nil else { return nil }
        self.init(
            billingPeriod: signed.commitmentInfo?.billingPeriodNumber,
            billingPeriods: signed.commitmentInfo?.totalBillingPeriods,
            priceMilliunits: signed.commitmentInfo?.commitmentPrice,
            expiresDate: signed.commitmentInfo?.commitmentExpiresDate, billingPlan: signed.billingPlanType?.rawValue)
    }
}
