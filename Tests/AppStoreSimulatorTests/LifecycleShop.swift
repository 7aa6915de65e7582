import Foundation
import HTTPTypes
import Testing

@testable import AppStoreSimulator

/// A store without a file, at a time of its own, with an app whose notifications are kept.
struct LifecycleShop {
    static let bundleId = "com.example.club"
    static let day: Int64 = 86_400_000

    var state: StoreState
    /// Virtual milliseconds.
    var now: Int64
    private var seen = 0

    init(
        _ start: String = "2026-01-31T10:00:00Z", grace: AppRecord.GracePeriod = .off, sandboxMonth: Int64? = nil
    ) throws {
        state = StoreState(signer: try PayloadSigner(chain: try CertificateAuthority(now: Date()).chain))
        now = try Self.instant(start)
        var app = state.ensureApp(Self.bundleId)
        app.keepsNotifications = true
        app.gracePeriod = grace
        app.sandboxMonth = sandboxMonth
        state.put(app)
    }

    static func instant(_ text: String) throws -> Int64 {
        Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970 * 1_000)
    }

    static func text(_ instant: Int64?) -> String {
        instant.map { Date(timeIntervalSince1970: Double($0) / 1_000).ISO8601Format() } ?? "never"
    }

    @discardableResult
    mutating func product(
        _ id: String, type: ProductType = .autoRenewableSubscription, level: Int = 1,
        period: Period? = Period(1, .month),
        price: Int64 = 9_990, shared: Bool = false, offers: [Offer] = []
    ) -> ProductRecord {
        let product = ProductRecord(
            bundleId: Self.bundleId, productId: id, type: type, price: price, currency: "USD", storefrontPrices: [:],
            subscriptionGroupIdentifier: type == .autoRenewableSubscription ? "21000000" : nil, level: level,
            period: period, isFamilyShareable: shared, isForSale: true, offers: offers)
        state.put(product)
        return product
    }

    /// An account that may be in a family, and can pay or not.
    mutating func account(_ id: String, family: String? = nil, canPay: Bool = true) {
        var account = state.account(id)
        account.family = family
        account.canPay = canPay
        state.put(account)
    }

    /// A phone or tablet that somebody is signed in on.
    mutating func device(_ id: String, of account: String) {
        state.put(DeviceRecord(id: id, accountId: account, vendorIdentifier: UUID().uuidString))
    }

    /// `restoreCompletedTransactions` on a device.
    mutating func restore(
        on device: String, environment: StoreEnvironment = .production, dates: RestoreDates = RestoreDates()
    ) throws -> [TransactionRecord] {
        try state.restoreCompletedTransactions(
            on: device, bundleId: Self.bundleId, environment: environment, dates: dates, now: now)
    }

    func purchase(_ product: String, by account: String, environment: StoreEnvironment = .production) -> Purchase {
        Purchase(bundleId: Self.bundleId, productId: product, environment: environment, accountId: account)
    }

    /// Buys, and expects to get a transaction.
    mutating func buy(
        _ product: String, by account: String = "alice", environment: StoreEnvironment = .production,
        offer: Offer.Kind? = nil, identifier: String? = nil
    ) throws -> TransactionRecord {
        let outcome = try choose(product, by: account, environment: environment, offer: offer, identifier: identifier)
        guard case .bought(let transaction) = outcome else {
            throw Problem(.conflict, "not bought: \(outcome.name)")
        }
        return transaction
    }

    mutating func choose(
        _ product: String, by account: String = "alice", environment: StoreEnvironment = .production,
        offer: Offer.Kind? = nil, identifier: String? = nil
    ) throws -> PurchaseOutcome {
        var purchase = purchase(product, by: account, environment: environment)
        purchase.offerKind = offer
        purchase.offerIdentifier = identifier
        return try state.buy(purchase, now: now)
    }

    /// Lets everything happen that is due by an instant.
    mutating func advance(to instant: Int64) {
        while state.performDue(until: instant).count > 0 {}
        now = instant
    }

    mutating func advance(to text: String) throws { advance(to: try Self.instant(text)) }

    mutating func advance(days: Int64) { advance(to: now + days * Self.day) }

    func subscription(_ id: String) throws -> SubscriptionRecord { try #require(state.subscriptions[id]) }

    func transaction(_ id: String) throws -> TransactionRecord { try #require(state.transactions[id]) }

    /// The transactions of a lineage, oldest first.
    func lineage(_ id: String) -> [TransactionRecord] {
        state.lineages[id, default: []].compactMap { state.transactions[$0] }
    }

    /// What was told since the last time that this was asked, such as `EXPIRED/VOLUNTARY`.
    mutating func news() -> [String] {
        let rows = state.notifications.rows.values.filter { $0.sequence > seen }.sorted { $0.sequence < $1.sequence }
        seen = Int(rows.last?.sequence ?? Int64(seen))
        return rows.map { row in [row.notificationType, row.subtype].compactMap(\.self).joined(separator: "/") }
    }

    /// The HTTP status that something is refused with; nil when it is not.
    mutating func refusal(_ work: (inout LifecycleShop) throws -> Void) -> Int? {
        do {
            try work(&self)
            return nil
        } catch let problem as Problem {
            return Int(problem.status.code)
        } catch {
            return 0
        }
    }
}
