import HTTPTypes

extension StoreState {
    /// The group of subscriptions whose product names none: such an app has one group.
    static let defaultSubscriptionGroup = "20000001"

    /// The subscription's period that somebody pays for next.
    struct NewPeriod {
        var purchase: Purchase
        var product: ProductRecord
        /// What lowers its price.
        var offer: Offer?
        /// The lineage that it continues; nil for a new one.
        var originalTransactionId: String?
        var isRenewal = false
        /// Milliseconds since 1970.
        var start: Int64
        /// See ``SubscriptionRecord/billingDay``.
        var billingDay: Int?
    }

    /// How long a month of this app takes; nil for a real one.
    func sandboxMonth(_ bundleId: String, _ environment: StoreEnvironment) -> Int64? {
        environment == .sandbox ? apps[bundleId]?.sandboxMonth : nil
    }

    /// Writes down a period: the transaction, not yet what it means for the subscription.
    mutating func addPeriod(_ period: NewPeriod, now: Int64) -> TransactionRecord {
        var purchase = period.purchase
        purchase.originalTransactionId = period.originalTransactionId
        var transaction = makeTransaction(purchase, product: period.product, now: period.start)
        transaction.webOrderLineItemId = Self.webOrderLineItemId(of: transaction.transactionId)
        transaction.subscriptionGroupIdentifier = Self.group(of: period.product)
        transaction.quantity = 1
        transaction.isRenewal = period.isRenewal
        if let first = lineages[transaction.originalTransactionId]?.first, let original = transactions[first] {
            transaction.originalPurchaseDate = original.originalPurchaseDate
        }
        if let offer = period.offer {
            transaction.price = offer.periodPrice
            transaction.offer = TransactionRecord.AppliedOffer(
                kind: offer.kind, identifier: offer.identifier, discount: offer.discount, period: offer.period)
        }
        transaction.expiresDate =
            purchase.expiresDate
            ?? BillingCalendar.end(
                of: period.offer?.period ?? period.product.billedPeriod, from: transaction.purchaseDate,
                billingDay: period.billingDay,
                sandboxMonth: sandboxMonth(purchase.bundleId, purchase.environment))
        put(transaction, now: now)
        return transactions[transaction.id] ?? transaction
    }

    static func group(of product: ProductRecord) -> String {
        product.subscriptionGroupIdentifier ?? defaultSubscriptionGroup
    }

    /// What a renewal of a subscription buys: the same account, storefront and token as before.
    func renewalPurchase(_ record: SubscriptionRecord, productId: String, price: Int64) -> Purchase {
        let last = transactions[record.transactionId]
        return Purchase(
            bundleId: record.bundleId, productId: productId, environment: record.environment,
            accountId: record.accountId, appAccountToken: record.appAccountToken, price: price,
            currency: record.currency, storefront: last?.storefront, storefrontId: last?.storefrontId,
            advancedCommerceInfo: record.advancedCommerceInfo)
    }

    /// A subscription by its id, with everything done that was due by now.
    ///
    /// - Throws: a ``Problem`` when there is none.
    mutating func subscription(_ id: String, now: Int64) throws -> SubscriptionRecord {
        settle(id, now: now)
        let record = try subscriptions.required(id, "subscription")
        return record
    }

    /// Lets happen to a subscription what was due by now, each at its instant: a clock may run ahead of the timeline.
    mutating func settle(_ id: String, now: Int64) {
        while let due = subscriptions[id]?.dueDate, due <= now {
            subscriptionFallsDue(id, now: due)
            // It moves on each time; if it ever did not, this would not end.
            guard subscriptions[id]?.dueDate != due else { return }
        }
    }

    /// Tells what happened to a subscription, for the subscriber and for the family that shares it.
    ///
    /// - Parameter newCopies: transaction ids of shares that came about now: for them it is the beginning.
    mutating func announce(
        _ type: NotificationType, _ subtype: NotificationSubtype? = nil, of id: String,
        newCopies: Set<String> = [], now: Int64
    ) {
        guard let record = subscriptions[id] else { return }
        notify(type, subtype, transactionId: record.transactionId, now: now)
        for copyId in record.familyCopies {
            guard let copy = subscriptions[copyId], copy.status != .revoked else { continue }
            if newCopies.contains(copy.transactionId) {
                notify(.subscribed, .initialBuy, transactionId: copy.transactionId, now: now)
            } else {
                notify(type, subtype, transactionId: copy.transactionId, now: now)
            }
        }
    }
}

extension Offer {
    /// What one discounted period costs; milliunits.
    var periodPrice: Int64 { discount == .freeTrial ? 0 : price }

    /// How many discounted periods there are; more than one only for pay as you go.
    var periods: Int { discount == .payAsYouGo ? max(periodCount, 1) : 1 }
}

extension SubscriptionRecord {
    /// Whether the subscriber is served: within a paid period or in grace.
    var isRunning: Bool { status == .active || status == .gracePeriod }

    /// Whether something still happens by itself.
    var isOver: Bool { status == .expired || status == .revoked }

    /// Sets the offer of the periods to come.
    mutating func setNextOffer(_ offer: Offer?, periodsLeft: Int) {
        nextOffer = periodsLeft > 0 ? offer : nil
        nextOfferPeriodsLeft = nextOffer == nil ? 0 : periodsLeft
    }
}
