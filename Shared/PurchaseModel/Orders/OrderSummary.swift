/// How an order stands, as far as posters are told of it.
package struct OrderSummary: Sendable, Hashable {
    /// The order's own id.
    package let key: OrderKey
    package let state: OrderState
    /// Why it is not granted.
    package let reason: ReasonCode?
    /// Whose it is; nil while in doubt.
    package let account: Account?
    /// Who may use it, too, by the restore policy `share`.
    package var sharers: Set<Account>
    /// Who got the items; nil where nobody just settled it.
    package var itemsAccount: Account?
    /// Accounts that the restore policy's limit keeps from it; known only to whoever just settled it.
    package var limitedAccounts: Set<Account> = []
    /// Accounts that may have paid for it, and do not have it, by the product's policy `new_purchase: owner`; known only to
    /// whoever just settled it.
    package var payersBesidesOwner: Set<Account> = []
    /// That no money was paid, and why it was bought; nil for everything else.
    package let testPurchase: TestPurchase?

    package init(
        key: OrderKey, state: OrderState, reason: ReasonCode?, account: Account?, sharers: Set<Account> = [],
        testPurchase: TestPurchase? = nil
    ) {
        self.key = key
        self.state = state
        self.reason = reason
        self.account = account
        self.sharers = sharers
        self.testPurchase = testPurchase
    }

    package init(_ order: StoredOrder) {
        self.init(
            key: order.key, state: order.state, reason: order.reason, account: order.account,
            testPurchase: order.testPurchase)
    }

    package init(_ transition: OrderTransition) {
        self.init(
            key: transition.key, state: transition.state, reason: transition.reason, account: transition.account,
            testPurchase: transition.key.environment == .sandbox ? transition.transaction.testPurchase : nil)
        itemsAccount = transition.isGrant ? transition.itemsAccount : nil
    }
}

/// Where something that was received stands.
package enum SubmissionState: String, Codable, Sendable, Hashable, CaseIterable {
    /// Accepted, on disk, and due until it has an outcome.
    case received
    /// Every transaction of it is granted, or was recorded as taken back by Apple before.
    case fulfilled
    /// Refused for good, with a reason.
    case rejected
    /// Genuine but doubtful: recorded, held, granted to nobody yet.
    case parked

    /// True once there is an outcome.
    package var isSettled: Bool { self != .received }
}

/// Where an order, one Apple transaction, stands.
package enum OrderState: String, Codable, Sendable, Hashable, CaseIterable {
    /// Its account has what was bought.
    case granted
    /// Held until a doubt is resolved.
    case parked
    /// Taken back by Apple; grants nothing.
    case revoked
}
