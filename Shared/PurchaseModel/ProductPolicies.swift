/// What happens when another account posts what is somebody's: a non-consumable, or a subscription.
public enum RestorePolicy: String, Codable, Sendable, Hashable, CaseIterable {
    /// It stays where it is.
    case keep
    /// It goes to the account that posts it; the one before has it no more.
    case transfer
    /// The same, but only while the one before can use nothing of it: an ended subscription.
    case transferIfInactive = "transfer_if_inactive"
    /// Both may use it.
    case share
}

/// A restore policy and its limits.
public struct RestoreRule: Sendable, Hashable {
    /// What happens.
    public let policy: RestorePolicy
    /// How often one lineage may change hands within ``period``.
    public let transfersMaximum: Int
    /// The span that ``transfersMaximum`` counts in.
    public let period: ProductDuration
    /// How many accounts may share a lineage, the owner among them.
    public let accountsMaximum: Int

    /// Makes a rule.
    public init(
        policy: RestorePolicy, transfersMaximum: Int = Default.transfers, period: ProductDuration = Default.period,
        accountsMaximum: Int = Default.accounts
    ) {
        self.policy = policy
        self.transfersMaximum = transfersMaximum
        self.period = period
        self.accountsMaximum = accountsMaximum
    }

    /// What holds where a catalogue does not say it.
    public enum Default {
        /// Transfers of a lineage in a period.
        public static let transfers = 3
        /// Thirty days.
        public static let period = ProductDuration(count: 30, unit: .day)
        /// Accounts that share: a family of six, as Apple counts them.
        public static let accounts = 6
    }

    /// The rule of a product that names none.
    public static let keep = RestoreRule(policy: .keep)
}

/// What becomes of an item of an account when Apple takes back the purchase that brought it.
public enum TakeBackPolicy: String, Codable, Sendable, Hashable, CaseIterable {
    /// As much is taken as there is, and no more.
    case toZero = "to_zero"
    /// All of it is taken; what is missing is a debt that later grants repay.
    case toNegative = "to_negative"
    /// Nothing is taken.
    case leave
}
