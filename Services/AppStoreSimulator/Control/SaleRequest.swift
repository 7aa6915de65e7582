import Foundation
import HTTPTypes

/// What somebody wants to buy: the body of `POST /simulator/v1/sales`.
struct SaleRequest: Decodable, Sendable {
    /// What a request may ask for at most.
    enum Limit {
        /// Sales in one request.
        static let count = 1_000
        /// Of one product at once, as in StoreKit.
        static let quantity: Int64 = 10
        /// Bytes of Advanced Commerce information.
        static let advancedCommerceBytes = 16_384
    }

    /// Which offer of the product is taken.
    struct OfferChoice: Decodable, Sendable {
        let kind: OfferKindField
        let identifier: String?
        /// What the developer's server signed; it is checked where it is there, and not asked for where it is not.
        let signed: SignedOffer?
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
    var account: String?
    var device: String?
    var offer: OfferChoice?
    var advancedCommerceInfo: JSONField?

    /// What is bought, checked; a ``Problem`` names the first field that will not do.
    func purchase() throws(Problem) -> Purchase {
        try FieldCheck.identifier(bundleId, "bundleId")
        try FieldCheck.identifier(productId, "productId")
        try FieldCheck.require((1...Limit.quantity).contains(quantity ?? 1), "quantity: 1 to \(Limit.quantity)")
        try FieldCheck.price(price)
        try FieldCheck.require((1...Limit.count).contains(count ?? 1), "count: 1 to \(Limit.count)")
        try FieldCheck.uuid(appAccountToken, "appAccountToken")
        let environment = try FieldCheck.environment(environment)
        try FieldCheck.threeLetters(currency, "currency")
        try FieldCheck.threeLetters(storefront, "storefront")
        try FieldCheck.digits(storefrontId, "storefrontId")
        try FieldCheck.digits(originalTransactionId, "originalTransactionId")
        try FieldCheck.require((0...FieldCheck.Limit.instant).contains(expiresDate ?? 0), "expiresDate: milliseconds")
        if let account { try FieldCheck.identifier(account, "account") }
        try FieldCheck.require(
            account == nil || originalTransactionId == nil, "originalTransactionId: only without an account")
        let token = appAccountToken?.lowercased()
        return Purchase(
            bundleId: bundleId, productId: productId, environment: environment,
            accountId: account ?? StoreState.guest(token: token ?? ""), deviceId: device, quantity: quantity ?? 1,
            appAccountToken: token, offerKind: offer?.kind.kind, offerIdentifier: offer?.identifier, price: price,
            currency: currency, storefront: storefront, storefrontId: storefrontId, expiresDate: expiresDate,
            originalTransactionId: originalTransactionId, advancedCommerceInfo: advancedCommerceInfo?.text)
    }

    /// The product that is sold: a registered one, or one that this sale makes.
    func prepareProduct(in state: inout StoreState) throws -> ProductRecord {
        let named = type.flatMap(ProductType.init(rawValue:))
        let names = ProductType.allCases.map(\.rawValue).joined(separator: ", ")
        try FieldCheck.require(type == nil || named != nil, "type: one of \(names)")
        let known = state.products[ProductRecord.key(bundleId, productId)]
        if let known, known.isRegistered || named == nil || named == known.type {
            try FieldCheck.require(named == nil || named == known.type, "type: \(productId) is \(known.type.rawValue)")
            return known
        }
        guard let type = named else { throw Problem(.badRequest, "type: one of \(names)") }
        _ = state.ensureApp(bundleId)
        let product = ProductRecord.unregistered(bundleId, productId, type)
        state.put(product)
        return product
    }
}

/// An offer's kind as requests name it.
struct OfferKindField: Decodable, Sendable {
    static let names: [String: Offer.Kind] = [
        "introductory": .introductory, "promotional": .promotional, "code": .code, "winBack": .winBack,
    ]

    let kind: Offer.Kind

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let kind = Self.names[try container.decode(String.self)] else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "an offer's kind")
        }
        self.kind = kind
    }
}

/// JSON in a request that is passed on as it is.
struct JSONField: Decodable, Sendable {
    let text: String

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let value = try container.decode([String: JSONValue].self)
        text = JSONValue.map(value).json
        guard text.utf8.count <= SaleRequest.Limit.advancedCommerceBytes else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "too long")
        }
    }
}
