import Foundation

extension SignedRenewalInfo {
    /// Reads a payload whose signature is good, and checks which subscription it is about (C6, step 7).
    static func reading(
        _ content: SignedContent, originalTransactionId: String?
    ) -> Result<SignedRenewalInfo, SignedDataRejection> {
        do {
            let info = try SignedRenewalInfo(content)
            // By bytes: to Swift's == different characters may be the same.
            guard originalTransactionId.map({ info.originalTransactionId.utf8.elementsEqual($0.utf8) }) ?? true else {
                return .failure(SignedDataRejection(.renewalInfoMismatch, "the renewal info of another subscription"))
            }
            return .success(info)
        } catch {
            return .failure(error)
        }
    }

    private init(_ content: SignedContent) throws(SignedDataRejection) {
        var fields = PayloadFields(content.fields)
        // A transaction has an originalTransactionId and a productId too.
        guard fields.has("autoRenewStatus") || fields.has("autoRenewProductId"), !fields.has("transactionId") else {
            throw SignedDataRejection(.notRenewalInfo, "no autoRenewStatus, or a transactionId")
        }
        originalTransactionId = try fields.requiredId("originalTransactionId")
        productId = try fields.required("productId")
        // How long somebody is served depends on these.
        gracePeriodExpiresDate = try fields.strictDate("gracePeriodExpiresDate")
        renewalDate = try fields.strictDate("renewalDate")
        environment = try fields.strictString("environment").map(SignedDataEnvironment.init(rawValue:))
        signedDate = content.signedDate
        certificatesExpire = content.certificatesExpire
        try SignedDataEnvironment.check(environment)

        autoRenewProductId = fields.string("autoRenewProductId")
        autoRenewStatus = fields.integer("autoRenewStatus").map(AutoRenewStatus.init(rawValue:))
        expirationIntent = fields.integer("expirationIntent").map(ExpirationIntent.init(rawValue:))
        isInBillingRetryPeriod = fields.bool("isInBillingRetryPeriod")
        priceIncreaseStatus = fields.integer("priceIncreaseStatus").map(PriceIncreaseStatus.init(rawValue:))
        offerType = fields.integer("offerType").map(SignedTransaction.OfferType.init(rawValue:))
        offerIdentifier = fields.string("offerIdentifier")
        offerDiscountType = fields.string("offerDiscountType")
            .map(SignedTransaction.OfferDiscountType.init(rawValue:))
        offerPeriod = fields.string("offerPeriod")
        recentSubscriptionStartDate = fields.date("recentSubscriptionStartDate")
        renewalPrice = fields.integer("renewalPrice")
        currency = fields.string("currency")
        eligibleWinBackOfferIds = fields.strings("eligibleWinBackOfferIds")
        appAccountToken = fields.uuid("appAccountToken")
        appTransactionId = fields.id("appTransactionId")
        advancedCommerceInfo = fields.raw("advancedCommerceInfo")
        renewalBillingPlanType = fields.string("renewalBillingPlanType")
            .map(SignedTransaction.BillingPlanType.init(rawValue:))
        commitmentInfo = fields.object("commitmentInfo").map(CommitmentInfo.init)
        unreadableFields = fields.unreadable
        unknownFields = fields.names(besides: Self.knownFields)
        payload = content.fields.text
    }

    private static let knownFields: Set<String> = [
        "expirationIntent", "originalTransactionId", "autoRenewProductId", "productId", "autoRenewStatus",
        "isInBillingRetryPeriod", "priceIncreaseStatus", "gracePeriodExpiresDate", "offerType", "offerIdentifier",
        "signedDate", "environment", "recentSubscriptionStartDate", "renewalDate", "currency", "renewalPrice",
        "offerDiscountType", "eligibleWinBackOfferIds", "appAccountToken", "appTransactionId", "offerPeriod",
        "advancedCommerceInfo", "commitmentInfo", "renewalBillingPlanType",
    ]
}

extension SignedRenewalInfo.CommitmentInfo {
    init(_ fields: PayloadFields) {
        var fields = fields
        commitmentAutoRenewProductId = fields.string("commitmentAutoRenewProductId")
        commitmentAutoRenewStatus = fields.integer("commitmentAutoRenewStatus")
            .map(SignedRenewalInfo.AutoRenewStatus.init(rawValue:))
        commitmentRenewalBillingPlanType = fields.string("commitmentRenewalBillingPlanType")
            .map(SignedTransaction.BillingPlanType.init(rawValue:))
        commitmentRenewalDate = fields.date("commitmentRenewalDate")
        commitmentRenewalPrice = fields.integer("commitmentRenewalPrice")
    }
}
