/// The environment that an answer names.
public struct EnvironmentName: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Real purchases.
    public static let production = Self(rawValue: "Production")
    /// Test purchases.
    public static let sandbox = Self(rawValue: "Sandbox")
}

/// A type of product, as a history is filtered by it.
public struct HistoryProductType: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Subscriptions that renew.
    public static let autoRenewable = Self(rawValue: "AUTO_RENEWABLE")
    /// Subscriptions that end.
    public static let nonRenewable = Self(rawValue: "NON_RENEWABLE")
    /// What is used up.
    public static let consumable = Self(rawValue: "CONSUMABLE")
    /// What is kept for ever.
    public static let nonConsumable = Self(rawValue: "NON_CONSUMABLE")
}

/// The order of a history, by when transactions were last changed.
public struct HistoryOrder: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The oldest change first.
    public static let ascending = Self(rawValue: "ASCENDING")
    /// The latest change first.
    public static let descending = Self(rawValue: "DESCENDING")
}

/// How a customer came to own something.
public struct InAppOwnershipType: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Bought.
    public static let purchased = Self(rawValue: "PURCHASED")
    /// Shared by the family.
    public static let familyShared = Self(rawValue: "FAMILY_SHARED")
}

/// Whether an order is the app's.
public struct OrderLookupStatus: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// It has transactions of the app.
    public static let valid = Self(rawValue: 0)
    /// It is not an order of the app.
    public static let invalid = Self(rawValue: 1)
}
