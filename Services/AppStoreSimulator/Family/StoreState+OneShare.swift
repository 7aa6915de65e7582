import HTTPTypes

extension StoreState {
    /// Shares one purchase with one member of the buyer's family: ONE_TIME_CHARGE or SUBSCRIBED, about the member's copy.
    ///
    /// What a family gets by itself is in ``share(_:now:)``; this is for what was bought before it was shared, or whose
    /// sharing was stopped.
    ///
    /// - Parameters:
    ///   - transactionId: any of the purchase.
    ///   - lineItem: the copy's `webOrderLineItemId`; nil for what the app's copies have.
    /// - Returns: the member's copy.
    /// - Throws: a ``Problem`` when it is not there, cannot be shared, or the member has it.
    mutating func shareWithMember(
        _ transactionId: String, accountId: String, lineItem: AppRecord.FamilyLineItem? = nil, now: Int64
    ) throws -> TransactionRecord {
        let named = try transactions.required(transactionId, "transaction")
        settle(named.originalTransactionId, now: now)
        guard let transaction = transactions[named.purchaseId], isShared(transaction) else {
            throw Problem(.conflict, "\(transactionId) is not shared: a family's copy, a consumable, or not shareable")
        }
        guard !isRevoked(purchase: transactionId) else {
            throw Problem(.conflict, "the transaction \(transactionId) was refunded")
        }
        guard let member = family(of: transaction.accountId).first(where: { $0.id == accountId }) else {
            throw Problem(.conflict, "account: \(accountId) is not in the family of \(transaction.accountId)")
        }
        let sharers = copies(of: transactionId).filter { !isRevoked(purchase: $0) }
            .compactMap { transactions[$0]?.accountId }
        guard !sharers.contains(accountId) else { throw Problem(.conflict, "account: \(accountId) has it already") }
        guard sharers.count < FamilyLimit.others else {
            throw Problem(.conflict, "\(FamilyLimit.others) members of the family have it already")
        }
        let isSubscription = transaction.type == .autoRenewableSubscription
        if isSubscription {
            guard let record = subscriptions[transaction.originalTransactionId], record.isRunning,
                record.transactionId == transaction.transactionId
            else { throw Problem(.conflict, "\(transactionId) is not the period that runs") }
        }
        let id = give(
            transaction, to: member, purchaseDate: now / 1_000 * 1_000, lineItem: lineItem, now: now)
        if isSubscription { notify(.subscribed, .initialBuy, transactionId: id, now: now) }
        guard let copy = transactions[id] else { throw Problem(.notFound, "no product \(transaction.productId)") }
        return copy
    }

    /// The sharing of one purchase with one member ends: REVOKE that names the transaction.
    ///
    /// - Parameters:
    ///   - transactionId: of the member's copy, any that it has.
    ///   - scope: which of the copy's transactions carry the revocation.
    /// - Throws: a ``Problem`` when it is no copy, or was revoked or is over.
    mutating func stopSharing(_ transactionId: String, scope: RevocationScope = .namedTransaction, now: Int64) throws {
        let copy = try transactions.required(transactionId, "transaction")
        guard copy.isFamilyShared, let bought = copy.sharedFromTransactionId.flatMap({ transactions[$0] }) else {
            throw Problem(.conflict, "\(transactionId) is not a family member's")
        }
        settle(bought.originalTransactionId, now: now)
        guard !isRevoked(purchase: transactionId) else {
            throw Problem(.conflict, "the transaction \(transactionId) was revoked already")
        }
        if copy.type == .autoRenewableSubscription {
            guard let share = subscriptions[copy.originalTransactionId], share.transactionId == copy.purchaseId,
                !share.isOver
            else { throw Problem(.conflict, "\(transactionId) is not the period that runs") }
        }
        endShare(copy, scope: scope, now: now)
    }
}
