extension TransactionRecord {
    /// `JWSTransactionDecodedPayload`: the fields and their order are those that Apple signed in 2025.
    ///
    /// - Parameter signedDate: milliseconds since 1970.
    func payload(signedDate: Int64) -> String {
        var json = JSONText()
        json.add("transactionId", transactionId)
        json.add("originalTransactionId", originalTransactionId)
        json.add("previousOriginalTransactionId", previousOriginalTransactionId)
        json.add("webOrderLineItemId", webOrderLineItemId)
        json.add("bundleId", bundleId)
        json.add("productId", productId)
        json.add("subscriptionGroupIdentifier", subscriptionGroupIdentifier)
        json.add("purchaseDate", purchaseDate)
        json.add("originalPurchaseDate", originalPurchaseDate)
        json.add("expiresDate", expiresDate)
        json.add("quantity", quantity)
        json.add("type", type.rawValue)
        json.add("appAccountToken", appAccountToken)
        json.add("inAppOwnershipType", isFamilyShared ? "FAMILY_SHARED" : "PURCHASED")
        json.add("signedDate", signedDate)
        json.add("revocationReason", revocationReason)
        json.add("revocationDate", revocationDate)
        if isUpgraded { json.add("isUpgraded", true) }
        json.add("offerType", offer?.kind.rawValue)
        json.add("offerIdentifier", offer?.identifier)
        json.add("environment", environment.rawValue)
        json.add("transactionReason", isRenewal ? "RENEWAL" : "PURCHASE")
        json.add("storefront", storefront)
        json.add("storefrontId", storefrontId)
        json.add("price", price)
        json.add("currency", currency)
        json.add("offerDiscountType", offer?.discount.rawValue)
        json.add("appTransactionId", appTransactionId)
        json.add("offerPeriod", offer?.period.description)
        json.add("revocationType", revocationType?.rawValue)
        json.add("revocationPercentage", revocationPercentage)
        if let advancedCommerceInfo {
            json.add("advancedCommerceInfo", json: AdvancedCommerceText.transaction(advancedCommerceInfo))
        }
        return signs.map { json.object(patchedBy: $0) } ?? json.object
    }
}
