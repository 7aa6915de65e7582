import CountersignClient
public import StoreKit

@available(iOS 15.0, macOS 12.0, tvOS 15.0, watchOS 8.0, *)
extension PurchaseQueue {
    /// Buys a product with a payment sheet of your choice, for this purchase alone: the window of a scene, say.
    ///
    /// It is `PurchaseQueue.purchase(_:for:quantity:offer:reference:)` otherwise. The queue's store is a ``StoreKit2Store``.
    ///
    /// - Parameter confirm: SwiftUI's `@Environment(\.purchase)` (iOS 17), `purchase(confirmIn:options:)`, or what else opens StoreKit's sheet.
    /// - Throws: `PurchaseError`.
    public func purchase(
        _ productID: String, for buyer: String, quantity: Int = 1, offer: SubscriptionOffer? = nil,
        reference: String? = nil, confirm: @escaping StoreKit2Store.Confirm
    ) async throws -> PurchaseResult {
        try await StoreKit2Store.$sheet.withValue(StoreKit2Store.Sheet(confirm)) {
            try await purchase(productID, for: buyer, quantity: quantity, offer: offer, reference: reference)
        }
    }

    /// What `inAppPurchaseOptions` of a `StoreView`, `ProductView` or `SubscriptionStoreView` returns: the intent's token.
    ///
    /// The intent is in the journal when it returns. A view opens its sheet whatever this returns: where the server gives no intent
    /// the options are empty, and the journal alone knows whose the purchase is. Show such views to a player who is logged in.
    ///
    /// - Parameters:
    ///   - buyer: who plays while the view is shown.
    ///   - reference: your own number of the order, as in `PurchaseQueue.purchase(_:for:quantity:offer:reference:)`.
    public func options(
        for product: Product, buyer: String, reference: String? = nil
    ) async -> Set<Product.PurchaseOption> {
        guard let order = try? await beginView(product.id, for: buyer, reference: reference),
            let options = try? StoreKit2Store.options(of: order, product)
        else { return [] }
        return options
    }

    /// What `onInAppPurchaseCompletion` of such a view was given: the purchase goes the way of all others.
    ///
    /// - Throws: `PurchaseError`, as `PurchaseQueue.purchase(_:for:quantity:offer:reference:)` does.
    public func take(
        _ result: Result<Product.PurchaseResult, any Error>, of product: Product
    ) async throws -> PurchaseResult {
        // Another store than StoreKit 2's has no such views; its translation is the same for all.
        let store = store as? StoreKit2Store ?? StoreKit2Store()
        let outcome: Result<StorePurchaseOutcome, any Error>
        do {
            outcome = .success(try await store.outcome { try result.get() })
        } catch {
            outcome = .failure(error)
        }
        return try await endView(product.id) { try outcome.get() }
    }
}
