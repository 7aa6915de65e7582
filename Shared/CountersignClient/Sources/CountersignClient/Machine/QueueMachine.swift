#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The queue as a value: an event in, actions out.
///
/// It has no clock and does nothing by itself.
///
/// A purchase goes from *intent* (saved before the payment sheet) through *paid*, *posted* and *answered* to *finished*. It
/// is finished only by an answer with `finish: true`, and only then leaves the machine.
struct QueueMachine: Sendable {
    let limits: QueueLimits
    /// Whose a name of an earlier version of the app is.
    let legacyAccount: (@Sendable (String) -> String?)?
    /// Who is logged in.
    var account: String?
    var intents: PurchaseIntents
    /// What was finished: the store may give it once more.
    var finished: RecentKeys
    var purchases: [PurchaseKey: TrackedPurchase] = [:]
    /// The purchases in the order in which they are posted: a failed one goes to the end, so that it stops no other.
    var order: [PurchaseKey] = []
    /// Whether everything that is kept was read and posting may begin.
    var isStarted = false
    var pause = Pause()
    /// Accounts without a token that the server takes.
    var lacking: Set<String> = []
    var credentialsTimer = 0
    /// How many posts are under way.
    var underWay = 0
    /// What a later version wrote: kept for it.
    var unknownRecords: [JournalRecord] = []
    /// Whether there is a journal that could not be read: it may say whose everything is, so that nothing is guessed.
    var isBlind = false
    /// What the store gave meanwhile and does not name its buyer itself.
    var unread: [StoreTransaction] = []
    /// The intents of this launch.
    var ordered: Set<UUID> = []

    /// The rest after failures that are not one purchase's: no network, a server in trouble.
    struct Pause: Sendable {
        var isOn = false
        /// Failures one after the other.
        var failures = 0
        /// Whether the server said how long: then no hint ends it sooner.
        var isServers = false
        /// Whether a hint came while something was under way, which says nothing of how things are since: if that fails,
        /// one try follows at once.
        var isHinted = false
        var timer = 0
    }

    init(limits: QueueLimits, legacyAccount: (@Sendable (String) -> String?)? = nil) {
        self.limits = limits
        self.legacyAccount = legacyAccount
        intents = PurchaseIntents(maximum: limits.intentsMaximum)
        finished = RecentKeys(maximum: limits.finishedMaximum)
    }

    /// What to do about an event.
    mutating func handle(_ event: QueueEvent) -> [QueueAction] {
        var actions: [QueueAction] = []
        switch event {
        case .intentOpened(let intent):
            intents.add(intent)
            ordered.insert(intent.id)
            if ordered.count > limits.intentsMaximum { ordered.formIntersection(intents.all.map(\.id)) }
            actions.append(.write(.intent(intent)))
        case .intentEnded(let id, let state):
            intents.end(id, state)
            actions.append(.write(.intentEnded(id, state)))
        case .intentDropped(let id): intents.remove(id)
        case .seen(let transaction, let ordered): see(transaction, ordered, &actions)
        case .restored(let transaction, let asker): restore(transaction, for: asker, &actions)
        case .givenAgain(let transaction, let asker): giveAgain(transaction, to: asker, &actions)
        case .retried(let id): retry(id)
        case .journalRead(let records): adopt(records, &actions)
        case .claimed(let id): claim(id, &actions)
        case .loggedIn(let name): logIn(name, &actions)
        case .loggedOut: logOut()
        case .posted(let key, let result): take(result, of: key, &actions)
        case .finished(let key, let isDone): finish(key, isDone, &actions)
        case .elapsed(let timer): elapse(timer, &actions)
        case .woken: wake()
        case .broughtForward:
            wake()
            hasten(&actions)
        }
        post(&actions)
        return actions
    }

    /// Begins: finishes what was answered before, and posts what waits.
    mutating func start() -> [QueueAction] {
        isStarted = true
        var actions: [QueueAction] = []
        for key in order {
            guard let purchase = purchases[key], case .answered = purchase.phase else { continue }
            actions.append(.finish(key, purchase.transaction))
        }
        mapLegacyNames(&actions)
        tellWaiting(&actions)
        post(&actions)
        return actions
    }

    /// Whether a transaction is what an order's payment sheet was to bring, and no earlier one.
    func isBought(_ transaction: StoreTransaction, with id: UUID) -> Bool {
        guard let intent = intents[id] else { return false }
        if intent.state == .paid(transaction.id) { return true }
        let key = PurchaseKey(transaction)
        if let token = transaction.accountToken { return token == id && !finished.contains(key) }
        guard intent.state.transactionID == nil, transaction.username == nil else { return false }
        guard transaction.origin == .purchase, transaction.productID == intent.productID else { return false }
        // A signed transaction keeps the token of its order: without one it is of another order.
        guard transaction.proof == .receipt || !intent.isKnownToServer else { return false }
        return purchases[key] == nil && !finished.contains(key)
    }

    // MARK: What the store gives

    mutating func see(_ transaction: StoreTransaction, _ ordered: UUID?, _ actions: inout [QueueAction]) {
        let key = PurchaseKey(transaction)
        if let known = purchases[key] {
            renew(known, with: transaction, ordered, &actions)
            return
        }
        if finished.contains(key) {
            // The store goes on giving what was finished: it is told again, and the server is not.
            actions.append(.finish(key, transaction))
            return
        }
        // The store has it when somebody restores.
        guard !transaction.isForAskerOnly else { return }
        guard purchases.count + unread.count < limits.purchasesMaximum else {
            actions.append(
                .log(QueueLogLine(.warning, "too many purchases wait: it stays in the store", transactionID: key.id)))
            return
        }
        if isBlind, !transaction.namesBuyerByItself {
            if !unread.contains(where: { PurchaseKey($0) == key }) { unread.append(transaction) }
            return
        }
        let (buyer, intent) = whose(transaction, ordered)
        if let intent { intents.end(intent, .paid(transaction.id)) }
        var purchase = TrackedPurchase(transaction: transaction, buyer: buyer)
        purchase.occasion = occasion(of: intent)
        add(purchase)
        actions.append(.write(.paid(transaction, intent: intent, buyer: buyer)))
        actions.append(.log(QueueLogLine(.info, "paid, and to be posted", transactionID: key.id)))
        tellWaiting(key, &actions)
    }

    /// The store gives again what waits already; its proof may be newer, and its order may be known now.
    private mutating func renew(
        _ known: TrackedPurchase, with transaction: StoreTransaction, _ ordered: UUID?, _ actions: inout [QueueAction]
    ) {
        var purchase = known
        let token = transaction.accountToken ?? known.transaction.accountToken
        purchase.transaction = transaction
        purchase.transaction.accountToken = token
        purchase.transaction.username = transaction.username ?? known.transaction.username
        // What was bought stays bought, though a restore gives it, too.
        if !known.isForRestoreOnly, known.transaction.origin == .purchase { purchase.transaction.origin = .purchase }
        // It stays with who asked for it.
        guard !known.isForRestoreOnly || !purchase.transaction.isForAskerOnly else { return }
        var intent: UUID?
        if token == nil, known.transaction.username == nil, transaction.username != nil {
            // The store remembers whom the earlier version named, and what this journal held was a guess.
            purchase.buyer = whose(purchase.transaction, nil).buyer
        } else if known.buyer.account == nil, known.buyer != .legacy, token != nil || ordered != nil {
            // Without a token it is not matched again: what somebody orders by now is something else.
            let found = intents.buyer(of: purchase.transaction, ordered: ordered)
            if found.buyer.account != nil || found.buyer == .named { purchase.buyer = found.buyer }
            intent = found.intent
        }
        if let intent {
            intents.end(intent, .paid(transaction.id))
            purchase.occasion = occasion(of: intent)
        }
        purchase.reference = intents.reference(of: transaction.id, for: purchase.buyer.account)
        let isNews =
            purchase.buyer != known.buyer || token != known.transaction.accountToken || known.isForRestoreOnly
            || purchase.transaction.username != known.transaction.username
        purchase.isForRestoreOnly = false
        purchase.isAbandoned = false
        purchases[known.key] = purchase
        if isNews {
            actions.append(.write(.paid(purchase.transaction, intent: intent, buyer: purchase.buyer)))
        }
    }

    private mutating func restore(
        _ transaction: StoreTransaction, for asker: String, _ actions: inout [QueueAction]
    ) {
        // Who logged in meanwhile has asked for nothing; the store has it when the asker asks again.
        guard account == asker else { return }
        let key = PurchaseKey(transaction)
        if var purchase = purchases[key] {
            purchase.restoredFor = asker
            purchase.isAbandoned = false
            purchase.repeatPost()
            purchases[key] = purchase
            if case .answered(let poster) = purchase.phase {
                actions.append(.tell(.report(purchase.report(by: poster, isFinished: true))))
            }
            tellWaiting(key, &actions)
            return
        }
        guard purchases.count < limits.purchasesMaximum else { return }
        // Not from the intents: what is restored was bought long ago, perhaps on another device.
        var purchase = TrackedPurchase(transaction: transaction, buyer: named(transaction) ?? .unknown)
        purchase.restoredFor = asker
        purchase.isForRestoreOnly = true
        purchase.occasion = .restored
        add(purchase)
        tellWaiting(key, &actions)
    }

    private mutating func claim(_ id: String, _ actions: inout [QueueAction]) {
        guard let account else { return }
        for key in order where key.id == id {
            guard var purchase = purchases[key], purchase.buyer == .doubtful else { continue }
            purchase.buyer = .account(account)
            purchase.repeatPost()
            purchases[key] = purchase
            actions.append(.write(.claimed(key, account: account)))
        }
    }

    mutating func add(_ purchase: TrackedPurchase) {
        var purchase = purchase
        purchase.reference = intents.reference(of: purchase.transaction.id, for: purchase.buyer.account)
        purchases[purchase.key] = purchase
        order.append(purchase.key)
    }

    mutating func remove(_ key: PurchaseKey) {
        purchases[key] = nil
        if order.first == key { order.removeFirst() } else { order.removeAll { $0 == key } }
    }
}
