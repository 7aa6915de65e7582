/// What makes an order unique: the environment and Apple's transaction id.
package struct OrderKey: Sendable, Hashable, Comparable {
    /// Production or sandbox.
    package let environment: StoreEnvironment
    /// Apple's id, unique within the environment.
    package let transactionId: String

    /// Makes a key.
    package init(environment: StoreEnvironment, transactionId: String) {
        self.environment = environment
        self.transactionId = transactionId
    }

    /// The order in which rows are locked, the same everywhere, so that two batches cannot wait for each other.
    package static func < (left: OrderKey, right: OrderKey) -> Bool {
        (left.environment.rawValue, left.transactionId) < (right.environment.rawValue, right.transactionId)
    }
}

extension Transaction {
    /// The environment that its order stands under.
    ///
    /// What Apple signed before its data named one stands under production and is held there (decision 0001).
    package var orderEnvironment: StoreEnvironment { environment ?? .production }

    /// What finds its order.
    package var orderKey: OrderKey { OrderKey(environment: orderEnvironment, transactionId: transactionId) }
}
