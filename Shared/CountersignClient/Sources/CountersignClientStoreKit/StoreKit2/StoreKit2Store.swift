public import Foundation
public import StoreKit

/// StoreKit 2 as a `PurchaseQueue` sees it (iOS 15 and later).
///
/// It translates and decides nothing. What StoreKit could not verify is passed on like all else: the server judges the signature,
/// which a phone whose clock or certificates are wrong may not be able to.
@available(iOS 15.0, macOS 12.0, tvOS 15.0, watchOS 8.0, *)
public final class StoreKit2Store: PurchaseStore {
    /// What a store keeps at most.
    public enum Limit {
        /// Transactions that were given to the queue and are not finished; further ones are looked for when they are finished.
        public static let transactions = 5_000
        /// Updates that wait for the queue; what falls out is found by `unfinished()`.
        public static let updates = 5_000
    }

    /// Opens the payment sheet for a product.
    public typealias Confirm =
        @MainActor @Sendable (Product, Set<Product.PurchaseOption>) async throws -> Product.PurchaseResult

    private struct Known {
        var products: [String: Product] = [:]
        var transactions: [String: Transaction] = [:]
    }

    /// What one call of `purchase` opens its sheet with; a class, since Swift 6.3.1 makes code of a closure here that crashes at -O.
    final class Sheet: Sendable {
        let confirm: Confirm

        init(_ confirm: @escaping Confirm) { self.confirm = confirm }
    }

    @TaskLocal static var sheet: Sheet?

    private let confirm: Confirm
    private let known = Locked(Known())

    /// A store whose payment sheet opens in a window of your choice.
    ///
    /// - Parameter confirm: SwiftUI's `PurchaseAction` (iOS 17 and later), or `purchase(confirmIn:options:)`; on visionOS it is one of them.
    public init(confirm: @escaping Confirm) {
        self.confirm = confirm
    }

    /// A store whose payment sheet opens where StoreKit opens it.
    ///
    /// On visionOS StoreKit wants to be told where: say it with each purchase,
    /// `PurchaseQueue.purchase(_:for:quantity:offer:reference:confirm:)`.
    public convenience init() {
        self.init { product, options in
            #if os(visionOS)
                throw PurchaseError(.orderInvalid, "visionOS wants `confirm` with a purchase")
            #else
                try await product.purchase(options: options)
            #endif
        }
    }

    /// Whether this person may pay on this device.
    public func canMakePayments() async -> Bool { AppStore.canMakePayments }

    /// What the App Store sells of these products.
    ///
    /// - Throws: `StoreKitError`.
    public func products(_ ids: Set<String>) async throws -> [StoreProduct] {
        let products = try await Product.products(for: ids)
        known.withLock { known in
            for product in products { known.products[product.id] = product }
        }
        var found: [StoreProduct] = []
        for product in products { found.append(await StoreProduct(product)) }
        return found
    }

    /// Opens the payment sheet.
    ///
    /// - Throws: `PurchaseError` where StoreKit says that it opened none; else what StoreKit throws.
    public func purchase(_ order: StoreOrder) async throws -> StorePurchaseOutcome {
        let product = try await product(order.productID)
        let options = try Self.options(of: order, product)
        return try await outcome { [confirm] in try await (Self.sheet?.confirm ?? confirm)(product, options) }
    }

    /// What a payment sheet ended with, in the queue's words.
    ///
    /// - Throws: as ``purchase(_:)``.
    func outcome(of sheet: () async throws -> Product.PurchaseResult) async throws -> StorePurchaseOutcome {
        let result: Product.PurchaseResult
        do {
            result = try await sheet()
        } catch StoreKitError.userCancelled {
            return .cancelled
        } catch {
            throw PurchaseError.ofStoreKit(error) ?? error
        }
        switch result {
        case .success(let result): return .purchased(take(result))
        case .pending: return .pending
        case .userCancelled: return .cancelled
        @unknown default:
            // A way to end that this version does not know may be a paid one: the order stays open.
            throw PurchaseError(.storeFailed, "purchase() gave a result that is not known")
        }
    }

    /// Everything that is not finished, as far as StoreKit knows it at this moment.
    public func unfinished() async -> [StoreTransaction] {
        var transactions: [StoreTransaction] = []
        for await result in Transaction.unfinished { transactions.append(take(result)) }
        return transactions
    }

    /// What comes by itself, from the call on.
    public func updates() async -> AsyncStream<StoreTransaction> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: StoreTransaction.self, bufferingPolicy: .bufferingNewest(Limit.updates))
        let task = Task { [weak self] in
            for await result in Transaction.updates {
                guard let self else { break }
                continuation.yield(self.take(result))
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Finishes a transaction, also one of an earlier launch.
    public func finish(_ transaction: StoreTransaction) async throws {
        if let known = known.withLock({ $0.transactions.removeValue(forKey: transaction.id) }) {
            return await known.finish()
        }
        for await result in Transaction.unfinished {
            let unfinished = result.unsafePayloadValue
            if "\(unfinished.id)" == transaction.id { await unfinished.finish() }
        }
    }

    /// Asks Apple for what this Apple Account owns: StoreKit may ask for the password.
    ///
    /// - Throws: `CancellationError` when the person cancels; else what StoreKit throws.
    public func restore() async throws -> [StoreTransaction] {
        do {
            try await AppStore.sync()
        } catch StoreKitError.userCancelled {
            throw CancellationError()
        }
        var transactions = await unfinished()
        var ids = Set(transactions.map(\.id))
        for await result in Transaction.currentEntitlements {
            var transaction = take(result)
            transaction.origin = .restored
            if ids.insert(transaction.id).inserted { transactions.append(transaction) }
        }
        return transactions
    }

    /// Nil: each transaction is its own proof.
    public func receipt(isRefreshing: Bool) async throws -> Data? { nil }

    /// What people chose to buy on the app's page in the App Store: buy each with `PurchaseQueue`, once the app is ready for it.
    @available(iOS 16.4, macOS 14.4, *)
    @available(tvOS, unavailable)
    @available(watchOS, unavailable)
    @available(visionOS, unavailable)
    public func promotedPurchases() -> AsyncStream<PromotedPurchase> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PromotedPurchase.self, bufferingPolicy: .bufferingNewest(Limit.updates))
        let task = Task { [weak self] in
            for await intent in PurchaseIntent.intents {
                guard let self else { break }
                self.known.withLock { $0.products[intent.product.id] = intent.product }
                continuation.yield(PromotedPurchase(productID: intent.product.id, offer: Self.offer(of: intent)))
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// The App Store's own product, for what StoreKit has and this library has not.
    ///
    /// - Throws: `PurchaseError`: `product_unavailable`; else what StoreKit throws.
    public func product(_ id: String) async throws -> Product {
        if let product = known.withLock({ $0.products[id] }) { return product }
        let products = try await Product.products(for: [id])
        guard let product = products.first(where: { $0.id == id }) else {
            throw PurchaseError(.productUnavailable, "the App Store knows no product \(id)")
        }
        known.withLock { $0.products[id] = product }
        return product
    }

    /// A transaction as the queue has it; the original is kept, to be finished.
    private func take(_ result: VerificationResult<Transaction>) -> StoreTransaction {
        let transaction = StoreTransaction(result)
        known.withLock { known in
            if known.transactions.count >= Limit.transactions { known.transactions = [:] }
            known.transactions[transaction.id] = result.unsafePayloadValue
        }
        return transaction
    }
}
