import Foundation
import HTTPTypes

/// The steps that triggers are made of.
///
/// Each play is told when it begins and says when its last step happened. What takes time is played in the past, so that
/// the last step is now; the clock never moves.
enum TriggerPlay {
    typealias Play = @Sendable (inout StoreState, TriggerScene, Int64) throws -> Int64

    /// Buys a consumable.
    static func consumable(
        _ state: inout StoreState, _ scene: TriggerScene, _ start: Int64
    ) throws -> TransactionRecord {
        guard let product = state.triggerConsumable(scene.bundleId) else { throw missing("consumable", scene) }
        return try bought(try state.buy(scene.purchase(product), now: start), scene)
    }

    /// A running subscription of the lower or higher plan: the account's own, or a new one.
    ///
    /// - Returns: its original transaction id.
    static func subscription(
        _ state: inout StoreState, _ scene: TriggerScene, _ start: Int64, better: Bool = false,
        reusing: Bool = true, changing: ((inout Purchase) -> Void)? = nil
    ) throws -> String {
        let plans = try plans(state, scene)
        let product = better ? plans.better : plans.basic
        if scene.isNamedAccount, let running = running(state, scene, group: StoreState.group(of: product)) {
            guard reusing, start == scene.now else {
                throw Problem(
                    .conflict,
                    "account: \(scene.accountId) subscribes already (\(running)): name another, or advance the clock")
            }
            return running
        }
        var purchase = scene.purchase(product)
        changing?(&purchase)
        return try bought(try state.buy(purchase, now: start), scene).originalTransactionId
    }

    /// Lets a subscription's next date come.
    ///
    /// - Returns: the date.
    static func passTime(_ state: inout StoreState, _ id: String) throws -> Int64 {
        guard let due = state.subscriptions[id]?.dueDate else {
            throw Problem(.internalServerError, "nothing more happens to the subscription \(id)")
        }
        state.subscriptionFallsDue(id, now: due)
        return due
    }

    /// Plays with a grace period of 16 days, or with none, whatever the app has.
    static func with(
        gracePeriod isGranted: Bool, _ state: inout StoreState, _ scene: TriggerScene,
        _ play: (inout StoreState) throws -> Int64
    ) throws -> Int64 {
        guard var app = state.apps[scene.bundleId] else { throw missing("app", scene) }
        let own = app.gracePeriod
        if (own != .off) == isGranted { return try play(&state) }
        app.gracePeriod = isGranted ? .sixteenDays : .off
        state.put(app)
        defer {
            app.gracePeriod = own
            state.put(app)
        }
        return try play(&state)
    }

    /// Plays with the app's plans changed for the time being.
    static func withPlans(
        _ state: inout StoreState, _ scene: TriggerScene, change: (inout ProductRecord) -> Void,
        _ play: (inout StoreState) throws -> Int64
    ) throws -> Int64 {
        let plans = try plans(state, scene)
        for var plan in [plans.basic, plans.better] {
            change(&plan)
            state.put(plan)
        }
        defer {
            state.put(plans.basic)
            state.put(plans.better)
        }
        return try play(&state)
    }

    /// The payment of the next renewal fails.
    ///
    /// - Returns: the subscription, and when it failed.
    static func failedRenewal(
        _ state: inout StoreState, _ scene: TriggerScene, _ start: Int64
    ) throws -> (id: String, date: Int64) {
        let id = try subscription(&state, scene, start, reusing: false)
        try state.setPaymentFails(id, true, now: start)
        return (id, try passTime(&state, id))
    }

    /// Asks the subscriber to agree to a price that is a fifth higher: this one alone, not all who subscribe.
    static func askForPrice(_ state: inout StoreState, _ id: String, now: Int64) throws {
        var record = try state.subscriptions.required(id, "subscription")
        record.priceIncrease = SubscriptionRecord.PriceIncrease(
            price: max(record.renewalPrice, 1) * 6 / 5 + 1, needsConsent: true, hasConsent: false, effectiveDate: now)
        state.put(record)
        state.notify(.priceIncrease, .pending, transactionId: record.transactionId, now: now)
    }

    static func bought(_ outcome: PurchaseOutcome, _ scene: TriggerScene) throws -> TransactionRecord {
        guard case .bought(let transaction) = outcome else {
            throw Problem(.conflict, "account: \(scene.accountId) cannot buy it: \(outcome.name)")
        }
        return transaction
    }

    static func plans(
        _ state: StoreState, _ scene: TriggerScene
    ) throws -> (basic: ProductRecord, better: ProductRecord) {
        guard let plans = state.triggerPlans(scene.bundleId) else { throw missing("subscription", scene) }
        return plans
    }

    static func missing(_ what: String, _ scene: TriggerScene) -> Problem {
        Problem(.conflict, "\(scene.bundleId) has no \(what) for sale")
    }

    /// The subscription of the account that runs in a group.
    private static func running(_ state: StoreState, _ scene: TriggerScene, group: String) -> String? {
        let key = DownloadRecord.key(scene.bundleId, scene.accountId, scene.environment)
        return state.holdings[key, default: []].lazy.reversed()
            .compactMap { state.transactions[$0].flatMap { state.subscriptions[$0.originalTransactionId] } }
            .first { !$0.isOver && $0.subscriptionGroupIdentifier == group }?.originalTransactionId
    }
}
