/// Whether the app delivered (second version).
public struct DeliveryStatus: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It did, and it works.
    public static let delivered = Self(rawValue: "DELIVERED")
    /// What came does not work.
    public static let undeliveredQualityIssue = Self(rawValue: "UNDELIVERED_QUALITY_ISSUE")
    /// Something else came.
    public static let undeliveredWrongItem = Self(rawValue: "UNDELIVERED_WRONG_ITEM")
    /// A server was down.
    public static let undeliveredServerOutage = Self(rawValue: "UNDELIVERED_SERVER_OUTAGE")
    /// It did not, for another reason.
    public static let undeliveredOther = Self(rawValue: "UNDELIVERED_OTHER")
}

/// What the developer would like (second version).
public struct RefundPreference: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// No refund.
    public static let decline = Self(rawValue: "DECLINE")
    /// A whole refund.
    public static let grantFull = Self(rawValue: "GRANT_FULL")
    /// A refund of what was not used.
    public static let grantProrated = Self(rawValue: "GRANT_PRORATED")
}
