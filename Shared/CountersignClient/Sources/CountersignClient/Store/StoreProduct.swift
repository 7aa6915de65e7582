#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A product as the store shows it to this person.
public struct StoreProduct: Sendable, Hashable {
    /// Its id in App Store Connect.
    public var id: String
    /// Its name in the person's language.
    public var displayName: String
    /// What it is, in the person's language.
    public var description: String
    /// The price with its currency, as the person reads it; show this, and no price of your server.
    public var displayPrice: String
    /// The price as a number, for sorting and statistics.
    public var price: Decimal
    /// The price's currency (ISO 4217); nil where the store does not say.
    public var currencyCode: String?
    /// The currency's symbol, as the person's language writes it; nil where the store does not say.
    public var currencySymbol: String?
    /// Its kind.
    public var kind: Kind
    /// What a subscription has beside its price; nil for everything else, and with StoreKit 1.
    public var subscription: Subscription?

    /// A product's kind.
    public enum Kind: String, Sendable, Hashable {
        case consumable, nonConsumable, nonRenewing, autoRenewable
        /// The store does not say (StoreKit 1).
        case unknown
    }

    /// A product.
    public init(
        id: String, displayName: String, description: String, displayPrice: String, price: Decimal,
        currencyCode: String? = nil, currencySymbol: String? = nil, kind: Kind, subscription: Subscription? = nil
    ) {
        self.id = id
        self.displayName = displayName
        self.description = description
        self.displayPrice = displayPrice
        self.price = price
        self.currencyCode = currencyCode
        self.currencySymbol = currencySymbol
        self.kind = kind
        self.subscription = subscription
    }
}

extension StoreProduct {
    /// A length of time, like three months.
    public struct Period: Sendable, Hashable {
        /// How many units.
        public var count: Int
        /// The unit.
        public var unit: Unit

        /// A unit of time.
        public enum Unit: String, Sendable, Hashable {
            case day, week, month, year
        }

        /// A period.
        public init(_ count: Int, _ unit: Unit) {
            self.count = count
            self.unit = unit
        }
    }

    /// What a subscription has beside its price.
    public struct Subscription: Sendable, Hashable {
        /// The group, of which a person has one subscription at a time.
        public var groupID: String
        /// How long each payment lasts; nil where this version does not know the unit.
        public var period: Period?
        /// The introductory offer; nil where there is none.
        public var introductoryOffer: IntroductoryOffer?

        /// A subscription.
        public init(groupID: String, period: Period?, introductoryOffer: IntroductoryOffer? = nil) {
            self.groupID = groupID
            self.period = period
            self.introductoryOffer = introductoryOffer
        }
    }

    /// What a subscription costs in the beginning.
    public struct IntroductoryOffer: Sendable, Hashable {
        /// The price with its currency, as the person reads it.
        public var displayPrice: String
        /// The price as a number; zero for a free trial.
        public var price: Decimal
        /// How long one payment of it lasts.
        public var period: Period?
        /// How many such periods there are.
        public var periodCount: Int
        /// Whether this person may have it: the store knows whether they had one before.
        public var isEligible: Bool

        /// An offer.
        public init(displayPrice: String, price: Decimal, period: Period?, periodCount: Int, isEligible: Bool) {
            self.displayPrice = displayPrice
            self.price = price
            self.period = period
            self.periodCount = periodCount
            self.isEligible = isEligible
        }
    }
}

/// What the store says about a list of products.
public struct ProductList: Sendable, Hashable {
    /// What it sells, in the order that was asked for.
    public var products: [StoreProduct]
    /// The ids of the list that it does not know, sorted.
    public var refusedIDs: [String]

    /// A list.
    public init(products: [StoreProduct], refusedIDs: [String]) {
        self.products = products
        self.refusedIDs = refusedIDs
    }

    /// How products are sorted: by the price as a number, those of the same price by their ids.
    public enum Order: Sendable, Hashable {
        case priceAscending, priceDescending
    }

    /// What to look at when the store does not know an id, for a log.
    ///
    /// The store says no reason. Source: Apple's technote TN3186.
    public static let likelyCauses = [
        "the id is not written as in App Store Connect, or belongs to another bundle id",
        "the Paid Apps Agreement is not signed, or tax and banking information is missing (App Store Connect, Business)",
        "the product lacks its price, its localisation or its review screenshot (Missing Metadata)",
        "the product is not cleared for sale in this storefront, or was removed from sale",
        "the product was made less than an hour ago",
        "the app runs with a StoreKit configuration file that has no such product",
    ]
}
