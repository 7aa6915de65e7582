#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Whose a transaction is that names its buyer otherwise than by an intent, and what the store gives once more.
extension QueueMachine {
    /// Whose a transaction is, and the intent that it was bought with, where one is known.
    func whose(_ transaction: StoreTransaction, _ ordered: UUID?) -> (buyer: Buyer, intent: UUID?) {
        if let buyer = named(transaction) { return (buyer, nil) }
        return intents.buyer(of: transaction, ordered: ordered)
    }

    /// Whom a name of an earlier version says; nil where there is none, or where Apple's token says it.
    ///
    /// It comes before every intent: an order of this version has a UUID for a name.
    func named(_ transaction: StoreTransaction) -> Buyer? {
        guard transaction.accountToken == nil, let name = transaction.username else { return nil }
        let lengths = 1...QueueLimits.nameLengthMaximum
        guard let account = legacyAccount?(name), lengths.contains(account.count) else { return .legacy }
        return .account(account)
    }

    /// Asks again whose the names are that nobody knew.
    mutating func mapLegacyNames(_ actions: inout [QueueAction]) {
        for key in order {
            guard let purchase = purchases[key], purchase.buyer == .legacy,
                let buyer = named(purchase.transaction), let account = buyer.account
            else { continue }
            purchases[key]?.buyer = buyer
            if !purchase.isForRestoreOnly { actions.append(.write(.claimed(key, account: account))) }
        }
    }

    func occasion(of intent: UUID?) -> PurchaseReport.Occasion {
        intent.map { ordered.contains($0) } == true ? .bought : .recovered
    }

    /// The payment sheet gave a transaction that it did not sell: it is posted again, so that who pressed the button is told the
    /// truth about it.
    mutating func giveAgain(_ transaction: StoreTransaction, to asker: String, _ actions: inout [QueueAction]) {
        let key = PurchaseKey(transaction)
        guard purchases[key] == nil, finished.contains(key) else {
            see(transaction, nil, &actions)
            guard var purchase = purchases[key] else { return }
            purchase.repeatPost()
            purchases[key] = purchase
            if case .answered(let poster) = purchase.phase {
                actions.append(.inform(purchase.report(by: poster, isFinished: true)))
            } else if purchase.poster(account) == nil {
                actions.append(.inform(waitingReport(purchase)))
            }
            return
        }
        guard account == asker else { return }
        // Without a token it is nobody's in particular: an intent that is open now did not buy it.
        let buyer = transaction.accountToken == nil ? named(transaction) ?? .unknown : whose(transaction, nil).buyer
        var purchase = TrackedPurchase(transaction: transaction, buyer: buyer)
        purchase.isForRestoreOnly = true
        if purchase.poster(account) == nil {
            // It was delivered long ago, to whom this journal or a name says.
            if buyer.account != nil { purchase.outcome = .belongsToAnother }
            actions.append(.finish(key, transaction))
            actions.append(
                .inform(
                    buyer.account == nil ? waitingReport(purchase) : purchase.report(by: asker, isFinished: true)))
            return
        }
        add(purchase)
    }

    /// A report of a purchase that waits for somebody.
    func waitingReport(_ purchase: TrackedPurchase) -> PurchaseReport {
        var told = purchase
        told.outcome = .processing(purchase.wanted)
        return told.report(by: purchase.buyer.account, isFinished: false)
    }

    /// Tries what somebody asks for at once, unless the server said when.
    mutating func retry(_ id: String) {
        for key in order where key.id == id {
            purchases[key]?.repeatPost()
            if let poster = purchases[key]?.poster(account) { lacking.remove(poster) }
        }
        if pause.isOn, !pause.isServers { pause.isOn = false }
    }

    /// Asks for everything that waits for its time: somebody looks at the app.
    mutating func hasten(_ actions: inout [QueueAction]) {
        for key in order {
            guard let purchase = purchases[key] else { continue }
            switch purchase.phase {
            case .waiting: purchases[key]?.phase = .paid
            case .answered where purchase.repetitions > 0: actions.append(.finish(key, purchase.transaction))
            case .answered, .paid, .posted: break
            }
        }
    }

    /// Takes up a journal that could not be read at launch, and everything that came meanwhile.
    mutating func adopt(_ records: [JournalRecord], _ actions: inout [QueueAction]) {
        isBlind = false
        var old = QueueMachine(limits: limits, legacyAccount: legacyAccount)
        for record in records { old.replay(record) }
        let finishedMeanwhile = finished.newest
        intents = old.intents
        finished = old.finished
        for key in finishedMeanwhile { finished.add(key) }
        unknownRecords = old.unknownRecords + unknownRecords
        for key in old.order {
            guard let known = old.purchases[key], !finishedMeanwhile.contains(key) else { continue }
            if purchases[key] != nil {
                if known.buyer.account != nil { purchases[key]?.buyer = known.buyer }
            } else {
                add(known)
                if case .answered = known.phase, isStarted { actions.append(.finish(key, known.transaction)) }
            }
        }
        let waiting = unread
        unread = []
        for transaction in waiting { see(transaction, nil, &actions) }
        mapLegacyNames(&actions)
        tellWaiting(&actions)
    }
}
