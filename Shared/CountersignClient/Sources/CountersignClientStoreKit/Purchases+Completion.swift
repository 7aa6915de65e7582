import CountersignClient

/// The same for code without `async`: each completion is called once, on the main actor.
extension Purchases {
    /// Says who plays from now on; nil for nobody.
    public func logIn(_ account: String?, completion: @escaping @MainActor @Sendable () -> Void) {
        Task {
            await logIn(account)
            completion()
        }
    }

    /// Buys a product for who is logged in as this is called: what a button's action calls.
    public func buy(
        _ productID: String, offer: SubscriptionOffer? = nil, reference: String? = nil,
        completion: @escaping @MainActor @Sendable (PurchaseResult?, PurchaseError?) -> Void = { _, _ in }
    ) {
        // Not in the task: another player may have logged in before it begins.
        let buyer = account
        begin(completion) { await $0.buy(productID, for: buyer, offer: offer, reference: reference) }
    }

    /// The button that App Review asks for; both are nil where the person cancelled.
    public func restore(
        completion: @escaping @MainActor @Sendable (RestoreResult?, PurchaseError?) -> Void = { _, _ in }
    ) {
        let asker = account
        begin(completion) { await $0.restore(for: asker) }
    }

    private func begin<Value: Sendable>(
        _ completion: @escaping @MainActor @Sendable (Value?, PurchaseError?) -> Void,
        _ body: @escaping @MainActor @Sendable (Purchases) async -> Value?
    ) {
        Task {
            let value = await body(self)
            guard value == nil, case .failed(let error) = state.notice else { return completion(value, nil) }
            completion(nil, error)
        }
    }
}
