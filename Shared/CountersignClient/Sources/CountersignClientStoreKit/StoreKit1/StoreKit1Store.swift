public import Foundation
import StoreKit

/// StoreKit 1 as a `PurchaseQueue` sees it (iOS 13 and later), for apps that run where StoreKit 2 does not.
///
/// Make it in `application(_:didFinishLaunchingWithOptions:)`: it observes the payment queue from then on, as Apple wants it, and keeps
/// what it is told until the queue listens. The proof of all transactions is the app's receipt.
@available(iOS, introduced: 13.0, deprecated: 18.0, message: "StoreKit2Store is for iOS 15 and later")
@available(macOS, introduced: 10.15, deprecated: 15.0, message: "StoreKit2Store is for macOS 12 and later")
@available(tvOS, introduced: 13.0, deprecated: 18.0, message: "StoreKit2Store is for tvOS 15 and later")
@available(watchOS, introduced: 6.2, deprecated: 11.0, message: "StoreKit2Store is for watchOS 8 and later")
@available(visionOS, introduced: 1.0, deprecated: 2.0, message: "StoreKit2Store is for visionOS")
public final class StoreKit1Store: PurchaseStore {
    private let observer = PaymentObserver()
    private let queue = Passed(value: SKPaymentQueue.default())
    private let products = Locked<[String: Passed<SKProduct>]>([:])
    private let receiptURL: @Sendable () -> URL?
    private let refresh = ReceiptRefreshes()

    /// Begins to observe the payment queue.
    ///
    /// - Parameter receiptURL: where the app's receipt is; the main bundle's by default.
    public init(receiptURL: @escaping @Sendable () -> URL? = { Bundle.main.appStoreReceiptURL }) {
        self.receiptURL = receiptURL
        observer.onPromoted = { [products] product in
            products.withLock { $0[product.productIdentifier] = Passed(value: product) }
        }
        queue.value.add(observer)
    }

    deinit {
        queue.value.remove(observer)
    }

    /// Whether this person may pay on this device.
    public func canMakePayments() async -> Bool { SKPaymentQueue.canMakePayments() }

    /// What the App Store sells of these products.
    ///
    /// - Throws: what the request fails with.
    public func products(_ ids: Set<String>) async throws -> [StoreProduct] {
        let found = try await ProductsRequest().products(ids).value
        products.withLock { products in
            for product in found { products[product.productIdentifier] = Passed(value: product) }
        }
        return found.map(StoreProduct.init(_:))
    }

    /// Adds a payment and waits until the payment queue says what came of it.
    ///
    /// - Throws: `PurchaseError` where StoreKit says that nothing was asked for; else what StoreKit fails with.
    public func purchase(_ order: StoreOrder) async throws -> StorePurchaseOutcome {
        let product = try await product(order.productID)
        let username = order.accountToken?.uuidString.lowercased()
        let offer = try Self.promotionalOffer(of: order)
        let earlier = await unfinished().filter { $0.productID == order.productID }.map(\.id)
        return try await observer.purchase(order.productID, username: username, earlier: Set(earlier)) { [queue] in
            let payment = SKMutablePayment(product: product.value)
            payment.quantity = order.quantity
            payment.applicationUsername = username
            payment.paymentDiscount = offer.map(SKPaymentDiscount.init(_:))
            queue.value.add(payment)
        }
    }

    /// What the payment queue has of what was bought or restored.
    public func unfinished() async -> [StoreTransaction] {
        queue.value.transactions.compactMap(StoreTransaction.init(_:))
    }

    /// What the payment queue told since this store was made, and what it tells from now on.
    public func updates() async -> AsyncStream<StoreTransaction> { observer.updates() }

    /// Finishes a transaction, if the payment queue has it.
    public func finish(_ transaction: StoreTransaction) async throws {
        for known in queue.value.transactions
        where known.transactionIdentifier == transaction.id && StoreTransaction(known) != nil {
            queue.value.finishTransaction(known)
        }
    }

    /// Has Apple give again what this Apple Account bought that lasts: StoreKit may ask for the password.
    ///
    /// What an earlier restore left in the payment queue is among it: the new transactions may have other ids.
    ///
    /// - Throws: `CancellationError` when the person cancels; else what StoreKit fails with.
    public func restore() async throws -> [StoreTransaction] {
        // Somebody asks: the password may be asked for once more.
        await refresh.allow()
        let given = try await observer.restore { [queue] in queue.value.restoreCompletedTransactions() }
        let ids = Set(given.map(\.id))
        return await given + unfinished().filter { $0.origin == .restored && !ids.contains($0.id) }
    }

    /// The app's receipt; nil where there is none, as after an installation by Xcode.
    ///
    /// A new one is asked for only where there is none, and at most once for each ``restore()``.
    ///
    /// - Throws: what asking for a new one fails with.
    public func receipt(isRefreshing: Bool) async throws -> Data? {
        if let receipt = receiptOnDisk() { return receipt }
        guard isRefreshing else { return nil }
        try await refresh.run()
        return receiptOnDisk()
    }

    private func receiptOnDisk() -> Data? {
        guard let url = receiptURL(), let receipt = try? Data(contentsOf: url), !receipt.isEmpty else { return nil }
        return receipt
    }

    /// What people chose to buy on the app's page in the App Store: buy each with `PurchaseQueue`, once the app is ready for it.
    ///
    /// The App Store's own payment is not added: it has no account in it.
    public func promotedPurchases() -> AsyncStream<PromotedPurchase> { observer.promotedPurchases() }

    private static func promotionalOffer(of order: StoreOrder) throws -> PromotionalOffer? {
        switch order.offer {
        case .promotional(let offer): return offer
        case .introductoryEligibility, .winBack:
            throw PurchaseError(.orderInvalid, "StoreKit 1 knows promotional offers alone")
        case nil: return nil
        }
    }

    private func product(_ id: String) async throws -> Passed<SKProduct> {
        if let product = products.withLock({ $0[id] }) { return product }
        _ = try await products([id])
        guard let product = products.withLock({ $0[id] }) else {
            throw PurchaseError(.productUnavailable, "the App Store knows no product \(id)")
        }
        return product
    }
}
