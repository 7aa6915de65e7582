import Foundation
import StoreKit

/// What the payment queue tells, handed to whoever waits for it.
@available(iOS, introduced: 13.0, deprecated: 18.0)
@available(macOS, introduced: 10.15, deprecated: 15.0)
@available(tvOS, introduced: 13.0, deprecated: 18.0)
@available(watchOS, introduced: 6.2, deprecated: 11.0)
@available(visionOS, introduced: 1.0, deprecated: 2.0)
// Safety: all state is behind the lock, but for `onPromoted`, which is set before the payment queue knows the observer.
final class PaymentObserver: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    enum Limit {
        /// Updates that wait for the queue; what falls out is in the payment queue still.
        static let updates = 5_000
        /// Promoted products that wait for the app.
        static let promoted = 100
    }

    /// Somebody whose payment sheet is open.
    private struct Buyer {
        let number: Int
        let productID: String
        let username: String?
        /// Transactions of the product that were there before the payment.
        let earlier: Set<String>
        let continuation: CheckedContinuation<StorePurchaseOutcome, any Error>
    }

    private struct State {
        var number = 0
        var buyers: [Buyer] = []
        /// The ids of what was told since the observer was made.
        var told: Set<String> = []
        var isRestoring = false
        var restored: [StoreTransaction] = []
        var restorers: [CheckedContinuation<[StoreTransaction], any Error>] = []
    }

    /// Told of a promoted product, before its id is given out.
    var onPromoted: (SKProduct) -> Void = { _ in }
    private let state = Locked(State())
    private let updateListeners = Listeners<StoreTransaction>(maximum: Limit.updates)
    private let promotedListeners = Listeners<PromotedPurchase>(maximum: Limit.promoted)

    /// Everything that nobody waits for; kept from the beginning, for the first listener.
    func updates() -> AsyncStream<StoreTransaction> { updateListeners.listen() }

    /// What the App Store's page sells; kept for the first listener.
    func promotedPurchases() -> AsyncStream<PromotedPurchase> { promotedListeners.listen() }

    /// Waits for what comes of a payment.
    ///
    /// Whoever stops waiting loses nothing: it comes as an update then.
    ///
    /// - Parameters:
    ///   - earlier: the product's transactions that the payment queue has already.
    ///   - add: adds the payment.
    func purchase(
        _ productID: String, username: String?, earlier: Set<String>, add: @escaping @MainActor @Sendable () -> Void
    ) async throws -> StorePurchaseOutcome {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if Task.isCancelled { return true }
                    state.buyers.append(
                        Buyer(
                            number: number, productID: productID, username: username, earlier: earlier,
                            continuation: continuation))
                    return false
                }
                if isCancelled { return continuation.resume(throwing: CancellationError()) }
                Task { await add() }
            }
        } onCancel: {
            let buyer = state.withLock { state in
                state.buyers.firstIndex { $0.number == number }.map { state.buyers.remove(at: $0) }
            }
            buyer?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Waits for what is restored; who comes while it is under way waits for the same.
    ///
    /// - Parameter begin: asks the payment queue for it.
    func restore(_ begin: @escaping @MainActor @Sendable () -> Void) async throws -> [StoreTransaction] {
        try await withCheckedThrowingContinuation { continuation in
            let isFirst = state.withLock { state in
                state.restorers.append(continuation)
                defer { state.isRestoring = true }
                return !state.isRestoring
            }
            if isFirst { Task { await begin() } }
        }
    }

    // MARK: What the payment queue calls

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchasing: break
            case .deferred: buyer(of: transaction)?.continuation.resume(returning: .pending)
            case .failed:
                // Nothing was paid with it, so that nobody but the payment queue has to know.
                queue.finishTransaction(transaction)
                buyer(of: transaction)?.continuation.resume(with: Self.outcome(of: transaction.error))
            case .purchased, .restored: took(transaction)
            @unknown default: break
            }
        }
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        let (restorers, restored) = endRestoring()
        for restorer in restorers { restorer.resume(returning: restored) }
    }

    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        // What came until then stays in the payment queue, for the next restore.
        let (restorers, _) = endRestoring()
        let isCancelled = (error as? SKError)?.code == .paymentCancelled
        for restorer in restorers { restorer.resume(throwing: isCancelled ? CancellationError() : error) }
    }

    // The watch has no such page, and Swift refuses a method that is not available.
    #if !os(watchOS)
        func paymentQueue(
            _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
        ) -> Bool {
            onPromoted(product)
            promotedListeners.tell(PromotedPurchase(productID: product.productIdentifier))
            return false
        }
    #endif

    private func took(_ transaction: SKPaymentTransaction) {
        guard let taken = StoreTransaction(transaction) else { return }
        if taken.origin == .restored {
            let isAwaited = state.withLock { state in
                if state.isRestoring { state.restored.append(taken) }
                return state.isRestoring
            }
            if !isAwaited { updateListeners.tell(taken) }
        } else if let buyer = buyer(of: transaction) {
            buyer.continuation.resume(returning: .purchased(taken))
        } else {
            updateListeners.tell(taken)
        }
    }

    /// Who waits for this payment, from now on for nothing.
    ///
    /// The payment queue may forget the username, so that a payment without one is anybody's who buys the product; and it
    /// answers a payment with an earlier purchase that was not finished, under that one's username: one that was there before
    /// the payment, or that was told already, to another payment that was made at the same time. Whose it is, is for the
    /// purchase queue to find out.
    private func buyer(of transaction: SKPaymentTransaction) -> Buyer? {
        let (productID, username) = (transaction.payment.productIdentifier, transaction.payment.applicationUsername)
        let id = transaction.transactionIdentifier ?? ""
        return state.withLock { state in
            let place =
                state.buyers.firstIndex { $0.productID == productID && $0.username == username }
                ?? state.buyers.firstIndex {
                    $0.productID == productID && (username == nil || $0.earlier.contains(id) || state.told.contains(id))
                }
            if state.told.count >= Limit.updates { state.told = [] }
            if !id.isEmpty { state.told.insert(id) }
            return place.map { state.buyers.remove(at: $0) }
        }
    }

    private func endRestoring() -> ([CheckedContinuation<[StoreTransaction], any Error>], [StoreTransaction]) {
        state.withLock { state in
            defer { (state.isRestoring, state.restored, state.restorers) = (false, [], []) }
            return (state.restorers, state.restored)
        }
    }

    private static func outcome(of error: (any Error)?) -> Result<StorePurchaseOutcome, any Error> {
        guard let error = error as? SKError else {
            return .failure(error ?? PurchaseError(.storeFailed, "the payment failed without an error"))
        }
        switch error.code {
        case .paymentCancelled: return .success(.cancelled)
        case .paymentNotAllowed: return .failure(PurchaseError(.paymentsNotAllowed, "\(error)"))
        case .storeProductNotAvailable: return .failure(PurchaseError(.productUnavailable, "\(error)"))
        case .paymentInvalid, .invalidOfferIdentifier, .invalidOfferPrice, .invalidSignature, .missingOfferParams:
            return .failure(PurchaseError(.orderInvalid, "\(error)"))
        default:
            // 15 is `overlayCancelled`, which not every system has by name: the person closed the sheet before logging in.
            return error.code.rawValue == 15 ? .success(.cancelled) : .failure(error)
        }
    }
}
