/// The machine from its journal, and back.
extension QueueMachine {
    /// Takes up what a journal holds; before ``start()``.
    mutating func replay(_ record: JournalRecord) {
        switch record {
        case .intent(let intent): intents.add(intent)
        case .intentEnded(let id, let state): intents.end(id, state)
        // An earlier version wrote it as anybody's; the store has it.
        case .paid(let transaction, _, .unknown) where transaction.isForAskerOnly: break
        case .paid(let transaction, let intent, let buyer):
            if let intent { intents.end(intent, .paid(transaction.id)) }
            let key = PurchaseKey(transaction)
            if purchases[key] != nil {
                purchases[key]?.transaction = transaction
                purchases[key]?.buyer = buyer
            } else if !finished.contains(key) {
                add(TrackedPurchase(transaction: transaction, buyer: buyer))
            }
        case .claimed(let key, let account): purchases[key]?.buyer = .account(account)
        case .answered(let key): purchases[key]?.phase = .answered(account: nil)
        case .finished(let key):
            remove(key)
            finished.add(key)
        case .unknown: unknownRecords.append(record)
        }
    }

    /// All that a new journal has to hold.
    var records: [JournalRecord] {
        var records = unknownRecords
        records += finished.newest.map { .finished($0) }
        records += intents.all.map { .intent($0) }
        for key in order {
            guard let purchase = purchases[key], !purchase.isForRestoreOnly else { continue }
            records.append(.paid(purchase.transaction, intent: nil, buyer: purchase.buyer))
            if case .answered = purchase.phase { records.append(.answered(key)) }
        }
        return records
    }
}
