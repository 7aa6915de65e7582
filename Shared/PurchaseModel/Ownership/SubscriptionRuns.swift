import Foundation

/// The periods of one subscription that are known, in runs: a run ends when a period ends and none follows it.
///
/// Whoever subscribes again keeps the original id of the Apple Account, but may be logged in to another account of the app.
struct SubscriptionRuns: Sendable {
    /// A period, as far as runs are concerned.
    struct Period: Sendable {
        let transactionId: String
        let purchaseDate: Date
        /// When it ends, by Apple.
        let end: Date
        let hasToken: Bool
        /// Apple's `transactionReason`; nil where it is not known.
        let reason: String?
        /// Whether an account has its order.
        let isOwned: Bool

        /// How late a renewal may begin, whose reason is not known, as receipts do not tell it: an hour, and less of the
        /// short periods of the sandbox.
        var tolerance: TimeInterval { min(3_600, max(0, end.timeIntervalSince(purchaseDate)) / 10) }

        /// Apple renewed it: the payment was the old one's, however late.
        var isRenewal: Bool { reason == "RENEWAL" }
    }

    /// Oldest first.
    private(set) var periods: [Period] = []

    mutating func add(_ period: Period) {
        if let place = periods.firstIndex(where: { $0.transactionId == period.transactionId }) {
            // What is added later knows more: it holds what the batch says, too.
            let known = periods[place]
            periods[place] = Period(
                transactionId: period.transactionId, purchaseDate: period.purchaseDate, end: period.end,
                hasToken: known.hasToken || period.hasToken, reason: period.reason ?? known.reason,
                isOwned: known.isOwned || period.isOwned)
        } else {
            periods.append(period)
        }
        periods.sort { ($0.purchaseDate, $0.transactionId) < ($1.purchaseDate, $1.transactionId) }
    }

    /// When the run of a period began, where somebody paid anew for it after the subscription had lapsed; nil for the
    /// subscription's first run, and where Apple's token says whose it is.
    func newRun(of date: Date) -> Date? {
        var start: Date?
        var end: Date?
        for period in periods where period.purchaseDate <= date {
            if let end, end.addingTimeInterval(period.tolerance) < period.purchaseDate, !period.isRenewal {
                start = period.hasToken ? nil : period.purchaseDate
            }
            end = max(end ?? .distantPast, period.end)
        }
        return start
    }

    /// Whether a run is the last that is known.
    func isNewest(_ start: Date) -> Bool {
        periods.last.map { newRun(of: $0.purchaseDate) == start } ?? true
    }

    /// Whether it is known who has a run: somebody has a period of it, or Apple renewed it before anybody else came.
    func isSettled(_ start: Date) -> Bool {
        periods.contains { period in
            newRun(of: period.purchaseDate) == start
                && (period.isOwned || period.isRenewal && period.purchaseDate > start)
        }
    }
}
