// The names are Apple's, and documented at the addresses.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, BeginDocumentationCommentWithOneLineSummary

public import Foundation

/// developer.apple.com/documentation/storekit/product
public struct Product: Identifiable, Sendable {
    /// developer.apple.com/documentation/storekit/product/producttype
    public struct ProductType: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let consumable = ProductType(rawValue: "Consumable")
        public static let nonConsumable = ProductType(rawValue: "Non-Consumable")
        public static let nonRenewable = ProductType(rawValue: "Non-Renewing Subscription")
        public static let autoRenewable = ProductType(rawValue: "Auto-Renewable Subscription")
    }

    public let id: String
    public let type: ProductType
    public let displayName: String
    public let description: String
    public let price: Decimal
    public let displayPrice: String
    /// How prices are written; its currency is the storefront's.
    public let priceFormatStyle: Decimal.FormatStyle.Currency
    public let subscription: SubscriptionInfo?

    package init(
        id: String, type: ProductType, displayName: String, description: String, price: Decimal, displayPrice: String,
        currencyCode: String, subscription: SubscriptionInfo? = nil
    ) {
        self.id = id
        self.type = type
        self.displayName = displayName
        self.description = description
        self.price = price
        self.displayPrice = displayPrice
        priceFormatStyle = .currency(code: currencyCode)
        self.subscription = subscription
    }

    public static func products<Identifiers: Collection>(
        for identifiers: Identifiers
    ) async throws -> [Product] where Identifiers.Element == String {
        try await StoreKitDevices.device.products(Array(identifiers))
    }

    @MainActor
    public func purchase(options: Set<PurchaseOption> = []) async throws -> PurchaseResult {
        try await StoreKitDevices.device.purchase(self, options)
    }
}
