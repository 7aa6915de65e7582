#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The platform's store, as the queue sees it: what an adapter for StoreKit implements.
///
/// An adapter translates and decides nothing: it passes on everything that StoreKit gives it, verified or not, and finishes
/// nothing by itself. One queue uses one store, from many tasks at once.
public protocol PurchaseStore: Sendable {
    /// Whether this person may pay on this device (`AppStore.canMakePayments`, `SKPaymentQueue.canMakePayments()`).
    func canMakePayments() async -> Bool

    /// What the store sells of these products, in no order; products that it does not know are left out.
    ///
    /// - Throws: what the store throws, most often because there is no network.
    func products(_ ids: Set<String>) async throws -> [StoreProduct]

    /// Opens the payment sheet and waits until it is closed.
    ///
    /// The queue has saved the order before. The adapter sets `order.accountToken` as `appAccountToken` (StoreKit 2) or, in
    /// lower case, as `applicationUsername` (StoreKit 1).
    ///
    /// - Throws: a `PurchaseError` whose `isNothingPaid` is true where the store opened no sheet; else what the store throws, which
    ///   is no proof that nothing was paid: the order stays open.
    func purchase(_ order: StoreOrder) async throws -> StorePurchaseOutcome

    /// Everything that is not finished (`Transaction.unfinished`, `SKPaymentQueue.transactions`), verified or not.
    ///
    /// It may be empty right after a purchase, and may still have what was finished: the queue allows for both.
    func unfinished() async -> [StoreTransaction]

    /// What comes by itself, from the call on: renewals, approved purchases, other devices' ones, refunds
    /// (`Transaction.updates`, the observer of `SKPaymentQueue`).
    ///
    /// It is called once, by ``PurchaseQueue/start()``. The stream ends when the adapter is closed.
    func updates() async -> AsyncStream<StoreTransaction>

    /// Finishes a transaction. One that the store does not know (any more) is no error.
    ///
    /// Only the queue calls it, and only after the server said `finish: true`.
    ///
    /// - Throws: what the store throws; the queue tries again.
    func finish(_ transaction: StoreTransaction) async throws

    /// Has the store look for all that this Apple Account owns (`AppStore.sync()` and `Transaction.currentEntitlements`,
    /// `restoreCompletedTransactions`), and returns it. The store may ask for a password.
    ///
    /// - Throws: what the store throws; `CancellationError` when the person cancels.
    func restore() async throws -> [StoreTransaction]

    /// The app's receipt, for transactions whose proof is ``StoreProof/receipt``; nil where there is none.
    ///
    /// - Parameter isRefreshing: whether to ask Apple for a new one, for which the person may be asked for a password: the
    ///   queue does so only when that person just asked for something.
    /// - Throws: what the store throws; the queue then posts the transaction's id alone.
    func receipt(isRefreshing: Bool) async throws -> Data?
}

/// What the player orders of the store.
public struct StoreOrder: Sendable, Hashable {
    /// The product's id in App Store Connect.
    public var productID: String
    /// How many; 1 to ``QueueLimits/quantityMaximum``.
    public var quantity: Int
    /// The intent's UUID, by which Apple's signed data names the account; nil where the server gave none.
    public var accountToken: UUID?
    /// A subscription offer that the server signed, for this account token.
    public var offer: SignedOffer?

    /// An order.
    public init(productID: String, quantity: Int = 1, accountToken: UUID? = nil, offer: SignedOffer? = nil) {
        self.productID = productID
        self.quantity = quantity
        self.accountToken = accountToken
        self.offer = offer
    }
}

/// How a payment sheet ended.
public enum StorePurchaseOutcome: Sendable, Hashable {
    /// The store says that it was bought. It may be an earlier purchase that was never finished: the queue looks.
    case purchased(StoreTransaction)
    /// It waits for somebody's approval (Ask to Buy), or for the bank; it comes by ``PurchaseStore/updates()``, if ever.
    case pending
    /// The person closed the sheet.
    case cancelled
}
