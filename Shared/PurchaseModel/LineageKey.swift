/// A lineage: all transactions that have one original transaction id, such as the renewals of one subscription.
public struct LineageKey: Sendable, Hashable, Comparable {
    /// Production or sandbox.
    public let environment: StoreEnvironment
    /// Apple's id of the first transaction.
    public let originalTransactionId: String

    /// Names a lineage.
    public init(environment: StoreEnvironment, originalTransactionId: String) {
        self.environment = environment
        self.originalTransactionId = originalTransactionId
    }

    /// The order in which rows are locked, the same everywhere, so that two batches cannot wait for each other.
    public static func < (left: LineageKey, right: LineageKey) -> Bool {
        (left.environment.rawValue, left.originalTransactionId)
            < (right.environment.rawValue, right.originalTransactionId)
    }
}
