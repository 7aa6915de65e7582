import HTTPTypes

extension StoreState {
    /// A subscription goes on under another original transaction id, as Apple's did in 2025, there and back.
    ///
    /// The period that runs, or ran last, is signed under it from now on, with the `transactionId` and `webOrderLineItemId`
    /// that it has; so is what renews from it. Earlier periods stay where they are. Nothing is told.
    ///
    /// - Parameter target: the other id; nil for one that nothing has yet.
    /// - Returns: the other id.
    /// - Throws: a ``Problem`` when there is no such subscription, or one under the other id.
    mutating func move(_ id: String, to target: String?, now: Int64) throws -> String {
        try FieldCheck.digits(target, "to")
        var record = try subscription(id, now: now)
        let target = target ?? String(nextNumber(.transactionId))
        guard subscriptions[target] == nil else { throw Problem(.conflict, "to: there is a subscription \(target)") }
        for transactionId in transactionIds(ofPurchase: record.transactionId) {
            guard var transaction = transactions[transactionId] else { continue }
            transaction.originalTransactionId = target
            put(transaction, now: now)
        }
        removeSubscription(id)
        record.originalTransactionId = target
        put(record)
        return target
    }
}

/// The body of `POST subscriptions/{id}/move`.
struct MoveBody: Decodable, Sendable {
    var to: String?
}
