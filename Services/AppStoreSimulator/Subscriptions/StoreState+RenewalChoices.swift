import HTTPTypes

extension StoreState {
    /// Switches auto-renewal on or off; nothing happens when it is so already.
    ///
    /// Switched off while billing is retried, the attempts end and the subscription with them.
    ///
    /// - Throws: a ``Problem`` when there is no such subscription, it is shared, or it is over.
    mutating func setAutoRenew(_ id: String, _ on: Bool, now: Int64) throws {
        var record = try ownedSubscription(id, now: now)
        guard !record.isOver else {
            throw Problem(.conflict, "the subscription \(id) is over: it must be bought again")
        }
        guard record.autoRenews != on else { return }
        record.autoRenews = on
        keep(record, now: now)
        announce(.didChangeRenewalStatus, on ? .autoRenewEnabled : .autoRenewDisabled, of: id, now: now)
        if !on, record.status == .billingRetry { expire(record, .cancelled, .voluntary, now: now) }
    }

    /// Lets a subscription's payments fail, or work again: then a subscription that waits for one recovers.
    ///
    /// - Throws: a ``Problem`` when there is no such subscription, or it is shared.
    mutating func setPaymentFails(_ id: String, _ fails: Bool, now: Int64) throws {
        var record = try ownedSubscription(id, now: now)
        record.paymentFails = fails
        put(record)
        if !fails { collect(id, now: now) }
    }

    /// An account can pay again: what waited for its payment recovers.
    mutating func collectPayments(of accountId: String, now: Int64) {
        guard account(accountId).canPay else { return }
        for bundleId in apps.rows.keys.sorted() {
            for environment in StoreEnvironment.allCases {
                let held = holdings[DownloadRecord.key(bundleId, accountId, environment), default: []]
                let lineages = Set(held.compactMap { transactions[$0]?.originalTransactionId })
                for id in lineages.sorted() {
                    settle(id, now: now)
                    collect(id, now: now)
                }
            }
        }
    }

    private mutating func collect(_ id: String, now: Int64) {
        guard let record = subscriptions[id], !record.isFamilyShared, !record.paymentFails,
            account(record.accountId).canPay
        else { return }
        recover(id, now: now)
    }

    /// The developer stops selling a product: nobody can buy it, and its subscriptions expire instead of renewing.
    mutating func stopSelling(bundleId: String, productId: String, now: Int64) throws {
        guard var product = products[ProductRecord.key(bundleId, productId)] else {
            throw Problem(.notFound, "\(bundleId) has no product \(productId)")
        }
        guard product.isForSale else { throw Problem(.conflict, "\(productId) is not for sale already") }
        product.isForSale = false
        put(product)
    }
}
