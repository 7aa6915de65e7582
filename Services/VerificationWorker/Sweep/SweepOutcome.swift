import AppStoreServerAPI
import Persistence
import PurchaseModel

/// What came of asking one page.
enum SweepStep: Sendable {
    /// The round goes on with another page.
    case page(SweepTaskStore.Progress)
    /// The round is over; the last good point of an app moves to the end of its window.
    case end(SweepTaskStore.Progress)
    /// Not now: Apple is away, limits us, or refuses.
    case putOff(seconds: Double, reason: String, startsAnew: Bool = false, isMismatch: Bool = false)
}

/// What came of one page's content.
struct SweepTaken {
    /// So often a page is asked for again that has something which does not verify; then it is passed over, and the
    /// alarms have told of it.
    ///
    /// What else puts a round off, such as an outage, takes none of these tries.
    static let mismatchesMaximum = 12

    /// How many findings were new.
    var found = 0
    /// Those that Apple told of, news or not.
    var transactionIds: [String] = []
    /// Why something of the page could not be checked; nil when all of it was.
    private(set) var unchecked: Verdict?

    /// - Parameter unchecked: what is known of entries that have nothing signed; nil where there are none.
    init(unchecked: Verdict? = nil) {
        self.unchecked = unchecked
    }

    /// Notes that something of the page could not be checked; what is waited for outweighs what is passed over in the end.
    mutating func note(_ verdict: Verdict) {
        guard unchecked == nil || unchecked == ServerAnswers.mismatch else { return }
        unchecked = verdict
    }

    /// Asks for the same page again, where something of it could not be checked: a page that is passed over is lost.
    ///
    /// - Parameter mismatches: how often this page had what does not verify.
    func again(after mismatches: Int) -> SweepStep? {
        guard case .unknown(let reason, let seconds)? = unchecked else { return nil }
        let isMismatch = reason == .answerMismatch
        guard !isMismatch || mismatches < Self.mismatchesMaximum else { return nil }
        return .putOff(seconds: seconds, reason: reason.rawValue, isMismatch: isMismatch)
    }
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
