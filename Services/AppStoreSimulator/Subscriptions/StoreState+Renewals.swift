extension StoreState {
    /// Something happens to a subscription by itself: it renews, fails, or one of its respites is over.
    ///
    /// Nothing happens before its due date, and what happens is dated then.
    mutating func subscriptionFallsDue(_ originalTransactionId: String, now: Int64) {
        guard let record = subscriptions[originalTransactionId], let due = record.dueDate, due <= now else { return }
        switch record.status {
        case .active: periodEnds(record, at: due)
        case .gracePeriod: graceEnds(record, at: due)
        case .billingRetry: retryEnds(record, at: due)
        case .expired, .revoked:
            var record = record
            record.dueDate = nil
            put(record)
        }
    }

    /// Puts a subscription back; its family's shares follow it.
    mutating func keep(_ record: SubscriptionRecord, now: Int64) {
        put(record)
        followBuyer(record)
    }

    // MARK: The end of a period

    private mutating func periodEnds(_ record: SubscriptionRecord, at now: Int64) {
        guard record.autoRenews else { return expire(record, .cancelled, .voluntary, now: now) }
        guard let product = products[ProductRecord.key(record.bundleId, record.autoRenewProductId)],
            product.isForSale
        else { return expire(record, .productNotForSale, .productNotForSale, now: now) }
        if let increase = record.priceIncrease, increase.effectiveDate <= now, !increase.hasConsent {
            return expire(record, .noConsentToPriceIncrease, .priceIncrease, now: now)
        }
        if record.environment == .sandbox, renewals(of: record.id) >= BillingCalendar.Limit.sandboxRenewals {
            return expire(record, .cancelled, .voluntary, now: now)
        }
        guard canPay(record) else { return fail(record, product: product, now: now) }
        renew(record, product: product, from: now, announcing: nil, now: now)
    }

    /// How often a subscription has renewed since it was last bought.
    private func renewals(of id: String) -> Int {
        lineages[id, default: []].reversed().compactMap { transactions[$0] }
            .filter { $0.firstTransactionId == nil }.prefix(while: \.isRenewal).count
    }

    private func canPay(_ record: SubscriptionRecord) -> Bool {
        let account = account(record.accountId)
        return !record.paymentFails && account.canPay && !account.isDeleted
    }

    /// Adds a period and tells of it.
    private mutating func renew(
        _ old: SubscriptionRecord, product: ProductRecord, from start: Int64,
        announcing subtype: NotificationSubtype?, now: Int64
    ) {
        var record = old
        if let increase = record.priceIncrease, increase.effectiveDate <= start {
            record.renewalPrice = increase.price
            record.priceIncrease = nil
        }
        record.billingDay = BillingCalendar.billingDay(record.billingDay, from: start)
        let transaction = addPeriod(
            NewPeriod(
                purchase: renewalPurchase(record, productId: product.productId, price: record.renewalPrice),
                product: product, offer: record.nextOffer, originalTransactionId: record.id, isRenewal: true,
                start: start, billingDay: record.billingDay), now: now)
        record.setNextOffer(record.nextOffer, periodsLeft: record.nextOfferPeriodsLeft - 1)
        record.continues(with: transaction)
        put(record)
        let newCopies = shareSubscription(transaction, now: now)
        announce(.didRenew, subtype, of: record.id, newCopies: newCopies, now: now)
    }

    // MARK: Failure

    /// The payment failed: grace when the app grants it, and billing attempts for 60 days.
    private mutating func fail(_ old: SubscriptionRecord, product: ProductRecord, now: Int64) {
        let month = sandboxMonth(old.bundleId, old.environment)
        var record = old
        record.expirationIntent = .billingError
        record.billingRetryEndsDate = now + BillingCalendar.scaled(BillingCalendar.billingRetry, sandboxMonth: month)
        guard var grace = apps[record.bundleId]?.gracePeriod.length else {
            record.status = .billingRetry
            record.dueDate = record.billingRetryEndsDate
            keep(record, now: now)
            return announce(.didFailToRenew, of: record.id, now: now)
        }
        if product.billedPeriod.isShort { grace = min(grace, BillingCalendar.weeklyGrace) }
        record.status = .gracePeriod
        record.gracePeriodExpiresDate = now + BillingCalendar.scaled(grace, sandboxMonth: month)
        record.dueDate = record.gracePeriodExpiresDate
        keep(record, now: now)
        announce(.didFailToRenew, .gracePeriod, of: record.id, now: now)
    }

    private mutating func graceEnds(_ old: SubscriptionRecord, at now: Int64) {
        guard old.autoRenews else { return expire(old, .cancelled, .voluntary, now: now) }
        guard !canPay(old) else { return recover(old.id, now: now) }
        var record = old
        record.status = .billingRetry
        record.gracePeriodExpiresDate = nil
        record.dueDate = record.billingRetryEndsDate
        keep(record, now: now)
        announce(.gracePeriodExpired, of: record.id, now: now)
    }

    private mutating func retryEnds(_ record: SubscriptionRecord, at now: Int64) {
        guard !canPay(record) else { return recover(record.id, now: now) }
        expire(record, .billingError, .billingRetry, now: now)
    }

    /// A payment went through after all.
    ///
    /// Within grace the old period goes on; later a new one begins.
    mutating func recover(_ id: String, now: Int64) {
        guard let record = subscriptions[id], record.status == .gracePeriod || record.status == .billingRetry else {
            return
        }
        guard let product = products[ProductRecord.key(record.bundleId, record.autoRenewProductId)],
            product.isForSale
        else { return expire(record, .productNotForSale, .productNotForSale, now: now) }
        let start = record.status == .gracePeriod ? record.renewalDate : now / 1_000 * 1_000
        renew(record, product: product, from: start, announcing: .billingRecovery, now: now)
    }

    /// It is over.
    mutating func expire(
        _ old: SubscriptionRecord, _ intent: SubscriptionRecord.ExpirationIntent, _ subtype: NotificationSubtype?,
        now: Int64
    ) {
        var record = old
        record.status = .expired
        record.expirationIntent = intent
        record.autoRenews = false
        record.autoRenewProductId = record.productId
        record.gracePeriodExpiresDate = nil
        record.billingRetryEndsDate = nil
        record.setNextOffer(nil, periodsLeft: 0)
        if intent != .noConsentToPriceIncrease { record.priceIncrease = nil }
        record.eligibleWinBackOfferIds = winBackOffers(bundleId: record.bundleId, productId: record.productId)
        record.dueDate = nil
        keep(record, now: now)
        announce(.expired, subtype, of: record.id, now: now)
    }
}
