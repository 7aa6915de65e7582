import HTTPTypes

/// What choosing another product of the group means (App Store Connect, ranking subscriptions).
enum PlanChange: Sendable {
    case same
    /// To a higher service, or to an equal one with periods as long: at once.
    case now
    /// To a lower service, or to an equal one with other periods: at the next renewal.
    case atRenewal

    init(from old: ProductRecord, to new: ProductRecord) {
        if old.productId == new.productId {
            self = .same
        } else if new.level != old.level {
            self = new.level < old.level ? .now : .atRenewal
        } else {
            self = new.billedPeriod.isAsLong(as: old.billedPeriod) ? .now : .atRenewal
        }
    }
}

extension StoreState {
    /// Changes what a running subscription runs or renews to, as its subscriber would in the settings.
    ///
    /// - Throws: a ``Problem`` when it is not running or shared, or the product is not of its group or not for sale.
    @discardableResult
    mutating func changePlan(
        _ id: String, to productId: String, offerKind: Offer.Kind? = nil, offerIdentifier: String? = nil, now: Int64
    ) throws -> PurchaseOutcome {
        let record = try ownedSubscription(id, now: now)
        guard record.isRunning else { throw Problem(.conflict, "the subscription \(id) is not running") }
        guard let product = products[ProductRecord.key(record.bundleId, productId)],
            product.type == .autoRenewableSubscription, Self.group(of: product) == record.subscriptionGroupIdentifier
        else { throw Problem(.badRequest, "productId: no subscription of the same group") }
        guard product.isForSale else { throw Problem(.conflict, "\(productId) is not for sale") }
        guard account(record.accountId).canPay else {
            throw Problem(.conflict, "the payment of \(record.accountId) was declined")
        }
        var purchase = renewalPurchase(record, productId: productId, price: 0)
        purchase.price = nil
        purchase.currency = nil
        purchase.offerKind = offerKind
        purchase.offerIdentifier = offerIdentifier
        let offer = try offer(of: purchase, product: product, current: record)
        return try changeRunning(record, purchase, product: product, offer: offer, now: now)
    }

    /// A subscriber's own subscription, with everything done that was due.
    ///
    /// - Throws: a ``Problem`` when there is none, or it is a family member's share.
    mutating func ownedSubscription(_ id: String, now: Int64) throws -> SubscriptionRecord {
        let record = try subscription(id, now: now)
        guard !record.isFamilyShared else {
            throw Problem(.conflict, "\(id) is a family member's share: only its buyer can change it")
        }
        return record
    }

    /// A purchase in the group of a subscription that runs.
    mutating func changeRunning(
        _ record: SubscriptionRecord, _ purchase: Purchase, product: ProductRecord, offer: Offer?, now: Int64
    ) throws -> PurchaseOutcome {
        let current = products[ProductRecord.key(record.bundleId, record.productId)] ?? product
        switch PlanChange(from: current, to: product) {
        case .now:
            return .bought(upgrade(record, purchase, product: product, offer: offer, now: now))
        case .atRenewal:
            return changeAtRenewal(record, purchase, product: product, offer: offer, now: now)
        case .same:
            return try keepPlan(record, purchase, product: product, offer: offer, now: now)
        }
    }

    /// Starts a period of the better product now; what is left of the old one is refunded by Apple, in part, and the
    /// old transaction says `isUpgraded`, without a revocation.
    private mutating func upgrade(
        _ old: SubscriptionRecord, _ purchase: Purchase, product: ProductRecord, offer: Offer?, now: Int64
    ) -> TransactionRecord {
        changePurchase(old.transactionId, now: now) { $0.isUpgraded = true }
        let start = now / 1_000 * 1_000
        let billingDay = BillingCalendar.dayOfMonth(start)
        var purchase = purchase
        purchase.appAccountToken = purchase.appAccountToken ?? old.appAccountToken
        let transaction = addPeriod(
            NewPeriod(
                purchase: purchase, product: product, offer: offer,
                originalTransactionId: old.originalTransactionId, start: start, billingDay: billingDay), now: now)
        var record = old
        record.autoRenews = true
        record.billingDay = billingDay
        record.appAccountToken = purchase.appAccountToken
        record.priceIncrease = nil
        record.setNextOffer(offer, periodsLeft: (offer?.periods ?? 1) - 1)
        record.renewalPrice = purchase.price ?? product.price(in: transaction.storefront).price
        record.currency = transaction.currency ?? record.currency
        record.autoRenewProductId = product.productId
        record.continues(with: transaction)
        put(record)
        let newCopies = shareSubscription(transaction, now: now)
        announce(
            offer == nil ? .didChangeRenewalPref : .offerRedeemed, .upgrade, of: record.id, newCopies: newCopies,
            now: now)
        return transaction
    }

    /// Notes the product that the next period is for.
    private mutating func changeAtRenewal(
        _ old: SubscriptionRecord, _ purchase: Purchase, product: ProductRecord, offer: Offer?, now: Int64
    ) -> PurchaseOutcome {
        guard old.autoRenewProductId != product.productId || offer != nil || !old.autoRenews else {
            return .changesAtRenewal(old)
        }
        var record = old
        let storefront = transactions[record.transactionId]?.storefront ?? account(record.accountId).storefront
        let price = product.price(in: purchase.storefront ?? storefront)
        record.autoRenewProductId = product.productId
        record.autoRenews = true
        record.priceIncrease = nil
        record.renewalPrice = purchase.price ?? price.price
        record.currency = purchase.currency ?? price.currency
        record.setNextOffer(offer, periodsLeft: offer?.periods ?? 0)
        keep(record, now: now)
        if !old.autoRenews { announce(.didChangeRenewalStatus, .autoRenewEnabled, of: record.id, now: now) }
        announce(offer == nil ? .didChangeRenewalPref : .offerRedeemed, .downgrade, of: record.id, now: now)
        return .changesAtRenewal(record)
    }

    /// The product that runs was chosen again: a change that waited is undone, and it renews from now on.
    private mutating func keepPlan(
        _ old: SubscriptionRecord, _ purchase: Purchase, product: ProductRecord, offer: Offer?, now: Int64
    ) throws -> PurchaseOutcome {
        var record = old
        let transaction = try latestTransaction(of: old.id)
        let undoesChange = old.autoRenewProductId != product.productId
        record.autoRenews = true
        if undoesChange {
            record.autoRenewProductId = product.productId
            record.renewalPrice = product.price(in: transaction.storefront).price
            record.setNextOffer(nil, periodsLeft: 0)
        }
        if let offer { record.setNextOffer(offer, periodsLeft: offer.periods) }
        keep(record, now: now)
        if !old.autoRenews { announce(.didChangeRenewalStatus, .autoRenewEnabled, of: record.id, now: now) }
        if undoesChange { announce(.didChangeRenewalPref, of: record.id, now: now) }
        if offer != nil { announce(.offerRedeemed, of: record.id, now: now) }
        return undoesChange || offer != nil ? .changesAtRenewal(record) : .alreadyOwned(transaction)
    }
}

extension SubscriptionRecord {
    /// A period was paid for: what went wrong before is over.
    mutating func continues(with transaction: TransactionRecord) {
        let end = transaction.expiresDate ?? transaction.purchaseDate
        productId = transaction.productId
        transactionId = transaction.transactionId
        status = .active
        expirationIntent = nil
        gracePeriodExpiresDate = nil
        billingRetryEndsDate = nil
        renewalDate = end
        dueDate = end
    }
}
