/// An app of a developer: what App Store Connect knows of it.
struct AppRecord: Codable, Sendable, Identifiable {
    var id: String { bundleId }
    var bundleId: String
    /// Apple's number of the app.
    var appAppleId: Int64
    /// The version that receipts and notifications name (`CFBundleVersion`).
    var bundleVersion: String
    /// Whether it has ever been released; production answers 401 about one that has not (apple-facts C5).
    var isReleased: Bool
    /// Whether what happens is kept as server notifications.
    ///
    /// Apps that were made by their first sale keep none.
    var keepsNotifications: Bool
    /// Where server notifications of an environment are sent; nothing is sent without it.
    var notificationURLs: [StoreEnvironment: String]
    /// The secret that `verifyReceipt` wants for subscriptions.
    var sharedSecret: String?
    var issuerId: String
    /// The In-App Purchase keys, by key id: the public key, PEM.
    var publicKeys: [String: String]
    var gracePeriod: GracePeriod
    /// How long a subscription's month takes in the sandbox, in milliseconds; nil for a real month (apple-facts C9: 5 min).
    var sandboxMonth: Int64?
    var isAdvancedCommerce: Bool
    /// What copies of a period that family members get have for a `webOrderLineItemId`; nil for one of their own.
    var familyWebOrderLineItem: FamilyLineItem?

    /// The `webOrderLineItemId` of a family member's copy: another than the buyer's, or none (apple-facts C18).
    enum FamilyLineItem: String, Codable, Sendable, CaseIterable {
        case own
        case none
    }

    /// Billing grace period, a setting of the app (apple-facts C15).
    enum GracePeriod: String, Codable, Sendable, CaseIterable {
        case off = "OFF"
        case threeDays = "THREE_DAYS"
        case sixteenDays = "SIXTEEN_DAYS"
        case twentyEightDays = "TWENTY_EIGHT_DAYS"

        /// Its length in milliseconds; nil when there is none.
        var length: Int64? {
            switch self {
            case .off: nil
            case .threeDays: 3 * 86_400_000
            case .sixteenDays: 16 * 86_400_000
            case .twentyEightDays: 28 * 86_400_000
            }
        }
    }
}

/// A product of an app.
struct ProductRecord: Codable, Sendable, Identifiable {
    var id: String { Self.key(bundleId, productId) }
    var bundleId: String
    var productId: String
    var type: ProductType
    /// Milliunits of ``currency``.
    var price: Int64
    /// ISO 4217.
    var currency: String
    /// Prices in other storefronts, by their ISO 3166-1 alpha-3 code.
    var storefrontPrices: [String: Price]
    /// An auto-renewable subscription's group.
    var subscriptionGroupIdentifier: String?
    /// Its rank in the group; 1 is the highest service.
    var level: Int
    /// How long one period lasts; for auto-renewable subscriptions.
    var period: Period?
    var isFamilyShareable: Bool
    /// False once the developer stopped selling it: its subscriptions expire with PRODUCT_NOT_FOR_SALE.
    var isForSale: Bool
    var offers: [Offer]
    /// What its transactions say otherwise than the store knows: a merge patch of their payloads, JSON (RFC 7396).
    var signs: String?
    /// False for a product that was made by its first sale: a later sale may say that it is something else.
    var isRegistered = true

    struct Price: Codable, Sendable {
        var price: Int64
        var currency: String
    }

    /// A product as its first sale makes it, before anybody registers it.
    static func unregistered(_ bundleId: String, _ productId: String, _ type: ProductType) -> ProductRecord {
        let isSubscription = type == .autoRenewableSubscription
        return ProductRecord(
            bundleId: bundleId, productId: productId, type: type, price: 990, currency: "USD", storefrontPrices: [:],
            subscriptionGroupIdentifier: isSubscription ? String(Number.derived(from: bundleId, digits: 8)) : nil,
            level: 1, period: isSubscription ? Period(1, .month) : nil, isFamilyShareable: false, isForSale: true,
            offers: [], isRegistered: false)
    }

    static func key(_ bundleId: String, _ productId: String) -> String { "\(bundleId)/\(productId)" }

    /// What it costs in a storefront.
    func price(in storefront: String) -> Price {
        storefrontPrices[storefront] ?? Price(price: price, currency: currency)
    }
}

/// A lower price for a subscription (apple-facts C7: offerType, offerDiscountType, offerPeriod).
struct Offer: Codable, Sendable {
    /// Apple's `offerType`.
    enum Kind: Int64, Codable, Sendable {
        case introductory = 1
        case promotional = 2
        case code = 3
        case winBack = 4
    }

    /// Apple's `offerDiscountType`.
    enum Discount: String, Codable, Sendable {
        case freeTrial = "FREE_TRIAL"
        case payAsYouGo = "PAY_AS_YOU_GO"
        case payUpFront = "PAY_UP_FRONT"
        case oneTime = "ONE_TIME"
    }

    var kind: Kind
    /// Nil for the introductory offer.
    var identifier: String?
    var discount: Discount
    /// How long one discounted period lasts.
    var period: Period
    /// For how many periods; 1 for all but pay as you go.
    var periodCount: Int
    /// Milliunits of the product's currency.
    var price: Int64
}
