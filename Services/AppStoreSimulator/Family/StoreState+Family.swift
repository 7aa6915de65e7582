extension StoreState {
    enum FamilyLimit {
        /// The family members that a purchase is shared with (Apple: up to five); more get nothing.
        static let others = 5
    }

    /// Gives every other member of the buyer's family a copy of a purchase that is shared.
    ///
    /// Not for consumables. Subscriptions share each of their periods themselves and tell of it; copies of other
    /// purchases are told as ONE_TIME_CHARGE, as Apple does.
    mutating func share(_ transaction: TransactionRecord, now: Int64) {
        if transaction.type == .autoRenewableSubscription {
            _ = shareSubscription(transaction, now: now)
            return
        }
        for member in membersSharing(transaction) {
            give(transaction, to: member, purchaseDate: transaction.purchaseDate, now: now)
        }
    }

    /// Gives the family its part of a subscription's period, and its subscriptions the buyer's state.
    ///
    /// A product that is not shared takes the shares away that an earlier one gave.
    ///
    /// - Returns: transaction ids of shares that are new, not the next period of one.
    mutating func shareSubscription(_ transaction: TransactionRecord, now: Int64) -> Set<String> {
        guard let buyers = subscriptions[transaction.originalTransactionId] else { return [] }
        let members = membersSharing(transaction)
        var newCopies: Set<String> = []
        if members.isEmpty, !buyers.familyCopies.isEmpty {
            for id in buyers.familyCopies { revokeShare(id, reason: 0, now: now) }
        }
        for member in members {
            let known = buyers.familyCopies.first { subscriptions[$0]?.accountId == member.id }
            let copy = give(
                transaction, to: member, lineage: known, purchaseDate: transaction.purchaseDate, now: now)
            if known == nil { newCopies.insert(copy) }
        }
        return newCopies
    }

    /// Lets the shares of a subscription be where the buyer's is.
    mutating func followBuyer(_ buyers: SubscriptionRecord) {
        for id in buyers.familyCopies {
            guard var copy = subscriptions[id], copy.status != .revoked else { continue }
            copy.follow(buyers)
            put(copy)
        }
    }

    /// The copies that family members have of a purchase, of every state: the first transaction of each.
    ///
    /// - Parameter transactionId: of the buyer, any that the purchase has.
    func copies(of transactionId: String) -> [String] {
        guard let transaction = transactions[transactionId], !transaction.isFamilyShared,
            transaction.type != .consumable
        else { return [] }
        var candidates: [String] = []
        if transaction.type == .autoRenewableSubscription {
            for id in subscriptions[transaction.originalTransactionId]?.familyCopies ?? [] {
                candidates += lineages[id, default: []]
            }
        } else {
            for member in family(of: transaction.accountId) {
                candidates +=
                    holdings[
                        DownloadRecord.key(transaction.bundleId, member.id, transaction.environment), default: []]
            }
        }
        return candidates.compactMap { transactions[$0] }
            .filter { $0.sharedFromTransactionId == transaction.purchaseId && $0.firstTransactionId == nil }
            .map(\.transactionId)
    }

    /// The other members of an account's family.
    func family(of accountId: String) -> [AccountRecord] {
        guard let family = accounts[accountId]?.family else { return [] }
        return accounts.rows.values.filter { $0.family == family && $0.id != accountId && !$0.isDeleted }
            .sorted { $0.id < $1.id }
    }

    private func membersSharing(_ transaction: TransactionRecord) -> [AccountRecord] {
        guard isShared(transaction) else { return [] }
        return Array(family(of: transaction.accountId).prefix(FamilyLimit.others))
    }

    /// Whether a transaction is one that its buyer's family shares.
    func isShared(_ transaction: TransactionRecord) -> Bool {
        !transaction.isFamilyShared && transaction.type != .consumable
            && products[ProductRecord.key(transaction.bundleId, transaction.productId)]?.isFamilyShareable == true
    }

    /// Makes a member's copy: its own ids, no price, no account token; and the member's own subscription for it.
    ///
    /// - Parameters:
    ///   - lineage: the copy that this continues.
    ///   - lineItem: instead of what the app's copies have; a copy that continues another has what that has.
    /// - Returns: its transaction id.
    @discardableResult
    mutating func give(
        _ transaction: TransactionRecord, to member: AccountRecord, lineage: String? = nil, purchaseDate: Int64,
        lineItem: AppRecord.FamilyLineItem? = nil, now: Int64
    ) -> String {
        let purchase = Purchase(
            bundleId: transaction.bundleId, productId: transaction.productId, environment: transaction.environment,
            accountId: member.id, quantity: transaction.quantity, originalTransactionId: lineage)
        guard let product = products[ProductRecord.key(transaction.bundleId, transaction.productId)] else { return "" }
        var copy = makeTransaction(purchase, product: product, now: now)
        copy.purchaseDate = purchaseDate
        let earlier = lineage.flatMap { lineages[$0]?.first }.flatMap { transactions[$0] }
        copy.originalPurchaseDate = earlier?.originalPurchaseDate ?? purchaseDate
        copy.isFamilyShared = true
        copy.sharedFromTransactionId = transaction.transactionId
        copy.price = nil
        copy.currency = nil
        copy.expiresDate = transaction.expiresDate
        copy.isRenewal = transaction.isRenewal && lineage != nil
        copy.subscriptionGroupIdentifier = transaction.subscriptionGroupIdentifier
        let isSubscription = transaction.type == .autoRenewableSubscription
        let hasLineItem =
            earlier.map { $0.webOrderLineItemId != nil }
            ?? ((lineItem ?? apps[copy.bundleId]?.familyWebOrderLineItem) != AppRecord.FamilyLineItem.none)
        if isSubscription, hasLineItem { copy.webOrderLineItemId = Self.webOrderLineItemId(of: copy.transactionId) }
        _ = download(
            bundleId: copy.bundleId, accountId: member.id, environment: copy.environment, now: now)
        put(copy, now: now)
        if isSubscription {
            keepShare(copy, of: transaction)
        } else {
            notify(.oneTimeCharge, transactionId: copy.transactionId, now: now)
        }
        return copy.transactionId
    }

    /// The member's subscription: a new one, or the next period of the one that was.
    private mutating func keepShare(_ copy: TransactionRecord, of transaction: TransactionRecord) {
        guard var buyers = subscriptions[transaction.originalTransactionId] else { return }
        var share = buyers
        share.originalTransactionId = copy.originalTransactionId
        share.accountId = copy.accountId
        share.isFamilyShared = true
        share.familyCopies = []
        share.extensions = []
        share.recentSubscriptionStartDate =
            subscriptions[copy.originalTransactionId]?.recentSubscriptionStartDate ?? copy.purchaseDate
        share.transactionId = copy.transactionId
        share.follow(buyers)
        put(share)
        guard !buyers.familyCopies.contains(share.id) else { return }
        buyers.familyCopies.append(share.id)
        put(buyers)
    }
}

extension SubscriptionRecord {
    /// Takes over from the buyer what a family member's share has in common with it.
    ///
    /// It does nothing by itself, has no
    /// price and no offers, and its payments do not fail.
    mutating func follow(_ buyers: SubscriptionRecord) {
        productId = buyers.productId
        autoRenewProductId = buyers.autoRenewProductId
        autoRenews = buyers.autoRenews
        status = buyers.status
        expirationIntent = buyers.expirationIntent
        gracePeriodExpiresDate = buyers.gracePeriodExpiresDate
        billingRetryEndsDate = buyers.billingRetryEndsDate
        renewalDate = buyers.renewalDate
        priceIncrease = nil
        setNextOffer(nil, periodsLeft: 0)
        eligibleWinBackOfferIds = []
        appAccountToken = nil
        paymentFails = false
        dueDate = nil
    }
}
