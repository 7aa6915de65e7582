import Foundation
import HTTPTypes

/// What somebody wants to buy: the body of `POST /simulator/v1/sales`.
struct SaleRequest: Decodable, Sendable {
    /// What a request may ask for at most.
    enum Limit {
        /// Bytes of a request's body.
        static let bodyBytes = 65_536
        /// Sales in one request.
        static let count = 1_000
        /// Bytes of a bundle or product id; App Store Connect allows fewer.
        static let identifierBytes = 255
        /// Of one product at once, as in StoreKit.
        static let quantity: Int64 = 10
        /// Milliunits of a price.
        static let price: Int64 = 1_000_000_000_000
    }

    /// Apple's names of the product types.
    enum ProductType: String, Sendable, CaseIterable {
        case consumable = "Consumable"
        case nonConsumable = "Non-Consumable"
        case autoRenewableSubscription = "Auto-Renewable Subscription"
        case nonRenewingSubscription = "Non-Renewing Subscription"
    }

    var bundleId: String
    var productId: String
    var type: String?
    var quantity: Int64?
    var appAccountToken: String?
    var environment: String?
    var price: Int64?
    var currency: String?
    var storefront: String?
    var storefrontId: String?
    var expiresDate: Int64?
    var count: Int?
    var originalTransactionId: String?

    /// The sale, with the defaults filled in; a ``Problem`` names the first field that will not do.
    func sale() throws(Problem) -> Sale {
        try Self.check(!bundleId.isEmpty && bundleId.utf8.count <= Limit.identifierBytes, "bundleId: 1 to 255 bytes")
        try Self.check(!productId.isEmpty && productId.utf8.count <= Limit.identifierBytes, "productId: 1 to 255 bytes")
        try Self.check(!(bundleId + productId).utf8.contains(0), "bundleId, productId: no NUL")
        guard let type = type.flatMap(ProductType.init(rawValue:)) else {
            let names = ProductType.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(.badRequest, "type: one of \(names)")
        }
        try Self.check((1...Limit.quantity).contains(quantity ?? 1), "quantity: 1 to \(Limit.quantity)")
        try Self.check((0...Limit.price).contains(price ?? 0), "price: 0 to \(Limit.price) milliunits")
        try Self.check((1...Limit.count).contains(count ?? 1), "count: 1 to \(Limit.count)")
        try Self.check(appAccountToken.map { UUID(uuidString: $0) != nil } ?? true, "appAccountToken: a UUID")
        try Self.check(
            ["Production", "Sandbox"].contains(environment ?? "Production"), "environment: Production, Sandbox")
        try Self.check(Self.isThreeLetters(currency), "currency: three capital letters")
        try Self.check(Self.isThreeLetters(storefront), "storefront: three capital letters")
        try Self.check(Self.isDigits(storefrontId), "storefrontId: up to 19 digits")
        try Self.check(Self.isDigits(originalTransactionId), "originalTransactionId: up to 19 digits")
        try Self.check(
            expiresDate == nil || type == .autoRenewableSubscription, "expiresDate: for an Auto-Renewable Subscription")
        try Self.check(
            (0...253_402_300_799_999).contains(expiresDate ?? 0), "expiresDate: milliseconds since 1970")
        return Sale(
            bundleId: bundleId, productId: productId, type: type, quantity: quantity ?? 1,
            appAccountToken: appAccountToken?.lowercased(), environment: environment ?? "Production",
            price: price ?? 990, currency: currency ?? "USD", storefront: storefront ?? "USA",
            storefrontId: storefrontId ?? "143441", expiresDate: expiresDate, count: count ?? 1,
            originalTransactionId: originalTransactionId)
    }

    private static func check(_ isGood: Bool, _ detail: String) throws(Problem) {
        guard isGood else { throw Problem(.badRequest, detail) }
    }

    private static func isThreeLetters(_ text: String?) -> Bool {
        guard let text else { return true }
        return text.utf8.count == 3 && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }

    private static func isDigits(_ text: String?) -> Bool {
        guard let text else { return true }
        return (1...19).contains(text.utf8.count)
            && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
