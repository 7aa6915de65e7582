/// What a studio sells, by app: product id, type, and what each product grants.
package struct Catalogue: Sendable, Hashable {
    private let products: [String: [String: Product]]
    /// The number under which it is kept; nil as long as it has none.
    package private(set) var version: Int64?

    /// One product of one app.
    package struct Product: Sendable, Hashable {
        /// The id in App Store Connect.
        package let id: String
        /// What kind of product it is; must agree with what Apple signs.
        package let type: ProductType
        /// Items and amounts for a quantity of one.
        package let items: [ItemGrant]
        /// Names of what the account may use from then on.
        package let entitlements: [String]
        /// For how long a non-renewing subscription is good: Apple does not say; nil for every other type.
        package let duration: ProductDuration?
        /// What it is expected to cost, in milliunits by currency (ISO 4217); empty where any price fits.
        package let prices: [String: Int64]
        /// What happens when another account posts what is somebody's.
        package let restore: RestoreRule
        /// What becomes of each item when Apple takes the purchase back; see ``takeBack(of:)``.
        package let takeBacks: [String: TakeBackPolicy]
        /// What a family member's copy brings.
        package let family: FamilyPolicy
        /// What a seat of a volume purchase brings.
        package let assigned: MarkedPolicy
        /// What it brings as a part of a bundle.
        package let bundled: MarkedPolicy
        /// What Apple is told when a customer asks for a refund.
        package let refund: RefundPolicy

        /// Makes a product.
        package init(
            id: String, type: ProductType, items: [ItemGrant], entitlements: [String],
            duration: ProductDuration? = nil, prices: [String: Int64] = [:], restore: RestoreRule = .keep,
            takeBacks: [String: TakeBackPolicy] = [:], family: FamilyPolicy = .entitlements,
            assigned: MarkedPolicy = .hold, bundled: MarkedPolicy = .hold, refund: RefundPolicy = .silent
        ) {
            self.id = id
            self.type = type
            self.items = items
            self.entitlements = entitlements
            self.duration = duration
            self.prices = prices
            self.restore = restore
            self.takeBacks = takeBacks
            self.family = family
            self.assigned = assigned
            self.bundled = bundled
            self.refund = refund
        }

        /// What becomes of an item when Apple takes the purchase back: nothing below zero unless the studio says so.
        package func takeBack(of item: String) -> TakeBackPolicy { takeBacks[item] ?? .toZero }
    }

    /// An amount of an item: 100 gems.
    package struct ItemGrant: Codable, Sendable, Hashable {
        /// The item's name in the studio's words.
        package let item: String
        /// How many: 1 or more in a catalogue; below zero in an event that takes something back.
        package let amount: Int64

        /// Makes a grant of `amount` of `item`.
        package init(item: String, amount: Int64) {
            self.item = item
            self.amount = amount
        }
    }

    /// Makes a catalogue from the products of each app (by bundle id); a product named twice keeps its last meaning.
    package init(_ productsByApp: [String: [Product]]) {
        products = productsByApp.mapValues { list in
            Dictionary(list.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
        }
    }

    /// The same catalogue under its number.
    package func numbered(_ version: Int64) -> Catalogue {
        var catalogue = self
        catalogue.version = version
        return catalogue
    }

    /// The product of an app; nil when the catalogue does not know it.
    package func product(app: String, id: String) -> Product? {
        products[app]?[id]
    }

    /// Every product known with its app, sorted.
    package var allProducts: [(app: String, product: Product)] {
        knownProducts.compactMap { app, id in product(app: app, id: id).map { (app: app, product: $0) } }
    }

    /// Every product known, as pairs of app and product id, sorted.
    package var knownProducts: [(app: String, productId: String)] {
        products.flatMap { app, list in list.keys.map { (app: app, productId: $0) } }
            .sorted { ($0.app, $0.productId) < ($1.app, $1.productId) }
    }
}

extension Catalogue.Product {
    /// Whether a transaction cost what is expected; nil where nothing is expected, or nothing is said.
    ///
    /// Apple documents `price` as the total of the quantity, and once documented it as the product's: both fit. A price
    /// that does not fit is no forgery (offers, price changes), but worth a look.
    /// Source: developer.apple.com/documentation/appstoreserverapi/price.
    package func isPriceExpected(of transaction: Transaction) -> Bool? {
        guard let price = transaction.priceMilliunits, let currency = transaction.currency,
            let expected = prices[currency]
        else { return nil }
        let (sum, overflow) = expected.multipliedReportingOverflow(by: Int64(transaction.quantity))
        return price == expected || !overflow && price == sum
    }
}
