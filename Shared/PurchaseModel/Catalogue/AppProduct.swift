/// A product of an app; the ids of two apps may be the same.
package struct AppProduct: Sendable, Hashable {
    /// The app's bundle id.
    package let app: String
    /// The id in App Store Connect.
    package let productId: String

    package init(app: String, productId: String) {
        self.app = app
        self.productId = productId
    }
}

extension Catalogue {
    /// The product; nil when the catalogue does not know it.
    package func product(_ key: AppProduct) -> Product? { product(app: key.app, id: key.productId) }

    /// The products that this catalogue knows and another does not know, or knows otherwise.
    package func changes(from other: Catalogue?) -> Set<AppProduct> {
        Set(
            allProducts.filter { app, product in product != other?.product(app: app, id: product.id) }
                .map { AppProduct(app: $0.app, productId: $0.product.id) })
    }
}
