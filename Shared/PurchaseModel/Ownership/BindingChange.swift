/// That a lineage came to an account, or to one more: what an event tells of it.
package struct BindingChange: Codable, Sendable, Hashable {
    /// Why.
    package enum Cause: String, Codable, Sendable, Hashable, CaseIterable {
        /// Apple's signed data names the account.
        case token
        /// The account posted it while it was nobody's.
        case possession
        /// The account paid anew in a lineage that had lapsed.
        case purchase
        /// A restore policy moved it.
        case transfer
        /// A restore policy lets another account use it, too.
        case share
        /// An operator said so.
        case `operator`
    }

    /// The account that had it; nil where nobody did.
    package var from: Account?
    /// The account that has it now.
    package var to: Account
    /// Why.
    package var cause: Cause
    /// The restore policy, where one decided.
    package var policy: RestorePolicy?

    /// Makes a change.
    package init(from: Account?, to: Account, cause: Cause, policy: RestorePolicy? = nil) {
        self.from = from
        self.to = to
        self.cause = cause
        self.policy = policy
    }
}
