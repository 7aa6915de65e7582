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

/// Which of Apple's two worlds a purchase was made in.
///
/// It is part of every key, so that a test purchase never meets a paid one. Apple also signs `Xcode` and
/// `LocalTesting`; those never leave a developer's machine, and have no value here.
/// Source: developer.apple.com/documentation/appstoreserverapi/environment.
package enum StoreEnvironment: String, Codable, Sendable, Hashable, CaseIterable {
    case production
    case sandbox

    /// The environment that Apple's signed data calls by this name; nil for a name that is neither.
    package init?(appleName: String) {
        switch appleName {
        case "Production": self = .production
        case "Sandbox": self = .sandbox
        default: return nil
        }
    }
}

/// The store that sold a purchase, as answers and events name it; there may be others one day.
package enum Store: String, Codable, Sendable, Hashable {
    case appStore = "app_store"
}
