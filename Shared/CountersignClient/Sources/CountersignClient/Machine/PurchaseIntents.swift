#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The intents of this device, the oldest first, and which of them a transaction belongs to.
struct PurchaseIntents: Sendable {
    private(set) var all: [PurchaseIntent] = []
    private let maximum: Int

    init(maximum: Int) {
        self.maximum = maximum
    }

    subscript(id: UUID) -> PurchaseIntent? {
        all.last { $0.id == id }
    }

    /// Keeps an intent; beyond the maximum the oldest goes, one that is over first.
    mutating func add(_ intent: PurchaseIntent) {
        all.removeAll { $0.id == intent.id }
        all.append(intent)
        while all.count > maximum {
            let over = all.firstIndex { $0.state != .open && $0.state != .pending }
            all.remove(at: over ?? 0)
        }
    }

    /// Says how an intent ended.
    ///
    /// One that became a transaction stays that.
    mutating func end(_ id: UUID, _ state: PurchaseIntent.State) {
        guard let index = all.lastIndex(where: { $0.id == id }), all[index].state.transactionID == nil else { return }
        all[index].state = state
    }

    mutating func remove(_ id: UUID) {
        all.removeAll { $0.id == id }
    }

    /// The app's own number of the order that an account's transaction came of.
    func reference(of transactionID: String, for account: String?) -> String? {
        guard let account else { return nil }
        return all.last { $0.account == account && $0.state.transactionID == transactionID }?.reference
    }

    /// Whose a transaction is, and the intent that it was bought with, where one is known.
    ///
    /// - Parameter ordered: the intent of the payment sheet that gave it.
    func buyer(of transaction: StoreTransaction, ordered: UUID?) -> (buyer: Buyer, intent: UUID?) {
        if let token = transaction.accountToken {
            guard let intent = self[token] else { return (.named, nil) }
            return (.account(intent.account), intent.state.transactionID == nil ? token : nil)
        }
        let ordered = ordered.flatMap { self[$0] }
        guard transaction.origin == .purchase, !transaction.isRevoked else { return (.unknown, nil) }
        let candidates = candidates(for: transaction)
        guard let first = ordered ?? candidates.first else { return (.unknown, nil) }
        // The payment sheet of one may give what another was buying before.
        guard candidates.allSatisfy({ $0.account == first.account }) else { return (.doubtful, nil) }
        return (.account(first.account), first.id)
    }

    /// The intents that a transaction without a token may have come of, open ones first.
    ///
    /// One whose payment sheet was closed is among them: an interrupted purchase is told as cancelled, and comes when the person
    /// went through with it.
    private func candidates(for transaction: StoreTransaction) -> [PurchaseIntent] {
        // A signed transaction keeps its token, so it can only have come of an order that had none.
        let possible = all.filter { intent in
            intent.productID == transaction.productID && intent.state.transactionID == nil
                && (transaction.proof == .receipt || !intent.isKnownToServer)
        }
        return possible.filter { $0.state != .cancelled } + possible.filter { $0.state == .cancelled }
    }
}

/// The newest keys, up to a maximum: what was finished.
///
/// Of a transaction the newest state alone counts: one that was finished as revoked and comes back without a revocation is news.
struct RecentKeys: Sendable {
    private var entries: [(number: Int, key: PurchaseKey)] = []
    private var newestByID: [String: (number: Int, isRevoked: Bool)] = [:]
    private var lastNumber = 0
    private let maximum: Int

    init(maximum: Int) {
        self.maximum = maximum
    }

    func contains(_ key: PurchaseKey) -> Bool {
        newestByID[key.id]?.isRevoked == key.isRevoked
    }

    mutating func add(_ key: PurchaseKey) {
        guard !contains(key) else { return }
        lastNumber += 1
        newestByID[key.id] = (lastNumber, key.isRevoked)
        entries.append((lastNumber, key))
        // Half at once, so that it is no work for each.
        guard entries.count > 2 * maximum else { return }
        for old in entries.prefix(maximum) where newestByID[old.key.id]?.number == old.number {
            newestByID[old.key.id] = nil
        }
        entries.removeFirst(maximum)
    }

    /// The newest, up to the maximum, the oldest first.
    var newest: [PurchaseKey] {
        entries.filter { newestByID[$0.key.id]?.number == $0.number }.suffix(maximum).map(\.key)
    }
}
