/// Where a subscription stands.
public struct SubscriptionStatus: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Paid for.
    public static let active = Self(rawValue: 1)
    /// Over.
    public static let expired = Self(rawValue: 2)
    /// Not paid; Apple tries again.
    public static let billingRetry = Self(rawValue: 3)
    /// Not paid, still served.
    public static let billingGracePeriod = Self(rawValue: 4)
    /// Taken back.
    public static let revoked = Self(rawValue: 5)
}

/// Why a renewal date is extended.
public struct ExtendReasonCode: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Not said.
    public static let undeclared = Self(rawValue: 0)
    /// To keep a customer content.
    public static let customerSatisfaction = Self(rawValue: 1)
    /// Something else.
    public static let other = Self(rawValue: 2)
    /// The service was not there.
    public static let serviceIssueOrOutage = Self(rawValue: 3)
}
