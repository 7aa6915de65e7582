import HTTPTypes

extension StoreState {
    /// Buys an auto-renewable subscription, changes its plan, or resubscribes.
    ///
    /// An account has one subscription in a group; a guest's every sale is a subscription of its own.
    ///
    /// - Throws: a ``Problem`` when the offer is not for this account, or the lineage is somebody else's.
    mutating func subscribe(_ purchase: Purchase, product: ProductRecord, now: Int64) throws -> PurchaseOutcome {
        if let lineage = purchase.originalTransactionId {
            return .bought(try continueLineage(lineage, purchase, product: product, now: now))
        }
        var current: SubscriptionRecord?
        if let id = ownSubscription(of: purchase, product: product) { current = try subscription(id, now: now) }
        let offer = try offer(of: purchase, product: product, current: current)
        guard let current, current.status != .expired, current.status != .revoked else {
            return .bought(begin(purchase, product: product, offer: offer, after: current, now: now))
        }
        if current.isRunning {
            return try changeRunning(current, purchase, product: product, offer: offer, now: now)
        }
        guard product.productId == current.productId, offer == nil, !current.paymentFails else {
            return .bought(begin(purchase, product: product, offer: offer, after: current, now: now))
        }
        recover(current.id, now: now)
        return .bought(try latestTransaction(of: current.id))
    }

    /// The transaction that a subscription stands at.
    func latestTransaction(of id: String) throws -> TransactionRecord {
        guard let record = subscriptions[id], let transaction = transactions[record.transactionId] else {
            throw Problem(.notFound, "no subscription \(id)")
        }
        return transaction
    }

    /// The account's own subscription in the product's group, running or over.
    func ownSubscription(of purchase: Purchase, product: ProductRecord) -> String? {
        guard !Self.isGuest(purchase.accountId) else { return nil }
        let group = Self.group(of: product)
        let key = DownloadRecord.key(purchase.bundleId, purchase.accountId, purchase.environment)
        for id in holdings[key, default: []].reversed() {
            guard let transaction = transactions[id], transaction.subscriptionGroupIdentifier == group,
                !transaction.isFamilyShared
            else { continue }
            return subscriptions[transaction.originalTransactionId]?.id
        }
        return nil
    }

    /// The first period, or the first after a lapse.
    private mutating func begin(
        _ purchase: Purchase, product: ProductRecord, offer: Offer?, after previous: SubscriptionRecord?, now: Int64
    ) -> TransactionRecord {
        let start = now / 1_000 * 1_000
        let billingDay = BillingCalendar.dayOfMonth(start)
        let transaction = addPeriod(
            NewPeriod(
                purchase: purchase, product: product, offer: offer,
                originalTransactionId: previous?.originalTransactionId, start: start, billingDay: billingDay), now: now)
        if !Self.isGuest(transaction.accountId) {
            _ = download(
                bundleId: purchase.bundleId, accountId: transaction.accountId, environment: purchase.environment,
                now: now)
        }
        var record = freshRecord(transaction, product: product)
        record.billingDay = billingDay
        record.setNextOffer(offer, periodsLeft: (offer?.periods ?? 1) - 1)
        record.renewalPrice = purchase.price ?? product.price(in: transaction.storefront).price
        if let previous {
            record.familyCopies = previous.familyCopies
            record.extensions = previous.extensions
            record.appAccountToken = purchase.appAccountToken ?? previous.appAccountToken
            if start - previous.renewalDate <= BillingCalendar.lapse {
                record.recentSubscriptionStartDate = previous.recentSubscriptionStartDate
            }
        }
        endIfPast(&record, now: now)
        put(record)
        let newCopies = shareSubscription(transaction, now: now)
        announce(
            .subscribed, previous == nil ? .initialBuy : .resubscribe, of: record.id, newCopies: newCopies, now: now)
        return transaction
    }

    /// A renewal of a lineage that a test made up: known or not, it is one period more.
    private mutating func continueLineage(
        _ id: String, _ purchase: Purchase, product: ProductRecord, now: Int64
    ) throws -> TransactionRecord {
        let previous = subscriptions[id]
        if let original = previous.map(\.bundleId) ?? transactions[id]?.bundleId {
            guard original == purchase.bundleId, previous?.environment ?? purchase.environment == purchase.environment,
                previous?.isFamilyShared != true
            else { throw Problem(.conflict, "originalTransactionId: not a subscription that can be renewed here") }
        }
        var purchase = purchase
        if let previous {
            purchase.accountId = previous.accountId
            purchase.appAccountToken = purchase.appAccountToken ?? previous.appAccountToken
        }
        let start = now / 1_000 * 1_000
        let transaction = addPeriod(
            NewPeriod(
                purchase: purchase, product: product, originalTransactionId: id, isRenewal: true, start: start,
                billingDay: BillingCalendar.dayOfMonth(start)), now: now)
        var record = freshRecord(transaction, product: product)
        record.billingDay = BillingCalendar.dayOfMonth(start)
        record.renewalPrice = purchase.price ?? product.price(in: transaction.storefront).price
        record.familyCopies = previous?.familyCopies ?? []
        record.extensions = previous?.extensions ?? []
        record.recentSubscriptionStartDate = previous?.recentSubscriptionStartDate ?? start
        endIfPast(&record, now: now)
        put(record)
        let newCopies = shareSubscription(transaction, now: now)
        announce(.didRenew, of: id, newCopies: newCopies, now: now)
        return transaction
    }

    /// A subscription as it stands right after a period was paid for.
    private func freshRecord(_ transaction: TransactionRecord, product: ProductRecord) -> SubscriptionRecord {
        let end = transaction.expiresDate ?? transaction.purchaseDate
        return SubscriptionRecord(
            originalTransactionId: transaction.originalTransactionId, bundleId: transaction.bundleId,
            subscriptionGroupIdentifier: Self.group(of: product), accountId: transaction.accountId,
            environment: transaction.environment, productId: product.productId, autoRenewProductId: product.productId,
            autoRenews: true, status: .active, recentSubscriptionStartDate: transaction.purchaseDate, renewalDate: end,
            transactionId: transaction.transactionId, appAccountToken: transaction.appAccountToken,
            renewalPrice: transaction.price ?? 0, currency: transaction.currency ?? product.currency, dueDate: end,
            advancedCommerceInfo: transaction.advancedCommerceInfo)
    }

    /// A sale whose end was put into the past is over: it does not renew month by month up to now.
    private func endIfPast(_ record: inout SubscriptionRecord, now: Int64) {
        guard record.renewalDate <= now else { return }
        record.status = .expired
        record.autoRenews = false
        record.expirationIntent = .cancelled
        record.dueDate = nil
    }
}
