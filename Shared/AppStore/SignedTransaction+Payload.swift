import Foundation

extension SignedTransaction {
    /// Most that can be bought at once; StoreKit allows 10, and a column for it 32 bits.
    private static let quantityMaximum: Int64 = 1_000_000

    /// Reads a payload whose signature is good, and checks whose transaction it is (C6, step 7).
    static func reading(
        _ content: SignedContent, app: AppIdentity, isAppKnown: Bool
    ) -> Result<SignedTransaction, SignedDataRejection> {
        do {
            return .success(try SignedTransaction(content, app: app, isAppKnown: isAppKnown))
        } catch {
            return .failure(error)
        }
    }

    private init(
        _ content: SignedContent, app: AppIdentity, isAppKnown: Bool
    ) throws(SignedDataRejection) {
        var fields = PayloadFields(content.fields)
        // What is signed besides transactions (renewal info, notifications, app transactions) has no transaction id.
        switch content.fields["transactionId"] {
        case nil, .null?: throw SignedDataRejection(.notATransaction, "no transactionId")
        default: transactionId = try fields.requiredId("transactionId")
        }
        originalTransactionId = try fields.requiredId("originalTransactionId")
        bundleId = try Self.bundleId(in: fields, app: app, isAppKnown: isAppKnown)
        productId = try fields.required("productId")
        type = ProductType(rawValue: try fields.required("type"))
        purchaseDate = try fields.requiredDate("purchaseDate")
        // Who paid for it decides what it brings.
        inAppOwnershipType = try fields.strictString("inAppOwnershipType").map(OwnershipType.init(rawValue:))
        expiresDate = try fields.strictDate("expiresDate")
        revocationDate = try fields.strictDate("revocationDate")
        quantity = try fields.strictInteger("quantity", in: 1...Self.quantityMaximum)
        let stated = try fields.strictString("environment").map(SignedDataEnvironment.init(rawValue:))
        signedDate = content.signedDate
        certificatesExpire = content.certificatesExpire

        guard app.isNamed(bundleId) else {
            throw SignedDataRejection(.bundleMismatch, "the transaction is another app's")
        }
        environment = try SignedDataEnvironment.counted(stated, isXcodes: content.isXcodes)

        previousOriginalTransactionId = fields.id("previousOriginalTransactionId")
        webOrderLineItemId = fields.id("webOrderLineItemId")
        subscriptionGroupIdentifier = fields.string("subscriptionGroupIdentifier")
        originalPurchaseDate = fields.date("originalPurchaseDate")
        appAccountToken = fields.uuid("appAccountToken")
        revocationReason = fields.integer("revocationReason").map(RevocationReason.init(rawValue:))
        revocationType = fields.string("revocationType").map(RevocationType.init(rawValue:))
        revocationPercentage = fields.integer("revocationPercentage")
        isUpgraded = fields.bool("isUpgraded")
        offerType = fields.integer("offerType").map(OfferType.init(rawValue:))
        offerIdentifier = fields.string("offerIdentifier")
        offerDiscountType = fields.string("offerDiscountType").map(OfferDiscountType.init(rawValue:))
        offerPeriod = fields.string("offerPeriod")
        storefront = fields.string("storefront")
        storefrontId = fields.string("storefrontId")
        transactionReason = fields.string("transactionReason").map(TransactionReason.init(rawValue:))
        currency = fields.string("currency")
        price = fields.integer("price")
        appTransactionId = fields.id("appTransactionId")
        advancedCommerceInfo = fields.raw("advancedCommerceInfo")
        billingPlanType = fields.string("billingPlanType").map(BillingPlanType.init(rawValue:))
        commitmentInfo = fields.object("commitmentInfo").map(CommitmentInfo.init)
        bundleField = Self.bundleFields.first(where: fields.has)
        unreadableFields = fields.unreadable
        unknownFields = fields.names(besides: Self.knownFields)
        payload = content.fields.text
    }

    /// Fields that say that it is part of a bundle (iOS 27): StoreKit's names, and as the server may spell them.
    private static let bundleFields = [
        "bundleTransactionId", "bundleTransactionID", "bundleOriginalTransactionId", "bundleOriginalTransactionID",
        "bundleProductId", "bundleProductID", "bundleSubscriptionGroupId", "bundleSubscriptionGroupID",
        "bundleSubscriptionGroupIdentifier",
    ]

    /// What is missing is the app's, where something else says whose it is.
    private static func bundleId(
        in fields: PayloadFields, app: AppIdentity, isAppKnown: Bool
    ) throws(SignedDataRejection) -> String {
        guard let stated = try fields.strictString("bundleId"), !stated.isEmpty else {
            guard isAppKnown else { throw SignedDataRejection(.bundleIdMissing, "no bundleId") }
            return app.bundleId
        }
        return stated
    }

    private static let knownFields = Set(bundleFields).union([
        "transactionId", "originalTransactionId", "previousOriginalTransactionId", "webOrderLineItemId", "bundleId",
        "productId", "subscriptionGroupIdentifier", "purchaseDate", "originalPurchaseDate", "expiresDate", "quantity",
        "type", "appAccountToken", "inAppOwnershipType", "signedDate", "revocationReason", "revocationDate",
        "revocationType", "revocationPercentage", "isUpgraded", "offerType", "offerIdentifier", "offerDiscountType",
        "offerPeriod", "environment", "storefront", "storefrontId", "transactionReason", "currency", "price",
        "appTransactionId", "advancedCommerceInfo", "billingPlanType", "commitmentInfo",
    ])
}

extension SignedTransaction.CommitmentInfo {
    init(_ fields: PayloadFields) {
        var fields = fields
        billingPeriodNumber = fields.integer("billingPeriodNumber")
        totalBillingPeriods = fields.integer("totalBillingPeriods")
        commitmentPrice = fields.integer("commitmentPrice")
        commitmentExpiresDate = fields.date("commitmentExpiresDate")
    }
}
