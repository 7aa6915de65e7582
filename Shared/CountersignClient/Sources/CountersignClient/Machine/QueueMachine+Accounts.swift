/// Who is logged in, and what waits for whom.
extension QueueMachine {
    mutating func logIn(_ name: String, _ actions: inout [QueueAction]) {
        if name != account { forgetRestores() }
        account = name
        lacking.remove(name)
        for key in order {
            guard var purchase = purchases[key], purchase.phase == .waiting, !purchase.triedBy.contains(name),
                !purchase.triedBy.isEmpty
            else { continue }
            // What was left open for one account may be this one's.
            purchase.phase = .paid
            purchases[key] = purchase
        }
        mapLegacyNames(&actions)
        tellWaiting(&actions)
    }

    mutating func logOut() {
        account = nil
        forgetRestores()
    }

    /// What somebody restored is theirs alone, and the store has it when they ask again.
    private mutating func forgetRestores() {
        for key in order {
            guard var purchase = purchases[key] else { continue }
            if purchase.isForRestoreOnly, purchase.phase == .paid || purchase.phase == .waiting {
                remove(key)
            } else {
                purchase.restoredFor = nil
                purchase.isAbandoned = purchase.isForRestoreOnly
                purchases[key] = purchase
            }
        }
    }

    /// Tells the app of every purchase that has to wait for an account.
    func tellWaiting(_ actions: inout [QueueAction]) {
        for key in order { tellWaiting(key, &actions) }
    }

    func tellWaiting(_ key: PurchaseKey, _ actions: inout [QueueAction]) {
        guard isStarted, let purchase = purchases[key], purchase.phase == .paid, purchase.poster(account) == nil else {
            return
        }
        actions.append(.tell(.report(waitingReport(purchase))))
    }

    /// What is not finished, the oldest first.
    var pending: [PendingPurchase] {
        unread.map { transaction in
            PendingPurchase(
                transactionID: transaction.id, productID: transaction.productID, account: nil,
                outcome: .processing(.journal), attempts: 0)
        }
            + order.compactMap { key in
                guard let purchase = purchases[key] else { return nil }
                let isWaiting = purchase.phase == .paid && purchase.poster(account) == nil
                return PendingPurchase(
                    transactionID: key.id, productID: purchase.transaction.productID, account: purchase.buyer.account,
                    reference: purchase.reference, outcome: isWaiting ? .processing(purchase.wanted) : purchase.outcome,
                    attempts: purchase.attempts)
            }
    }
}
