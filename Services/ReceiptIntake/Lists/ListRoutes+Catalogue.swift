import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/catalogue`.
extension ListRoutes {
    /// Tells which versions of the catalogue were in use, and what the one in use sells of an app.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func catalogue(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        let environment = try ReadingQuery.environment(request)
        let store = stores.catalogues
        let answer = try await turns.take(for: caller) {
            let versions = try await store.versions(Limit.versions)
            return CatalogueAnswer(
                app: caller.app, environment: environment, versions: versions,
                text: versions.isEmpty ? nil : try await store.newest(app: caller.app, environment),
                sold: try await store.sold(app: caller.app, environment))
        }
        return try ReadingAnswer.response(answer)
    }
}

/// What is sold: `CatalogueInUse` in the OpenAPI document.
struct CatalogueAnswer: Encodable, Sendable {
    /// `CatalogueVersion`.
    struct Version: Encodable, Sendable {
        let version: Int64
        let loadedAt: Date
        let isInUse: Bool
        let orders: Int64
        let newestOrderAt: Date?

        enum CodingKeys: String, CodingKey {
            case version, orders
            case loadedAt = "loaded_at"
            case isInUse = "in_use"
            case newestOrderAt = "newest_order_at"
        }
    }

    /// `CatalogueProduct`.
    struct Product: Encodable, Sendable {
        /// Orders by version.
        struct Sold: Encodable, Sendable {
            let version: Int64
            let orders: Int64
        }

        let productId: String
        let productType: String
        let items: [Catalogue.ItemGrant]
        let entitlements: [String]
        let duration: String?
        let prices: [String: Int64]
        let restore: RestorePolicy
        let family: FamilyPolicy
        let sold: [Sold]

        enum CodingKeys: String, CodingKey {
            case items, entitlements, duration, restore, family, sold
            case productId = "product_id"
            case productType = "product_type"
            case prices = "prices_milliunits"
        }

        init(_ product: Catalogue.Product, sold: [CatalogueStore.Sold]) {
            (productId, productType) = (product.id, product.type.rawValue)
            (items, entitlements, duration) = (product.items, product.entitlements, product.duration?.description)
            (prices, restore, family) = (product.prices, product.restore.policy, product.family)
            self.sold = sold.filter { $0.productId == product.id }.map { Sold(version: $0.version, orders: $0.orders) }
        }
    }

    let app: String
    let environment: StoreEnvironment
    let versionInUse: Int64?
    let isReadable: Bool
    let countedOrders: Int
    let versions: [Version]
    let products: [Product]

    enum CodingKeys: String, CodingKey {
        case app, environment, versions, products
        case versionInUse = "version_in_use"
        case isReadable = "readable"
        case countedOrders = "counted_orders"
    }

    /// - Parameter text: the catalogue in use, with its number; nil before the first.
    init(
        app: String, environment: StoreEnvironment, versions: [CatalogueStore.Version],
        text: (version: Int64, content: String)?, sold: [CatalogueStore.Sold]
    ) {
        let catalogue = text.flatMap { try? CatalogueFile.read($0.content, path: "catalogues").catalogue }
        (self.app, self.environment, versionInUse) = (app, environment, text?.version)
        (isReadable, countedOrders) = (text == nil || catalogue != nil, CatalogueStore.Limit.orders)
        self.versions = versions.map { version in
            let orders = sold.filter { $0.version == version.number }
            return Version(
                version: version.number, loadedAt: version.loadedAt, isInUse: version.number == text?.version,
                orders: orders.reduce(0) { $0 + $1.orders }, newestOrderAt: orders.map(\.newest).max())
        }
        products = (catalogue?.allProducts ?? []).filter { $0.app == app }.map { Product($0.product, sold: sold) }
    }
}
