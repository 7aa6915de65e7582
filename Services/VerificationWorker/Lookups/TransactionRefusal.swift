import AppStoreServerAPI

/// What an error of Get Transaction Info means for the id that was asked about.
enum TransactionRefusal: Sendable, Hashable {
    /// Not in this environment: 404 4040010.
    case notHere
    /// Nowhere: its account is gone.
    case gone
    /// It can never be an id: 4000006.
    case invalidId
    /// The key, the bundle id or the clock is wrong, or the app was never released.
    case unauthorized
    /// A code of which Apple says that the same call may work later.
    case passing
    /// Everything else, codes of tomorrow among it: about our request and not about the purchase.
    case misunderstood

    /// - Parameter error: one that came from Apple; troubles of a host are no refusals.
    init(_ error: AppStoreServerError) {
        if error.isRetryable {
            self = .passing
            return
        }
        switch (error.category, error.code) {
        case (.notFound, .transactionIdNotFound?): self = .notHere
        case (.notFound, .accountNotFound?), (.notFound, .originalTransactionIdNotFound?): self = .gone
        case (.invalidRequest, .invalidTransactionId?): self = .invalidId
        case (.unauthorized, _): self = .unauthorized
        default: self = .misunderstood
        }
    }
}
