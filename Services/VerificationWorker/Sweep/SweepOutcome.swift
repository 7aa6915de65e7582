import AppStoreServerAPI
import Persistence

/// What came of asking one page.
enum SweepStep: Sendable {
    /// The round goes on with another page.
    case page(SweepTaskStore.Progress)
    /// The round is over; the last good point of an app moves to the end of its window.
    case end(SweepTaskStore.Progress)
    /// Not now: Apple is away, limits us, or refuses.
    case putOff(seconds: Double, reason: String, startsAnew: Bool = false)
}

extension SweepTask {
    /// What an error of Apple's means for a round.
    enum Refusal: Sendable, Hashable {
        /// What is kept of the round is of no use any more: a page's token has expired, a mark is none.
        case startsAnew
        /// Apple knows nothing of the customer here.
        case unknownCustomer
        /// The key, the bundle id or the clock is wrong.
        case unauthorized
        /// The same call may work later.
        case passing
        /// Somebody must look.
        case misunderstood
    }
}

extension SweepTask.Refusal {
    init(_ error: AppStoreServerError) {
        if error.isRetryable {
            self = .passing
            return
        }
        switch (error.category, error.code) {
        case (_, .invalidPaginationToken?), (_, .paginationTokenExpired?), (_, .invalidRequestRevision?),
            (_, .startDateTooFarInPast?):
            self = .startsAnew
        case (.notFound, .transactionIdNotFound?), (.notFound, .originalTransactionIdNotFound?),
            (.notFound, .accountNotFound?), (.invalidRequest, .invalidTransactionId?):
            self = .unknownCustomer
        case (.unauthorized, _): self = .unauthorized
        default: self = .misunderstood
        }
    }
}
