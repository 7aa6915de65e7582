extension SubscriptionRecord {
    /// `JWSRenewalInfoDecodedPayload`: the fields and their order are those that Apple signed in 2025.
    ///
    /// What Apple leaves out is left out: the price of a renewal that will not be, the billing retry of a subscription that
    /// never failed.
    ///
    /// - Parameters:
    ///   - appTransactionId: the buyer's.
    ///   - signedDate: milliseconds since 1970.
    func renewalInfo(appTransactionId: String?, signedDate: Int64) -> String {
        var json = JSONText()
        json.add("expirationIntent", expirationIntent?.rawValue)
        json.add("originalTransactionId", originalTransactionId)
        json.add("autoRenewProductId", autoRenewProductId)
        json.add("productId", productId)
        json.add("autoRenewStatus", autoRenews ? 1 : 0)
        if autoRenews, status != .expired, !isFamilyShared {
            json.add("renewalPrice", nextOffer?.price ?? renewalPrice)
            json.add("currency", currency)
        }
        switch status {
        case .billingRetry, .gracePeriod: json.add("isInBillingRetryPeriod", true)
        case .expired: json.add("isInBillingRetryPeriod", false)
        case .active, .revoked: break
        }
        // One that needs no consent counts as agreed to (Apple: priceIncreaseStatus, "informed the customer").
        if let priceIncrease { json.add("priceIncreaseStatus", priceIncrease.hasConsent ? 1 : 0) }
        json.add("gracePeriodExpiresDate", gracePeriodExpiresDate)
        json.add("offerType", nextOffer?.kind.rawValue)
        json.add("offerIdentifier", nextOffer?.identifier)
        json.add("signedDate", signedDate)
        json.add("environment", environment.rawValue)
        json.add("recentSubscriptionStartDate", recentSubscriptionStartDate)
        json.add("renewalDate", renewalDate)
        json.add("offerDiscountType", nextOffer?.discount.rawValue)
        if !eligibleWinBackOfferIds.isEmpty { json.add("eligibleWinBackOfferIds", eligibleWinBackOfferIds) }
        json.add("appTransactionId", appTransactionId)
        json.add("offerPeriod", nextOffer?.period.description)
        json.add("appAccountToken", appAccountToken)
        if let advancedCommerceInfo {
            json.add("advancedCommerceInfo", json: AdvancedCommerceText.renewal(advancedCommerceInfo))
        }
        return signs.map { json.object(patchedBy: $0) } ?? json.object
    }

    /// ``renewalInfo(appTransactionId:signedDate:)`` with the buyer's app transaction id.
    func renewalInfo(in state: StoreState, signedDate: Int64) -> String {
        renewalInfo(
            appTransactionId: state.transactions[transactionId]?.appTransactionId, signedDate: signedDate)
    }
}
