import Synchronization

/// Statuses that `verifyReceipt` was told to answer, whatever the receipt is: one an environment.
final class VerifyReceiptDemands: Sendable {
    /// A status to answer, and how often.
    struct Demand: Sendable, Codable, Equatable {
        var status: Int64
        /// The share of answers, more than 0 to 1.
        var share: Double
        /// What the answer says of another try; nil when it says nothing.
        var isRetryable: Bool?
    }

    private struct Entry {
        var demand: Demand
        /// How much of the next demanded answer is due: grows by the share with each request.
        var due = 0.0
    }

    private let entries = Mutex<[StoreEnvironment: Entry]>([:])

    /// What is demanded now.
    var all: [StoreEnvironment: Demand] { entries.withLock { $0.mapValues(\.demand) } }

    /// - Parameter demand: nil for answers as the receipt deserves them.
    func set(_ demand: Demand?, in environment: StoreEnvironment) {
        entries.withLock { $0[environment] = demand.map { Entry(demand: $0) } }
    }

    /// What the next answer must be; nil when it is free.
    ///
    /// With a share of 0.25 every fourth answer is demanded.
    func next(in environment: StoreEnvironment) -> Demand? {
        entries.withLock { entries in
            guard var entry = entries[environment] else { return nil }
            entry.due += entry.demand.share
            let isDue = entry.due >= 1
            if isDue { entry.due -= 1 }
            entries[environment] = entry
            return isDue ? entry.demand : nil
        }
    }
}
