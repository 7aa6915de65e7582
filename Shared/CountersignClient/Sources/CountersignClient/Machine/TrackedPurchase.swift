/// A purchase that is not finished yet.
struct TrackedPurchase: Sendable {
    var transaction: StoreTransaction
    var buyer: Buyer
    var phase: Phase = .paid
    /// The app's own number of the order, where it is the buyer's.
    var reference: String?
    /// Who asked for it by a restore: possession counts then.
    var restoredFor: String?
    /// Whether it is here for a restore only: it is in no journal, and goes with whoever asked.
    var isForRestoreOnly = false
    /// Whether whoever asked left while a post was under way: no further one follows.
    var isAbandoned = false
    /// How it came to this launch.
    var occasion = PurchaseReport.Occasion.recovered
    /// Where it stands, as the app was told last.
    var outcome: PurchaseOutcome = .processing(.server)
    /// The submission at the server of the newest answer, for support.
    var submissionID: String?
    /// The submission that the server has without an outcome yet, and who posted it: it is asked about instead of posted again.
    var received: (id: String, account: String)?
    /// Who posted it and got an answer that leaves it open.
    var triedBy: Set<String> = []
    /// Whether the server would not take the receipt itself.
    var isReceiptRefused = false
    /// Whether something was learnt while a post was under way, so that an open answer to it is no last word.
    var isToBeRepeated = false
    /// Posts since the launch.
    var attempts = 0
    /// How often it was held, or received, one after the other.
    var repetitions = 0
    /// The number of its newest timer.
    var timer = 0

    /// How far a purchase is.
    enum Phase: Hashable, Sendable {
        /// To be posted as soon as somebody can.
        case paid
        /// A post is under way.
        case posted(account: String)
        /// The server has it, or holds it: asked again after a while.
        case waiting
        /// The server said `finish: true`.
        case answered(account: String?)
    }

    var key: PurchaseKey {
        PurchaseKey(transaction)
    }

    var isAnswered: Bool {
        if case .answered = phase { true } else { false }
    }

    /// Who of the accounts that could post now should; nil where it has to wait.
    ///
    /// - Parameter current: who is logged in.
    func poster(_ current: String?) -> String? {
        guard let current else { return nil }
        switch buyer {
        case .account(let name): return name == current || transaction.namesBuyerByItself ? current : nil
        case .named: return current
        case .unknown: return restoredFor == nil || restoredFor == current ? current : nil
        // Without a token in Apple's data only a person can say.
        case .doubtful: return transaction.proof == .receipt ? current : nil
        // A receipt would give it to whoever has it.
        case .legacy: return nil
        }
    }

    /// Whether a receipt would let the poster have it by possession, although it may be another's.
    var isNumberOnly: Bool {
        if isReceiptRefused { return true }
        guard transaction.proof == .receipt, restoredFor == nil else { return false }
        return buyer == .named || buyer == .doubtful
    }

    /// What it waits for while nobody can post it.
    var wanted: PurchaseOutcome.Waiting {
        switch buyer {
        case .account(let name): .account(name)
        case .doubtful: .claim
        case .legacy: .legacyName(transaction.username ?? "")
        case .named, .unknown: .account(restoredFor)
        }
    }

    /// Has it posted again at once, unless it is to be finished already.
    mutating func repeatPost() {
        received = nil
        switch phase {
        case .waiting: phase = .paid
        case .posted: isToBeRepeated = true
        case .paid, .answered: break
        }
    }

    func report(by account: String?, isFinished: Bool) -> PurchaseReport {
        // Whoever else brings it does not learn the number.
        let reference = account == nil || account == buyer.account ? reference : nil
        return PurchaseReport(
            transactionID: transaction.id, productID: transaction.productID, account: account, outcome: outcome,
            reference: reference, submissionID: submissionID, isFinished: isFinished, occasion: occasion)
    }
}

extension StoreTransaction {
    /// Whether Apple's signed data names the buyer within the proof itself, so that anybody may bring it.
    var namesBuyerByItself: Bool {
        if case .signedTransaction = proof { accountToken != nil } else { false }
    }

    /// Whether it is for who asks for a restore alone: nothing in it says whose it is, and its receipt would give it to anybody.
    ///
    /// StoreKit 1 goes on giving such a one until it is finished, whoever is logged in by then.
    var isForAskerOnly: Bool {
        origin == .restored && proof == .receipt && accountToken == nil && username == nil
    }
}
