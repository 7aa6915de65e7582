import HTTPTypes

/// One purchase has one transaction or several: Apple gives it further ids when it is restored or granted again
/// (apple-facts C18).
extension StoreState {
    /// The ids of all transactions of the purchase that one of them names, oldest first; none for an unknown id.
    func transactionIds(ofPurchase transactionId: String) -> [String] {
        guard let first = transactions[transactionId]?.purchaseId else { return [] }
        return [first] + furtherTransactions[first, default: []]
    }

    /// Whether a purchase was refunded, or taken from a family member, by whichever of its transactions says so.
    func isRevoked(purchase transactionId: String) -> Bool {
        transactionIds(ofPurchase: transactionId).contains { transactions[$0]?.revocationDate != nil }
    }

    /// Changes every transaction of a purchase and of the copies that family members have of it, unless it is revoked.
    mutating func changePurchase(
        _ transactionId: String, now: Int64, _ change: (inout TransactionRecord) -> Void
    ) {
        let purchases = transactionIds(ofPurchase: transactionId).prefix(1) + copies(of: transactionId)
        for id in purchases.flatMap({ transactionIds(ofPurchase: $0) }) {
            guard var row = transactions[id], row.revocationDate == nil else { continue }
            change(&row)
            put(row, now: now)
        }
    }

    /// Whether a transaction belongs into what a device shows its apps.
    ///
    /// Of a purchase these are the transactions that were bought or restored on the device; where there is none, the
    /// first, as in a receipt that was refreshed.
    ///
    /// - Parameter deviceId: nil for a device that is not registered.
    func isSeen(_ transaction: TransactionRecord, on deviceId: String?) -> Bool {
        guard let further = furtherTransactions[transaction.purchaseId] else { return true }
        if transaction.deviceId == deviceId { return true }
        return transaction.firstTransactionId == nil && !further.contains { transactions[$0]?.deviceId == deviceId }
    }

    /// What StoreKit shows an app on a device, oldest first.
    ///
    /// - Throws: a ``Problem`` when there is no such device.
    func transactions(
        on deviceId: String, bundleId: String, environment: StoreEnvironment
    ) throws(Problem) -> [TransactionRecord] {
        let device = try devices.required(deviceId, "device")
        return holdings[DownloadRecord.key(bundleId, device.accountId, environment), default: []]
            .compactMap { transactions[$0] }.filter { $0.isInReceipt && isSeen($0, on: deviceId) }
    }
}
