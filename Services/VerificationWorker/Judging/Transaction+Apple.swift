import AppStore
import AppStoreServerAPI
import Foundation
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

/// The offer by which a subscription's period was bought, in the words of signed transactions.
///
/// Receipts and verifyReceipt name the offers of the developer; of an introductory one they only say that it applies (ADP,
/// responseBody.Latest_receipt_info).
struct ReceiptOffer: Sendable, Hashable {
    /// Apple's numbers (ADP, offerType).
    private enum Kind {
        static let introductory = 1
        static let promotional = 2
        static let code = 3
    }

    let type: Int?
    let identifier: String?
    let discountType: String?

    /// - Parameters:
    ///   - promotional: the id of the promotional offer.
    ///   - code: the reference name of the offer code.
    ///   - isTrial: whether the period is free.
    ///   - isIntroductory: whether it is at an introductory price.
    init(promotional: String?, code: String?, isTrial: Bool, isIntroductory: Bool) {
        identifier = promotional ?? code
        discountType = isTrial ? "FREE_TRIAL" : nil
        if promotional != nil {
            type = Kind.promotional
        } else if code != nil {
            type = Kind.code
        } else {
            type = isTrial || isIntroductory ? Kind.introductory : nil
        }
    }
}

extension Transaction {
    /// Says by which offer it was bought.
    mutating func take(_ offer: ReceiptOffer) {
        offerType = offer.type
        offerIdentifier = offer.identifier
        offerDiscountType = offer.discountType
    }
}

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
