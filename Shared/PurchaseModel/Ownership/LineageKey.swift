/// A lineage: all transactions that have one original transaction id, such as the renewals of one subscription.
package struct LineageKey: Sendable, Hashable, Comparable {
    /// Production or sandbox.
    package let environment: StoreEnvironment
    /// Apple's id of the first transaction.
    package let originalTransactionId: String

    /// Names a lineage.
    package init(environment: StoreEnvironment, originalTransactionId: String) {
        self.environment = environment
        self.originalTransactionId = originalTransactionId
    }

    /// The order in which rows are locked, the same everywhere, so that two batches cannot wait for each other.
    package static func < (left: LineageKey, right: LineageKey) -> Bool {
        (left.environment.rawValue, left.originalTransactionId)
            < (right.environment.rawValue, right.originalTransactionId)
    }
}
