import Foundation

/// Where a trigger plays: whose app, which account, and when it must be over.
struct TriggerScene: Sendable {
    var bundleId: String
    var environment: StoreEnvironment
    /// Who buys.
    var accountId: String
    /// Whether the account was named by whoever asked; otherwise it is nobody's yet.
    var isNamedAccount: Bool
    /// When the play is over: the store's time, milliseconds since 1970.
    var now: Int64

    /// The sample app, for those who name none.
    static let sampleBundleId = "com.example.game"

    /// A purchase of a product at its price.
    func purchase(_ product: ProductRecord, accountId: String? = nil) -> Purchase {
        Purchase(
            bundleId: bundleId, productId: product.productId, environment: environment,
            accountId: accountId ?? self.accountId)
    }
}

/// What a trigger needs in the app before it plays.
enum TriggerNeed: Sendable {
    case consumable
    /// Two subscriptions of one group, with different levels.
    case plans
    /// A product that a family shares.
    case shared
    case nothing
}

extension StoreState {
    /// The app that a trigger is about, with the products that it needs; what is missing is registered.
    mutating func prepareTrigger(_ need: TriggerNeed, bundleId: String) {
        var app = ensureApp(bundleId)
        let isNew = !products.rows.values.contains { $0.bundleId == bundleId }
        if !app.keepsNotifications {
            app.keepsNotifications = true
            put(app)
        }
        if isNew { Self.sampleProducts(bundleId).forEach { put($0) } }
        let samples = Self.sampleProducts(bundleId).filter { products[$0.id] == nil }
        switch need {
        case .nothing: break
        case .consumable where triggerConsumable(bundleId) == nil: samples.first.map { put($0) }
        case .plans where triggerPlans(bundleId) == nil:
            samples.filter { $0.type == .autoRenewableSubscription }.forEach { put($0) }
        case .shared where triggerShared(bundleId) == nil:
            samples.first { $0.type == .nonConsumable }.map { put($0) }
        case .consumable, .plans, .shared: break
        }
    }

    /// The first consumable of an app that is for sale.
    func triggerConsumable(_ bundleId: String) -> ProductRecord? {
        triggerProducts(bundleId).first { $0.type == .consumable }
    }

    /// The first product of an app that a family shares and that is for sale.
    func triggerShared(_ bundleId: String) -> ProductRecord? {
        triggerProducts(bundleId).first { $0.isFamilyShareable && $0.type != .consumable }
    }

    /// The lowest and the highest service of an app's first group that has two.
    func triggerPlans(_ bundleId: String) -> (basic: ProductRecord, better: ProductRecord)? {
        let groups = Dictionary(
            grouping: triggerProducts(bundleId).filter { $0.type == .autoRenewableSubscription },
            by: Self.group(of:))
        for key in groups.keys.sorted() {
            let byLevel = (groups[key] ?? []).sorted { ($0.level, $0.productId) < ($1.level, $1.productId) }
            if let better = byLevel.first, let basic = byLevel.last, better.level < basic.level {
                return (basic, better)
            }
        }
        return nil
    }

    private func triggerProducts(_ bundleId: String) -> [ProductRecord] {
        products.rows.values.filter { $0.bundleId == bundleId && $0.isForSale }.sorted { $0.productId < $1.productId }
    }

    /// One product of each type, and a second subscription: what the sample app sells.
    private static func sampleProducts(_ bundleId: String) -> [ProductRecord] {
        func product(_ name: String, _ type: ProductType, price: Int64, level: Int = 1) -> ProductRecord {
            let isSubscription = type == .autoRenewableSubscription
            var product = ProductRecord.unregistered(bundleId, "\(bundleId).\(name)", type)
            (product.price, product.level, product.isRegistered) = (price, level, true)
            product.isFamilyShareable = type == .nonConsumable
            product.offers = isSubscription ? sampleOffers : []
            return product
        }
        return [
            product("coins", .consumable, price: 990), product("fullversion", .nonConsumable, price: 9_990),
            product("season", .nonRenewingSubscription, price: 4_990),
            product("basic", .autoRenewableSubscription, price: 4_990, level: 2),
            product("premium", .autoRenewableSubscription, price: 9_990, level: 1),
        ]
    }

    private static let sampleOffers = [
        Offer(kind: .introductory, discount: .freeTrial, period: Period(1, .week), periodCount: 1, price: 0),
        Offer(
            kind: .promotional, identifier: "LOYAL", discount: .payAsYouGo, period: Period(1, .month), periodCount: 3,
            price: 1_990), triggerOffer,
        Offer(
            kind: .winBack, identifier: "COMEBACK", discount: .payUpFront, period: Period(3, .month), periodCount: 1,
            price: 4_990),
    ]

    /// The offer code that a trigger redeems; lent to a product that has none.
    static let triggerOffer = Offer(
        kind: .code, identifier: "GIFT", discount: .payUpFront, period: Period(1, .month), periodCount: 1, price: 990)
}
