/// A notification that can be asked for: what it is, and what is played so that it comes about.
struct TriggerKind: Sendable {
    let type: NotificationType
    let subtype: NotificationSubtype?
    /// What is played, in a sentence.
    let summary: String
    let need: TriggerNeed
    let play: TriggerPlay.Play

    init(
        _ type: NotificationType, _ subtype: NotificationSubtype? = nil, _ summary: String,
        needs need: TriggerNeed = .plans, play: @escaping TriggerPlay.Play
    ) {
        self.type = type
        self.subtype = subtype
        self.summary = summary
        self.need = need
        self.play = play
    }

    /// All 23 types with each subtype that Apple sends (apple-facts C8).
    static let all: [TriggerKind] =
        subscribing + changing + renewing + failing + prices + refunds + extensions + others + advancedCommerce

    /// The kinds of a type, the most usual first; none for a type that Apple does not have.
    static func kinds(of type: String) -> [TriggerKind] {
        all.filter { $0.type.rawValue == type }
    }

    /// The subtypes of a type; nil for a type that Apple does not have.
    static func subtypes(of type: String) -> [String]? {
        let kinds = kinds(of: type)
        return kinds.isEmpty ? nil : kinds.compactMap { $0.subtype?.rawValue }
    }
}

// MARK: Subscriptions

extension TriggerKind {
    private static let subscribing = [
        TriggerKind(.subscribed, .initialBuy, "An account buys a subscription for the first time.") {
            _ = try TriggerPlay.subscription(&$0, $1, $2, reusing: false)
            return $2
        },
        TriggerKind(
            .subscribed, .resubscribe, "An account buys a subscription, lets it expire and buys it again."
        ) { state, scene, start in
            let id = try TriggerPlay.subscription(&state, scene, start, reusing: false)
            try state.setAutoRenew(id, false, now: start)
            let end = try TriggerPlay.passTime(&state, id)
            let plans = try TriggerPlay.plans(state, scene)
            _ = try TriggerPlay.bought(try state.buy(scene.purchase(plans.basic), now: end), scene)
            return end
        },
    ]

    private static let changing = [
        TriggerKind(.didChangeRenewalPref, .upgrade, "A subscriber changes to a higher plan, at once.") {
            try changePlan(&$0, $1, $2, toBetter: true, offer: false)
        },
        TriggerKind(.didChangeRenewalPref, .downgrade, "A subscriber chooses a lower plan for the next renewal.") {
            try changePlan(&$0, $1, $2, toBetter: false, offer: false)
        },
        TriggerKind(.didChangeRenewalPref, nil, "A subscriber chooses a lower plan and changes back.") {
            state, scene, start in
            let plans = try TriggerPlay.plans(state, scene)
            let id = try TriggerPlay.subscription(&state, scene, start, better: true)
            try state.changePlan(id, to: plans.basic.productId, now: start)
            try state.changePlan(id, to: plans.better.productId, now: start)
            return start
        },
        TriggerKind(.didChangeRenewalStatus, .autoRenewDisabled, "A subscriber turns auto-renewal off.") {
            let id = try TriggerPlay.subscription(&$0, $1, $2)
            if $0.subscriptions[id]?.autoRenews == false { try $0.setAutoRenew(id, true, now: $2) }
            try $0.setAutoRenew(id, false, now: $2)
            return $2
        },
        TriggerKind(.didChangeRenewalStatus, .autoRenewEnabled, "A subscriber turns auto-renewal off and on again.") {
            let id = try TriggerPlay.subscription(&$0, $1, $2)
            try $0.setAutoRenew(id, false, now: $2)
            try $0.setAutoRenew(id, true, now: $2)
            return $2
        },
        TriggerKind(.offerRedeemed, nil, "A subscriber redeems an offer code for the plan that runs.") {
            state, scene, start in
            try TriggerPlay.withPlans(&state, scene, change: lendOffer) { state in
                let id = try TriggerPlay.subscription(&state, scene, start)
                guard let product = state.subscriptions[id]?.productId else {
                    throw TriggerPlay.missing("subscription", scene)
                }
                try state.changePlan(id, to: product, offerKind: .code, now: start)
                return start
            }
        },
        TriggerKind(.offerRedeemed, .upgrade, "A subscriber redeems an offer code for a higher plan.") {
            try changePlan(&$0, $1, $2, toBetter: true, offer: true)
        },
        TriggerKind(.offerRedeemed, .downgrade, "A subscriber redeems an offer code for a lower plan.") {
            try changePlan(&$0, $1, $2, toBetter: false, offer: true)
        },
    ]

    private static func changePlan(
        _ state: inout StoreState, _ scene: TriggerScene, _ start: Int64, toBetter: Bool, offer: Bool
    ) throws -> Int64 {
        try TriggerPlay.withPlans(&state, scene, change: offer ? lendOffer : { _ in }) { state in
            let plans = try TriggerPlay.plans(state, scene)
            let id = try TriggerPlay.subscription(&state, scene, start, better: !toBetter)
            try state.changePlan(
                id, to: toBetter ? plans.better.productId : plans.basic.productId, offerKind: offer ? .code : nil,
                now: start)
            return start
        }
    }

    private static func lendOffer(_ product: inout ProductRecord) {
        if !product.offers.contains(where: { $0.kind == .code }) { product.offers.append(StoreState.triggerOffer) }
    }

    private static let renewing = [
        TriggerKind(.didRenew, nil, "A subscription that was bought a period ago renews.") {
            try TriggerPlay.passTime(&$0, try TriggerPlay.subscription(&$0, $1, $2, reusing: false))
        },
        TriggerKind(.didRenew, .billingRecovery, "A renewal's payment fails, then goes through.") {
            let (id, date) = try TriggerPlay.failedRenewal(&$0, $1, $2)
            try $0.setPaymentFails(id, false, now: date)
            return date
        },
        TriggerKind(.expired, .voluntary, "A subscription whose auto-renewal was turned off comes to its end.") {
            let id = try TriggerPlay.subscription(&$0, $1, $2, reusing: false)
            try $0.setAutoRenew(id, false, now: $2)
            return try TriggerPlay.passTime(&$0, id)
        },
        TriggerKind(.expired, .billingRetry, "A renewal's payment fails for 60 days.") { state, scene, start in
            try TriggerPlay.with(gracePeriod: false, &state, scene) { state in
                let (id, _) = try TriggerPlay.failedRenewal(&state, scene, start)
                return try TriggerPlay.passTime(&state, id)
            }
        },
        TriggerKind(.expired, .priceIncrease, "A subscriber does not agree to a higher price.") {
            let id = try TriggerPlay.subscription(&$0, $1, $2, reusing: false)
            try TriggerPlay.askForPrice(&$0, id, now: $2)
            return try TriggerPlay.passTime(&$0, id)
        },
        TriggerKind(.expired, .productNotForSale, "A subscription would renew, but is not sold any more.") {
            state, scene, start in
            let id = try TriggerPlay.subscription(&state, scene, start, reusing: false)
            return try TriggerPlay.withPlans(&state, scene, change: { $0.isForSale = false }) {
                try TriggerPlay.passTime(&$0, id)
            }
        },
        TriggerKind(.expired, nil, "A subscription ends for another reason.") {
            let id = try TriggerPlay.subscription(&$0, $1, $2, reusing: false)
            guard let record = $0.subscriptions[id] else { throw TriggerPlay.missing("subscription", $1) }
            $0.expire(record, .other, nil, now: record.renewalDate)
            return record.renewalDate
        },
    ]

    private static let failing = [
        TriggerKind(.didFailToRenew, .gracePeriod, "A renewal's payment fails, and the app grants a grace period.") {
            state, scene, start in
            try TriggerPlay.with(gracePeriod: true, &state, scene) {
                try TriggerPlay.failedRenewal(&$0, scene, start).date
            }
        },
        TriggerKind(.didFailToRenew, nil, "A renewal's payment fails, and the app grants no grace period.") {
            state, scene, start in
            try TriggerPlay.with(gracePeriod: false, &state, scene) {
                try TriggerPlay.failedRenewal(&$0, scene, start).date
            }
        },
        TriggerKind(.gracePeriodExpired, nil, "A renewal's payment fails until the grace period is over.") {
            state, scene, start in
            try TriggerPlay.with(gracePeriod: true, &state, scene) { state in
                let (id, _) = try TriggerPlay.failedRenewal(&state, scene, start)
                return try TriggerPlay.passTime(&state, id)
            }
        },
    ]

    private static let prices = [
        TriggerKind(.priceIncrease, .pending, "A subscriber is asked to agree to a higher price.") {
            try TriggerPlay.askForPrice(&$0, try TriggerPlay.subscription(&$0, $1, $2), now: $2)
            return $2
        },
        TriggerKind(.priceIncrease, .accepted, "A subscriber agrees to a higher price.") {
            let id = try TriggerPlay.subscription(&$0, $1, $2)
            try TriggerPlay.askForPrice(&$0, id, now: $2)
            try $0.consentToPrice(id, true, now: $2)
            return $2
        },
    ]
}
