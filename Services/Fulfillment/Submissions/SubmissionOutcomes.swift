import Messages
import Persistence
import PurchaseModel

/// What the poster of a submission is told, from how its orders stand: pure functions.
enum SubmissionOutcomes {
    /// The outcome of a genuine proof.
    ///
    /// - Parameters:
    ///   - transactions: what the proof holds.
    ///   - judged: the last of its messages: who posted it, and what of it is claimed.
    ///   - summaries: how each order stands after this batch, by each of its transaction ids.
    static func genuine(
        _ transactions: [Transaction], of judged: Judged, _ summaries: [OrderKey: OrderSummary]
    ) -> SubmissionOutcome {
        let verdict = judged.verdict
        let outcomes = transactions.map { transaction in
            let outcome = TransactionOutcome(transaction, state: nil, reason: nil)
            return outcome.updated(by: summaries[outcome.key], poster: judged.poster)
        }
        // Apple posted it, or was asked for it, and waits for nothing: what it holds is recorded.
        guard verdict.notification == nil, judged.poster != nil else {
            return SubmissionOutcome(state: .fulfilled, finish: true, transactions: outcomes)
        }
        if case .number(let account) = judged.evidence {
            return byNumber(outcomes, claimedBy: account, of: verdict, summaries)
        }
        guard !outcomes.isEmpty else {
            return SubmissionOutcome(
                state: .rejected, finish: false, reason: .receiptWithoutPurchases,
                detail: "the receipt is genuine and holds no purchase; have the app refresh it and post it again")
        }
        guard (verdict.claims.ids ?? []).allSatisfy(Set(outcomes.map(\.transactionId)).contains) else {
            return SubmissionOutcome(
                state: .rejected, finish: false, reason: .transactionNotInReceipt,
                detail: "the receipt is genuine and lacks the transaction that the app names; have the app refresh it",
                transactions: outcomes)
        }
        if verdict.claims.isEmpty { return unnamed(outcomes) }
        let mine = outcomes.filter { verdict.claims.contains($0.transactionId) }
        // What nobody vouches for claims nothing: where the order is nobody's, a newer proof has to.
        let old = Set(transactions.filter { !$0.isVouchedFor }.map(\.orderKey))
        let isInDoubt = mine.contains { outcome in
            outcome.reason == .signedWithExpiredCertificate || outcome.isUnclaimed && old.contains(outcome.key)
        }
        if isInDoubt { return expired(outcomes) }
        let hasPaid = outcomes.contains { outcome in
            judged.poster.map { summaries[outcome.key]?.payersBesidesOwner.contains($0) ?? false } ?? false
        }
        return outcome(outcomes, mine: mine, hasPaid)
    }

    /// What a part of a receipt claims and leaves parked: the last part is not told of it otherwise.
    ///
    /// A number proves nothing, so that it is told of nothing.
    static func parked(_ judged: Judged, _ summaries: [OrderKey: OrderSummary]) -> [TransactionOutcome] {
        if case .number = judged.evidence { return [] }
        guard judged.verdict.notification == nil, let poster = judged.poster else { return [] }
        return judged.transactions.filter { judged.verdict.claims.contains($0.transactionId) }.map { transaction in
            let outcome = TransactionOutcome(transaction, state: nil, reason: nil)
            return outcome.updated(by: summaries[outcome.key], poster: poster)
        }.filter { $0.state == .parked && !$0.isAnothers }
    }

    /// What earlier parts left parked, and is parked still.
    static func stillParked(
        _ submission: WaitingSubmissionStore.Waiting, orders: [WaitingSubmissionStore.NamedOrder]
    ) -> [TransactionOutcome] {
        let byId = Dictionary(orders.map { ($0.id, $0) }) { first, _ in first }
        return submission.outcome.transactions.map { $0.updated(by: byId[$0.key]?.summary, poster: submission.account) }
            .filter { $0.state == .parked && !$0.isAnothers }
    }

    /// The outcome of a receipt in parts, by that of its last part.
    static func whole(_ outcome: SubmissionOutcome, parked: [TransactionOutcome]) -> SubmissionOutcome {
        let own = Set(outcome.transactions.map(\.key))
        var seen: Set<OrderKey> = []
        let earlier = parked.filter { !own.contains($0.key) && seen.insert($0.key).inserted }
        guard outcome.state != .rejected, !earlier.isEmpty else { return outcome }
        let transactions = earlier + outcome.transactions
        guard outcome.state == .parked else { return self.outcome(transactions, mine: earlier) }
        // Once the doubt of the last part is over, that of the earlier ones counts.
        var whole = outcome
        whole.transactions = transactions
        return whole
    }

    /// Of what was signed under certificates that have expired, and is not known otherwise.
    private static func expired(_ outcomes: [TransactionOutcome]) -> SubmissionOutcome {
        SubmissionOutcome(
            state: .parked, finish: false, reason: .signedWithExpiredCertificate,
            detail:
                "signed under a certificate that has expired since, and not known otherwise: have the app get it anew "
                + "(AppStore.sync, or a refreshed receipt) and post that", transactions: outcomes)
    }

    /// Knowing a number proves nothing: of what is not the poster's by Apple's token, nothing is shown.
    private static func byNumber(
        _ outcomes: [TransactionOutcome], claimedBy account: Account, of verdict: VerdictMessage,
        _ summaries: [OrderKey: OrderSummary]
    ) -> SubmissionOutcome {
        let mine = outcomes.filter { outcome in
            verdict.claims.contains(outcome.transactionId) && summaries[outcome.key]?.isUsable(by: account) ?? false
        }
        return mine.isEmpty ? unproven : self.outcome(mine, mine: mine)
    }

    static let unproven = SubmissionOutcome(
        state: .parked, finish: false, reason: .possessionUnproven,
        detail:
            "knowing a number proves nothing: post the signed transaction, or a receipt that contains it, or have the "
            + "studio's server post it")

    /// The outcome of a parked submission after some of its orders were decided anew.
    ///
    /// - Parameters:
    ///   - submission: as it was parked.
    ///   - orders: those that it names, as they stand now.
    static func again(
        _ submission: WaitingSubmissionStore.Waiting, orders: [WaitingSubmissionStore.NamedOrder]
    ) -> SubmissionOutcome {
        if submission.outcome.reason == .possessionUnproven {
            let mine = orders.filter { $0.summary.isUsable(by: submission.account) }.map { order in
                order.outcome.updated(by: order.summary, poster: submission.account)
            }
            return mine.isEmpty ? submission.outcome : outcome(mine, mine: mine)
        }
        let byId = Dictionary(orders.map { ($0.id, $0) }) { first, _ in first }
        let outcomes = submission.outcome.transactions.map { transaction in
            transaction.updated(by: byId[transaction.key]?.summary, poster: submission.account)
        }
        if submission.outcome.reason == .claimUnnamed { return unnamed(outcomes) }
        let mine = outcomes.filter { byId[$0.key]?.isAwaited ?? false }
        if submission.outcome.reason == .signedWithExpiredCertificate,
            mine.contains(where: { $0.reason == .signedWithExpiredCertificate || $0.isUnclaimed })
        {
            return expired(outcomes)
        }
        return outcome(outcomes, mine: mine)
    }

    /// The orders that a parked submission waits for: its own; all of a receipt of which nothing was named.
    static func awaited(
        _ outcome: SubmissionOutcome, of judged: Judged, _ summaries: [OrderKey: OrderSummary]
    ) -> [OrderKey] {
        let claims = judged.verdict.claims
        let isAll = claims.isEmpty && outcome.reason != .possessionUnproven
        let keys = judged.transactions.filter { isAll || claims.contains($0.transactionId) }.compactMap {
            summaries[$0.orderKey]?.key
        }
        return Set(keys).sorted()
    }

    /// Of a receipt of several purchases, of which the app named none.
    ///
    /// It is told to name one as long as anything in it is nobody's. When all of it was claimed since, or tokens say
    /// whose it is, there is nothing left to name.
    private static func unnamed(_ outcomes: [TransactionOutcome]) -> SubmissionOutcome {
        let mine = outcomes.filter { !$0.isUnclaimed && !$0.isAnothers }
        if outcomes.contains(where: { $0.reason == .unclaimed })
            || mine.isEmpty && outcomes.contains(where: \.isUnclaimed)
        {
            return SubmissionOutcome(
                state: .parked, finish: false, reason: .claimUnnamed,
                detail: "the receipt holds several purchases: post it again with the transaction_id of this account's",
                transactions: outcomes)
        }
        var outcome = outcome(outcomes, mine: mine.isEmpty ? outcomes : mine)
        // Of what it lists it waits for all.
        if outcome.state == .parked { outcome.transactions = mine }
        return outcome
    }

    /// - Parameters:
    ///   - mine: those of them that the poster claims; the others are only listed.
    ///   - hasPaid: whether the poster may have paid for what the product's policy leaves to the owner.
    private static func outcome(
        _ outcomes: [TransactionOutcome], mine: [TransactionOutcome], _ hasPaid: Bool = false
    ) -> SubmissionOutcome {
        if mine.contains(where: { $0.reason == .environmentMissing }) {
            return SubmissionOutcome(
                state: .parked, finish: false, reason: .environmentMissing,
                detail: "Apple signed it before its data named an environment; it is recorded, and a person decides",
                transactions: outcomes)
        }
        if let parked = mine.first(where: { $0.state == .parked && !$0.isAnothers }) {
            return SubmissionOutcome(
                state: .parked, finish: true, reason: parked.reason,
                detail: "recorded and held; it is granted once the doubt is resolved", transactions: outcomes)
        }
        if !mine.isEmpty, mine.allSatisfy(\.isAnothers) {
            // Whoever paid is not told to finish, and be left with nothing: support has to see it.
            if hasPaid {
                return SubmissionOutcome(
                    state: .rejected, finish: false, reason: .belongsToAnotherAccount,
                    detail:
                        "the subscription is another account's, which has what was paid anew: log in to that account, or "
                        + "ask support", transactions: outcomes)
            }
            let isLimited = mine.contains { $0.reason == .restoreLimitReached }
            return SubmissionOutcome(
                state: .rejected, finish: true,
                reason: isLimited ? .restoreLimitReached : .belongsToAnotherAccount,
                detail: isLimited
                    ? "the purchase is another account's, and has changed hands as often as it may for now"
                    : "the purchase is recorded for the account that it belongs to", transactions: outcomes)
        }
        return SubmissionOutcome(
            state: .fulfilled, finish: true, reason: mine.compactMap(\.reason).first { $0 == .revokedByApple },
            transactions: outcomes)
    }
}

extension TransactionOutcome {
    /// Whether it is held, and no account known.
    fileprivate var isUnclaimed: Bool {
        state == .parked && (reason == .unclaimed || reason == .accountTokenUnknown)
    }

    /// Whether another account has it.
    fileprivate var isAnothers: Bool { reason == .belongsToAnotherAccount || reason == .restoreLimitReached }

    /// The same as its order stands now; as it is where no order is known.
    fileprivate func updated(by order: OrderSummary?, poster: Account?) -> TransactionOutcome {
        var outcome = self
        guard let order else { return outcome }
        outcome.state = order.state
        outcome.reason = order.reason
        outcome.testPurchase = order.testPurchase
        // What Apple posts has no poster, and is nobody's to be refused.
        if let owner = order.account, let poster, owner != poster, !order.isUsable(by: poster) {
            let isLimited = order.limitedAccounts.contains(poster)
            outcome.reason = isLimited ? .restoreLimitReached : .belongsToAnotherAccount
        }
        return outcome
    }
}

extension OrderSummary {
    /// Whether an account has it, shares it, or got its items.
    fileprivate func isUsable(by account: Account) -> Bool {
        self.account == account || sharers.contains(account) || itemsAccount == account
    }
}
