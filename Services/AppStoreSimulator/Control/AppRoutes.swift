import Crypto
import Foundation
import HTTPTypes
import Hummingbird

/// What a developer sets up in App Store Connect: apps, their products, their keys.
struct AppRoutes: Sendable {
    enum Limit {
        /// Keys of one app.
        static let keys = 50
        /// Offers of one product.
        static let offers = 50
    }

    let store: Store

    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.get("apps/{bundleId}") { _, context in
            let id = try context.parameters.require("bundleId")
            guard let app = await store.read({ $0.apps[id] }) else { throw Problem(.notFound, "no app \(id)") }
            return try ControlAnswer.encoded(AppDescription(app))
        }
        group.put("apps/{bundleId}") { request, context in
            let id = try context.parameters.require("bundleId")
            let body = try await ControlBody.decode(AppRequest.self, from: request)
            try FieldCheck.identifier(id, "bundleId")
            let app = try await store.change { state, _ in try body.put(id, in: &state) }
            return try ControlAnswer.encoded(AppDescription(app))
        }
        group.post("apps/{bundleId}/keys") { _, context in
            let id = try context.parameters.require("bundleId")
            return try await makeKey(of: id)
        }
        group.put("apps/{bundleId}/products/{productId}") { request, context in
            let bundleId = try context.parameters.require("bundleId")
            let productId = try context.parameters.require("productId")
            let body = try await ControlBody.decode(ProductRequest.self, from: request)
            let product = try await store.change { state, _ in
                try body.put(bundleId, productId, in: &state)
            }
            return try ControlAnswer.encoded(product)
        }
    }

    private func makeKey(of bundleId: String) async throws -> Response {
        let key = P256.Signing.PrivateKey()
        // Ten capital letters and digits, as App Store Connect gives out.
        let keyId = String(UUID().uuidString.filter { $0 != "-" }.prefix(10))
        let app = try await store.change { state, _ in
            var app = try state.apps.required(bundleId, "app")
            guard app.publicKeys.count < Limit.keys else {
                throw Problem(.conflict, "an app has at most \(Limit.keys) keys")
            }
            app.publicKeys[keyId] = key.publicKey.pemRepresentation
            state.put(app)
            return app
        }
        var json = JSONText()
        json.add("issuerId", app.issuerId)
        json.add("keyId", keyId)
        json.add("privateKey", key.pemRepresentation)
        return ControlAnswer.json(json.object)
    }
}

/// An app as answers show it: its secret and its keys are not told.
private struct AppDescription: Encodable {
    let bundleId: String
    let appAppleId: Int64
    let bundleVersion: String
    let isReleased: Bool
    let notificationURLs: [String: String]
    let issuerId: String
    let keyIds: [String]
    let hasSharedSecret: Bool
    let gracePeriod: String
    let sandboxMonth: Int64?
    let isAdvancedCommerce: Bool
    let familyWebOrderLineItem: String

    init(_ app: AppRecord) {
        bundleId = app.bundleId
        appAppleId = app.appAppleId
        bundleVersion = app.bundleVersion
        isReleased = app.isReleased
        notificationURLs = Dictionary(uniqueKeysWithValues: app.notificationURLs.map { ($0.key.rawValue, $0.value) })
        issuerId = app.issuerId
        keyIds = app.publicKeys.keys.sorted()
        hasSharedSecret = app.sharedSecret != nil
        gracePeriod = app.gracePeriod.rawValue
        sandboxMonth = app.sandboxMonth
        isAdvancedCommerce = app.isAdvancedCommerce
        familyWebOrderLineItem = (app.familyWebOrderLineItem ?? .own).rawValue
    }
}

/// The body of `PUT apps/{bundleId}`: what is left out stays as it is.
private struct AppRequest: Decodable, Sendable {
    var appAppleId: Int64?
    var bundleVersion: String?
    var isReleased: Bool?
    var keepsNotifications: Bool?
    var notificationURLs: [String: String]?
    var sharedSecret: String?
    var issuerId: String?
    var publicKeys: [String: String]?
    var gracePeriod: AppRecord.GracePeriod?
    var sandboxMonth: SpanField?
    var isAdvancedCommerce: Bool?
    var familyWebOrderLineItem: String?

    func put(_ bundleId: String, in state: inout StoreState) throws -> AppRecord {
        var urls: [StoreEnvironment: String]?
        for (name, url) in notificationURLs ?? [:] {
            let parsed = URL(string: url)
            guard let environment = StoreEnvironment(rawValue: name),
                url.isEmpty || (["http", "https"].contains(parsed?.scheme) && parsed?.host != nil)
            else { throw Problem(.badRequest, "notificationURLs: Production and Sandbox, each http(s)://… or empty") }
            urls = urls ?? [:]
            urls?[environment] = url
        }
        for (id, pem) in publicKeys ?? [:] where (try? P256.Signing.PublicKey(pemRepresentation: pem)) == nil {
            throw Problem(.badRequest, "publicKeys: \(id) is not a P-256 public key in PEM")
        }
        try FieldCheck.require((publicKeys?.count ?? 0) <= AppRoutes.Limit.keys, "publicKeys: too many")
        let known = state.apps[bundleId]?.familyWebOrderLineItem
        let lineItem = try FieldCheck.choice(familyWebOrderLineItem, "familyWebOrderLineItem", usual: known ?? .own)
        var app = state.ensureApp(bundleId)
        // Whoever registers an app wants them, unless they say that they do not: each costs a signature and memory.
        app.keepsNotifications = keepsNotifications ?? true
        app.appAppleId = appAppleId ?? app.appAppleId
        app.bundleVersion = bundleVersion ?? app.bundleVersion
        app.isReleased = isReleased ?? app.isReleased
        if let urls { app.notificationURLs = urls.filter { !$0.value.isEmpty } }
        app.sharedSecret = sharedSecret ?? app.sharedSecret
        app.issuerId = issuerId ?? app.issuerId
        app.publicKeys = publicKeys ?? app.publicKeys
        app.gracePeriod = gracePeriod ?? app.gracePeriod
        app.sandboxMonth = sandboxMonth.map { $0.added(to: 0) } ?? app.sandboxMonth
        app.isAdvancedCommerce = isAdvancedCommerce ?? app.isAdvancedCommerce
        app.familyWebOrderLineItem = lineItem
        state.put(app)
        return app
    }
}

/// The body of `PUT apps/{bundleId}/products/{productId}`.
private struct ProductRequest: Decodable, Sendable {
    struct OfferRequest: Decodable, Sendable {
        let kind: OfferKindField
        let identifier: String?
        let discount: Offer.Discount
        let period: Period
        let periodCount: Int?
        let price: Int64?
    }

    var type: ProductType
    var price: Int64?
    var currency: String?
    var storefrontPrices: [String: ProductRecord.Price]?
    var subscriptionGroupIdentifier: String?
    var level: Int?
    var period: Period?
    var isFamilyShareable: Bool?
    var isForSale: Bool?
    var offers: [OfferRequest]?
    var signs: JSONField?

    func put(_ bundleId: String, _ productId: String, in state: inout StoreState) throws -> ProductRecord {
        try FieldCheck.identifier(bundleId, "bundleId")
        try FieldCheck.identifier(productId, "productId")
        try FieldCheck.price(price)
        try FieldCheck.threeLetters(currency, "currency")
        let isSubscription = type == .autoRenewableSubscription
        try FieldCheck.require(period == nil || isSubscription, "period: for an Auto-Renewable Subscription")
        try FieldCheck.require((1...1_000).contains(level ?? 1), "level: 1 to 1000")
        try FieldCheck.require((offers?.count ?? 0) <= AppRoutes.Limit.offers, "offers: too many")
        for offer in offers ?? [] {
            try FieldCheck.require(isSubscription, "offers: for an Auto-Renewable Subscription")
            try FieldCheck.price(offer.price, "offers.price")
            try FieldCheck.require((1...60).contains(offer.periodCount ?? 1), "offers.periodCount: 1 to 60")
            try FieldCheck.require(
                offer.kind.kind == .introductory || offer.identifier != nil, "offers.identifier: missing")
        }
        for (storefront, price) in storefrontPrices ?? [:] {
            try FieldCheck.threeLetters(storefront, "storefrontPrices")
            try FieldCheck.threeLetters(price.currency, "storefrontPrices.currency")
            try FieldCheck.price(price.price, "storefrontPrices.price")
        }
        _ = state.ensureApp(bundleId)
        let product = ProductRecord(
            bundleId: bundleId, productId: productId, type: type, price: price ?? 990, currency: currency ?? "USD",
            storefrontPrices: storefrontPrices ?? [:],
            subscriptionGroupIdentifier: isSubscription
                ? subscriptionGroupIdentifier ?? String(Number.derived(from: bundleId, digits: 8)) : nil,
            level: level ?? 1, period: isSubscription ? period ?? Period(1, .month) : nil,
            isFamilyShareable: isFamilyShareable ?? false, isForSale: isForSale ?? true,
            offers: (offers ?? []).map {
                Offer(
                    kind: $0.kind.kind, identifier: $0.identifier, discount: $0.discount, period: $0.period,
                    periodCount: $0.periodCount ?? 1, price: $0.discount == .freeTrial ? 0 : $0.price ?? 0)
            }, signs: signs?.text)
        state.put(product)
        return product
    }
}
