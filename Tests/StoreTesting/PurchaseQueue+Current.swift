package import CountersignClient

/// For tests that are not about who pressed the button: it is whoever is logged in at this moment.
extension PurchaseQueue {
    @discardableResult
    package func purchase(
        _ productID: String, quantity: Int = 1, offer: SubscriptionOffer? = nil
    ) async throws -> PurchaseResult {
        try await purchase(productID, for: currentAccount ?? "", quantity: quantity, offer: offer)
    }

    package func restore() async throws -> RestoreResult { try await restore(for: currentAccount ?? "") }
}
