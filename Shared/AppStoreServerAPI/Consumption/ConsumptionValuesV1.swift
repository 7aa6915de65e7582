/// How much of a purchase was used (first version).
public struct ConsumptionStatus: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Not said.
    public static let undeclared = Self(rawValue: 0)
    /// Nothing.
    public static let notConsumed = Self(rawValue: 1)
    /// A part.
    public static let partiallyConsumed = Self(rawValue: 2)
    /// All.
    public static let fullyConsumed = Self(rawValue: 3)
}

/// Where it was used (first version).
public struct ConsumptionPlatform: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Not said.
    public static let undeclared = Self(rawValue: 0)
    /// On Apple's platforms.
    public static let apple = Self(rawValue: 1)
    /// Elsewhere.
    public static let nonApple = Self(rawValue: 2)
}

/// Whether the app delivered (first version).
public struct DeliveryStatusV1: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// It did, and it works.
    public static let delivered = Self(rawValue: 0)
    /// What came does not work.
    public static let qualityIssue = Self(rawValue: 1)
    /// Something else came.
    public static let wrongItem = Self(rawValue: 2)
    /// A server was down.
    public static let serverOutage = Self(rawValue: 3)
    /// The game's currency was changed.
    public static let currencyChange = Self(rawValue: 4)
    /// It did not, for another reason.
    public static let other = Self(rawValue: 5)
}

/// How old the account is (first version).
public struct AccountTenure: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Not said.
    public static let undeclared = Self(rawValue: 0)
    /// Up to 3 days.
    public static let under3Days = Self(rawValue: 1)
    /// 3 to 10 days.
    public static let under10Days = Self(rawValue: 2)
    /// 10 to 30 days.
    public static let under30Days = Self(rawValue: 3)
    /// 30 to 90 days.
    public static let under90Days = Self(rawValue: 4)
    /// 90 to 180 days.
    public static let under180Days = Self(rawValue: 5)
    /// 180 to 365 days.
    public static let under365Days = Self(rawValue: 6)
    /// More than 365 days.
    public static let from365Days = Self(rawValue: 7)
}

/// How long the customer used the app (first version).
public struct PlayTime: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Not said.
    public static let undeclared = Self(rawValue: 0)
    /// Up to 5 minutes.
    public static let under5Minutes = Self(rawValue: 1)
    /// 5 to 60 minutes.
    public static let under60Minutes = Self(rawValue: 2)
    /// 1 to 6 hours.
    public static let under6Hours = Self(rawValue: 3)
    /// 6 to 24 hours.
    public static let under24Hours = Self(rawValue: 4)
    /// 1 to 4 days.
    public static let under4Days = Self(rawValue: 5)
    /// 4 to 16 days.
    public static let under16Days = Self(rawValue: 6)
    /// More than 16 days.
    public static let from16Days = Self(rawValue: 7)
}

/// What a customer paid, or was paid back, over the account's life (first version).
public struct LifetimeDollars: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Not said.
    public static let undeclared = Self(rawValue: 0)
    /// Nothing.
    public static let zero = Self(rawValue: 1)
    /// 0.01 to 49.99 US dollars.
    public static let under50 = Self(rawValue: 2)
    /// 50 to 99.99 US dollars.
    public static let under100 = Self(rawValue: 3)
    /// 100 to 499.99 US dollars.
    public static let under500 = Self(rawValue: 4)
    /// 500 to 999.99 US dollars.
    public static let under1000 = Self(rawValue: 5)
    /// 1,000 to 1,999.99 US dollars.
    public static let under2000 = Self(rawValue: 6)
    /// 2,000 US dollars or more.
    public static let from2000 = Self(rawValue: 7)
}

/// How the account stands (first version).
public struct UserStatus: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Not said.
    public static let undeclared = Self(rawValue: 0)
    /// In use.
    public static let active = Self(rawValue: 1)
    /// Shut for a time.
    public static let suspended = Self(rawValue: 2)
    /// Ended.
    public static let terminated = Self(rawValue: 3)
    /// Limited.
    public static let limitedAccess = Self(rawValue: 4)
}

/// What the developer would like (first version).
public struct RefundPreferenceV1: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Not said.
    public static let undeclared = Self(rawValue: 0)
    /// A refund.
    public static let preferGrant = Self(rawValue: 1)
    /// No refund.
    public static let preferDecline = Self(rawValue: 2)
    /// Either.
    public static let noPreference = Self(rawValue: 3)
}
