import HTTPTypes

/// How a restore dates what it gives; sources disagree on what Apple does (apple-facts C18).
struct RestoreDates: Sendable {
    enum Source: String, Sendable, CaseIterable {
        case purchase
        case restore
    }

    /// `purchaseDate` of non-consumables; a subscription's period keeps its own.
    var purchaseDate = Source.restore
    /// The original purchase date in receipts; signed transactions keep the purchase's.
    var originalPurchaseDate = Source.purchase
}

extension StoreState {
    enum RestoreLimit {
        /// Purchases of one restore, the newest.
        static let purchases = 1_000
        /// Transactions of one further grant.
        static let grants = 100
    }

    /// `restoreCompletedTransactions` on a device: each purchase gets a further transaction, which this device has seen.
    ///
    /// Non-consumables and periods of auto-renewable subscriptions are restored, a family member's copies too; not what
    /// was refunded or revoked. The same device may restore again, and gets other ids again.
    ///
    /// - Throws: a ``Problem`` when the device, its account or the app is not there, or the store is full.
    mutating func restoreCompletedTransactions(
        on deviceId: String, bundleId: String, environment: StoreEnvironment, dates: RestoreDates = RestoreDates(),
        now: Int64
    ) throws -> [TransactionRecord] {
        let device = try devices.required(deviceId, "device")
        _ = try apps.required(bundleId, "app")
        guard !account(device.accountId).isDeleted else {
            throw Problem(.conflict, "the account \(device.accountId) was deleted")
        }
        let key = DownloadRecord.key(bundleId, device.accountId, environment)
        for id in Set(holdings[key, default: []].compactMap { transactions[$0]?.originalTransactionId }).sorted() {
            settle(id, now: now)
        }
        let purchases = holdings[key, default: []].compactMap { transactions[$0] }.filter { isRestorable($0) }
            .suffix(RestoreLimit.purchases)
        try requireRoom(for: purchases.count)
        if !Self.isGuest(device.accountId) {
            _ = download(bundleId: bundleId, accountId: device.accountId, environment: environment, now: now)
        }
        let date = now / 1_000 * 1_000
        return purchases.map { purchase in
            addTransaction(like: purchase, now: now) { row in
                row.deviceId = deviceId
                if row.type == .nonConsumable, dates.purchaseDate == .restore { row.purchaseDate = date }
                row.receiptOriginalPurchaseDate = dates.originalPurchaseDate == .restore ? date : nil
            }
        }
    }

    /// Apple grants a purchase again under other ids; everything else is as in the named transaction.
    ///
    /// - Parameters:
    ///   - deviceId: the device that sees it; nil for the one that saw the named transaction.
    ///   - count: how many further transactions, 1 to ``RestoreLimit/grants``.
    /// - Throws: a ``Problem`` when there is no such transaction or device, or Apple gives its type one id only.
    mutating func regrant(
        _ transactionId: String, on deviceId: String? = nil, count: Int = 1, now: Int64
    ) throws -> [TransactionRecord] {
        let source = try transactions.required(transactionId, "transaction")
        guard source.type == .nonConsumable || source.type == .autoRenewableSubscription else {
            throw Problem(.conflict, "\(transactionId) is \(source.type.rawValue): Apple gives it one transaction id")
        }
        if let deviceId {
            let device = try devices.required(deviceId, "device")
            guard device.accountId == source.accountId else {
                throw Problem(.conflict, "device: \(deviceId) is not a device of \(source.accountId)")
            }
        }
        guard (1...RestoreLimit.grants).contains(count) else {
            throw Problem(.badRequest, "count: 1 to \(RestoreLimit.grants)")
        }
        try requireRoom(for: count)
        return (0..<count).map { _ in
            addTransaction(like: source, now: now) { $0.deviceId = deviceId ?? source.deviceId }
        }
    }

    private func isRestorable(_ transaction: TransactionRecord) -> Bool {
        guard transaction.firstTransactionId == nil, !isRevoked(purchase: transaction.transactionId) else {
            return false
        }
        return transaction.type == .nonConsumable || transaction.type == .autoRenewableSubscription
    }

    private func requireRoom(for count: Int) throws(Problem) {
        guard transactions.count + count <= Limit.transactions else {
            throw Problem(.insufficientStorage, "the store keeps at most \(Limit.transactions) transactions")
        }
    }

    private mutating func addTransaction(
        like source: TransactionRecord, now: Int64, _ change: (inout TransactionRecord) -> Void
    ) -> TransactionRecord {
        var row = source
        row.transactionId = String(nextNumber(.transactionId))
        row.firstTransactionId = source.purchaseId
        row.receiptOriginalPurchaseDate = nil
        row.isFinished = false
        change(&row)
        put(row, now: now)
        return transactions[row.id] ?? row
    }
}
