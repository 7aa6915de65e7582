/// An account within its app and environment: what balances, entitlements and the numbers of events are of.
package struct Customer: Sendable, Hashable, Comparable {
    package let environment: StoreEnvironment
    /// The app's bundle id.
    package let app: String
    package let account: Account

    package init(environment: StoreEnvironment, app: String, account: Account) {
        self.environment = environment
        self.app = app
        self.account = account
    }

    /// The order in which rows are locked, the same everywhere, so that two batches cannot wait for each other.
    package static func < (left: Customer, right: Customer) -> Bool {
        if left.account != right.account { return left.account < right.account }
        return (left.app, left.environment.rawValue) < (right.app, right.environment.rawValue)
    }
}
