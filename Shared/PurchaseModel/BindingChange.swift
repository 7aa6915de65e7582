/// That a lineage came to an account, or to one more: what an event tells of it.
public struct BindingChange: Codable, Sendable, Hashable {
    /// Why.
    public enum Cause: String, Codable, Sendable, Hashable, CaseIterable {
        /// Apple's signed data names the account.
        case token
        /// The account posted it while it was nobody's.
        case possession
        /// A restore policy moved it.
        case transfer
        /// A restore policy lets another account use it, too.
        case share
        /// An operator said so.
        case `operator`
    }

    /// The account that had it; nil where nobody did.
    public var from: String?
    /// The account that has it now.
    public var to: String
    /// Why.
    public var cause: Cause
    /// The restore policy, where one decided.
    public var policy: RestorePolicy?

    /// Makes a change.
    public init(from: String?, to: String, cause: Cause, policy: RestorePolicy? = nil) {
        self.from = from
        self.to = to
        self.cause = cause
        self.policy = policy
    }
}
