extension TransactionRecord {
    /// The record as the journal keeps it: what `JSONEncoder` would write and `JSONDecoder` reads, in a tenth of the time.
    ///
    /// Sales are what the store does most, and the encoder took most of a sale. A test compares the two.
    var journalText: String {
        var json = JSONText()
        json.add("transactionId", transactionId)
        json.add("originalTransactionId", originalTransactionId)
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
        json.add("isFamilyShared", isFamilyShared)
        json.add("revocationDate", revocationDate)
        json.add("revocationReason", revocationReason)
        json.add("revocationType", revocationType?.rawValue)
        json.add("revocationPercentage", revocationPercentage)
        json.add("isUpgraded", isUpgraded)
        if let offer { json.add("offer", json: offer.journalText) }
        json.add("environment", environment.rawValue)
        json.add("isRenewal", isRenewal)
        json.add("storefront", storefront)
        json.add("storefrontId", storefrontId)
        json.add("price", price)
        json.add("currency", currency)
        json.add("appTransactionId", appTransactionId)
        json.add("previousOriginalTransactionId", previousOriginalTransactionId)
        json.add("advancedCommerceInfo", advancedCommerceInfo)
        json.add("signs", signs)
        json.add("accountId", accountId)
        json.add("deviceId", deviceId)
        json.add("orderId", orderId)
        json.add("sharedFromTransactionId", sharedFromTransactionId)
        json.add("sharingEndedDate", sharingEndedDate)
        json.add("firstTransactionId", firstTransactionId)
        json.add("receiptOriginalPurchaseDate", receiptOriginalPurchaseDate)
        json.add("isFinished", isFinished)
        json.add("modifiedDate", modifiedDate)
        json.add("revision", revision)
        return json.object
    }
}

extension TransactionRecord.AppliedOffer {
    fileprivate var journalText: String {
        var json = JSONText()
        json.add("kind", kind.rawValue)
        json.add("identifier", identifier)
        json.add("discount", discount.rawValue)
        json.add("period", period.description)
        return json.object
    }
}
