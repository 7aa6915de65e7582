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
    /// Of each period: when the run began that it belongs to, with all that began by then; nil where nobody paid anew.
    private var starts: [Date?] = []
    /// The runs of which it is known who has them, by their beginning.
    private var settledStarts: Set<Date> = []

    /// Adds periods; of one that is known, what is added later knows more: it holds what the batch says, too.
    ///
    /// All at once, since everything is sorted and divided anew: a receipt may hold thousands of one subscription.
    mutating func add(_ added: [Period]) {
        guard !added.isEmpty else { return }
        var places: [String: Int] = [:]
        for (place, period) in periods.enumerated() { places[period.transactionId] = place }
        for period in added {
            if let place = places[period.transactionId] {
                let known = periods[place]
                periods[place] = Period(
                    transactionId: period.transactionId, purchaseDate: period.purchaseDate, end: period.end,
                    hasToken: known.hasToken || period.hasToken, reason: period.reason ?? known.reason,
                    isOwned: known.isOwned || period.isOwned)
            } else {
                places[period.transactionId] = periods.count
                periods.append(period)
            }
        }
        periods.sort { ($0.purchaseDate, $0.transactionId) < ($1.purchaseDate, $1.transactionId) }
        divide()
    }

    /// Finds the runs, in one walk through the periods.
    private mutating func divide() {
        starts = []
        starts.reserveCapacity(periods.count)
        var start: Date?
        var end: Date?
        for period in periods {
            if let end, end.addingTimeInterval(period.tolerance) < period.purchaseDate, !period.isRenewal {
                start = period.hasToken ? nil : period.purchaseDate
            }
            end = max(end ?? .distantPast, period.end)
            starts.append(start)
        }
        settledStarts = []
        for (place, period) in periods.enumerated().reversed() {
            // Periods of one moment are of one run, whichever of them began it.
            if place + 1 < periods.count, periods[place + 1].purchaseDate == period.purchaseDate {
                starts[place] = starts[place + 1]
            }
            guard let start = starts[place] else { continue }
            if period.isOwned || period.isRenewal && period.purchaseDate > start { settledStarts.insert(start) }
        }
    }

    /// When the run of a period began, where somebody paid anew for it after the subscription had lapsed; nil for the
    /// subscription's first run, and where Apple's token says whose it is.
    func newRun(of date: Date) -> Date? {
        // The last period that began by then.
        var (low, high) = (0, periods.count)
        while low < high {
            let middle = (low + high) / 2
            if periods[middle].purchaseDate <= date { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : starts[low - 1]
    }

    /// Whether a run is the last that is known.
    func isNewest(_ start: Date) -> Bool { periods.isEmpty || starts.last == start }

    /// Whether it is known who has a run: somebody has a period of it, or Apple renewed it before anybody else came.
    func isSettled(_ start: Date) -> Bool { settledStarts.contains(start) }
}
