import HTTPTypes

extension StoreState {
    enum RefundLimit {
        /// All of the price, in thousandths of a per cent.
        static let all: Int64 = 100_000
    }

    /// Refunds the purchase of a transaction: REFUND that names it, and REVOKE for what the family had of the purchase.
    ///
    /// The running period of a subscription ends by it: status 5, revoked, which Apple's status page gives for refunds as
    /// for lost family access. A period that is over is refunded without a change of the subscription.
    ///
    /// - Parameters:
    ///   - percentage: thousandths of a per cent, 100,000 is all; nil for all. Consumables are refunded in full only
    ///     (apple-facts C11).
    ///   - reason: 0 other, 1 an issue with the app.
    ///   - scope: which transactions of the purchase carry the revocation; members' copies are treated alike.
    /// - Throws: a ``Problem`` when it cannot be refunded.
    mutating func refund(
        _ transactionId: String, percentage: Int64?, reason: Int64, scope: RevocationScope = .namedTransaction,
        now: Int64
    ) throws {
        let transaction = try refundable(transactionId, now: now)
        let share = percentage ?? RefundLimit.all
        guard (1...RefundLimit.all).contains(share) else {
            throw Problem(.badRequest, "percentage: 1 to \(RefundLimit.all), thousandths of a per cent")
        }
        guard (0...1).contains(reason) else { throw Problem(.badRequest, "reason: 0 or 1") }
        guard share == RefundLimit.all || transaction.type != .consumable else {
            throw Problem(.conflict, "percentage: a consumable is refunded in full only")
        }
        for id in revocable(transactionId, scope) {
            guard var row = transactions[id] else { continue }
            row.revocationDate = now / 1_000 * 1_000
            row.revocationReason = reason
            row.revocationType = share == RefundLimit.all ? .refundFull : .refundProrated
            row.revocationPercentage = share
            put(row, now: now)
        }
        decide(transactionId, .granted, now: now)
        if var record = subscriptions[transaction.originalTransactionId],
            record.transactionId == transaction.purchaseId, record.isRunning
        {
            record.status = .revoked
            record.autoRenews = false
            record.expirationIntent = nil
            record.gracePeriodExpiresDate = nil
            record.billingRetryEndsDate = nil
            record.dueDate = nil
            put(record)
        }
        notify(.refund, transactionId: transactionId, now: now)
        for copy in copies(of: transactionId) { revokeRefundedCopy(copy, reason: reason, scope: scope, now: now) }
    }

    /// Takes a refund back, after a dispute: REFUND_REVERSED that names a transaction of the purchase.
    ///
    /// What was revoked comes back; the renewal date is the one it was, and auto-renewal stays off until the customer switches it on.
    ///
    /// - Throws: a ``Problem`` when nothing was refunded.
    mutating func reverseRefund(_ transactionId: String, now: Int64) throws {
        let transaction = try transactions.required(transactionId, "transaction")
        let refunded = transactionIds(ofPurchase: transactionId).compactMap { transactions[$0] }.filter(\.isRefunded)
        guard let revocationDate = refunded.first?.revocationDate else {
            throw Problem(.conflict, "the transaction \(transactionId) was not refunded")
        }
        for var row in refunded {
            row.forgetRevocation()
            put(row, now: now)
        }
        decide(transactionId, .reversed, now: now)
        restore(transaction, now: now)
        notify(.refundReversed, transactionId: transactionId, now: now)
        let members = Set(family(of: transaction.accountId).map(\.id))
        for copy in copies(of: transactionId) where transactions[copy]?.revocationDate == revocationDate {
            restoreCopy(copy, members: members, now: now)
        }
    }

    /// A transaction that can be refunded.
    ///
    /// - Throws: a ``Problem`` when there is none, it is a family member's, or it was refunded.
    mutating func refundable(_ transactionId: String, now: Int64) throws -> TransactionRecord {
        guard let original = transactions[transactionId]?.originalTransactionId else {
            throw Problem(.notFound, "no transaction \(transactionId)")
        }
        settle(original, now: now)
        let transaction = try transactions.required(transactionId, "transaction")
        guard !transaction.isFamilyShared else {
            throw Problem(.conflict, "\(transactionId) is a family member's: only its buyer can have a refund")
        }
        guard !isRevoked(purchase: transactionId) else {
            throw Problem(.conflict, "the transaction \(transactionId) was refunded already")
        }
        return transaction
    }

    /// The transactions of a purchase that say that it was revoked, when the notification names this one.
    func revocable(_ transactionId: String, _ scope: RevocationScope) -> [String] {
        scope == .namedTransaction ? [transactionId] : transactionIds(ofPurchase: transactionId)
    }

    private mutating func revokeRefundedCopy(_ id: String, reason: Int64, scope: RevocationScope, now: Int64) {
        guard let copy = transactions[id] else { return }
        if let share = subscriptions[copy.originalTransactionId], share.transactionId == id, !share.isOver {
            return revokeShare(share.id, reason: reason, scope: scope, now: now)
        }
        revokeCopy(id, reason: reason, scope: scope, now: now)
    }

    /// The subscription runs on to its old end, or is over when that has passed.
    private mutating func restore(_ transaction: TransactionRecord, now: Int64) {
        guard var record = subscriptions[transaction.originalTransactionId], record.status == .revoked,
            record.transactionId == transaction.purchaseId
        else { return }
        if record.renewalDate > now {
            record.status = .active
            record.dueDate = record.renewalDate
        } else {
            record.status = .expired
            record.expirationIntent = .cancelled
        }
        put(record)
    }

    /// A member that is still in the family gets the copy back.
    ///
    /// Apple's notification for regained family access is that
    /// of a new one: SUBSCRIBED/RESUBSCRIBE, or ONE_TIME_CHARGE.
    private mutating func restoreCopy(_ id: String, members: Set<String>, now: Int64) {
        guard let copy = transactions[id], copy.revocationType == .familyRevoke, copy.sharingEndedDate == nil,
            members.contains(copy.accountId)
        else { return }
        for id in transactionIds(ofPurchase: id) {
            guard var row = transactions[id], row.revocationDate != nil else { continue }
            row.forgetRevocation()
            put(row, now: now)
        }
        guard copy.type == .autoRenewableSubscription else {
            return notify(.oneTimeCharge, transactionId: id, now: now)
        }
        guard var share = subscriptions[copy.originalTransactionId], share.transactionId == id,
            let origin = copy.sharedFromTransactionId.flatMap({ transactions[$0]?.originalTransactionId }),
            let buyers = subscriptions[origin]
        else { return }
        share.follow(buyers)
        put(share)
        if share.isRunning { notify(.subscribed, .resubscribe, transactionId: id, now: now) }
    }
}

extension TransactionRecord {
    /// Whether the buyer had the money back.
    var isRefunded: Bool { revocationType == .refundFull || revocationType == .refundProrated }

    fileprivate mutating func forgetRevocation() {
        revocationDate = nil
        revocationReason = nil
        revocationType = nil
        revocationPercentage = nil
    }
}
