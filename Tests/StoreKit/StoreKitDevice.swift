/// What stands behind the declarations: a phone with an Apple Account.
///
/// Not Apple's.
package protocol StoreKitDevice: AnyObject, Sendable {
    var canMakePayments: Bool { get }

    func products(_ ids: [String]) async throws -> [Product]
    func purchase(
        _ product: Product, _ options: Set<Product.PurchaseOption>
    ) async throws -> Product.PurchaseResult
    func sync() async throws
    func transactions(_ kind: Transaction.Transactions.Kind) -> AsyncStream<VerificationResult<Transaction>>
    func finish(_ transaction: Transaction) async
    func purchaseIntents() -> AsyncStream<PurchaseIntent>

    /// The queue of StoreKit 1.
    var paymentQueue: SKPaymentQueue { get }
    /// What it has while somebody observes it.
    var paymentTransactions: [SKPaymentTransaction] { get }
    func add(_ payment: SKPayment)
    func add(_ observer: any SKPaymentTransactionObserver)
    func remove(_ observer: any SKPaymentTransactionObserver)
    func finish(_ transaction: SKPaymentTransaction)
    func restoreCompletedTransactions()
    /// Answers a request by calling its delegate, later.
    func start(_ request: SKRequest)
}

/// The device of the test that runs.
package enum StoreKitDevices {
    /// Tasks that a test begins have it, too.
    @TaskLocal package static var current: (any StoreKitDevice)?

    static var device: any StoreKitDevice {
        guard let current else { preconditionFailure("no StoreKitDevice: StoreKitDevices.$current.withValue(…)") }
        return current
    }
}
