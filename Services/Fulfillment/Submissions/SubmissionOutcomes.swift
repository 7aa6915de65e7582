import Messages
import Persistence
import PurchaseModel

/// What the poster of a submission is told, from how its orders stand: pure functions.
enum SubmissionOutcomes {
    /// The outcome of a genuine proof.
    ///
    /// - Parameters:
    ///   - transactions: what the proof holds.
    ///   - verdict: the last of its messages: who posted it, and what of it he claims.
    ///   - standings: how each order stands after this batch.
    static func genuine(
        _ transactions: [PurchasedTransaction], of verdict: VerdictMessage, standings: [OrderKey: OrderStore.Standing]
    ) -> SubmissionOutcome {
        let outcomes = transactions.map { transaction in
            TransactionOutcome(transaction, state: nil, reason: nil)
                .asItStands(in: standings, poster: verdict.account)
        }
        // Apple posted it, and waits for nothing: what it holds is recorded.
        guard verdict.notification == nil else {
            return SubmissionOutcome(state: .fulfilled, finish: true, transactions: outcomes)
        }
        guard !outcomes.isEmpty else {
            return SubmissionOutcome(
                state: .rejected, finish: false, reason: .receiptWithoutPurchases,
                detail: "the receipt is genuine and holds no purchase; have the app refresh it and post it again")
        }
        guard let claims = verdict.claims.map({ Set($0) }) else { return outcome(outcomes, mine: outcomes) }
        guard claims.isSubset(of: outcomes.map(\.transactionId)) else {
            return SubmissionOutcome(
                state: .rejected, finish: false, reason: .transactionNotInReceipt,
                detail: "the receipt is genuine and lacks the transaction that the app names; have the app refresh it",
                transactions: outcomes)
        }
        guard !claims.isEmpty else { return unnamed(outcomes) }
        return outcome(outcomes, mine: outcomes.filter { claims.contains($0.transactionId) })
    }

    /// The outcome of a parked submission after some of its orders were decided anew.
    ///
    /// - Parameters:
    ///   - submission: as it was parked.
    ///   - awaited: the orders that it waits for.
    ///   - standings: how those stand now.
    static func again(
        _ submission: WaitingSubmissionStore.Waiting, awaited: Set<OrderKey>,
        standings: [OrderKey: OrderStore.Standing]
    ) -> SubmissionOutcome {
        let outcomes = submission.outcome.transactions.map { transaction in
            transaction.asItStands(in: standings, poster: submission.account)
        }
        if submission.outcome.reason == .claimUnnamed { return unnamed(outcomes) }
        return outcome(outcomes, mine: outcomes.filter { $0.key.map(awaited.contains) ?? true })
    }

    /// The orders that a parked submission waits for: its own; all of a receipt of which nothing was named.
    static func awaited(_ outcome: SubmissionOutcome, of verdict: VerdictMessage) -> [OrderKey] {
        guard outcome.state == .parked else { return [] }
        let isAll = outcome.reason == .claimUnnamed
        let claims = verdict.claims.map { Set($0) }
        return outcome.transactions.filter { isAll || claims?.contains($0.transactionId) ?? true }.compactMap(\.key)
    }

    /// Of a receipt of several purchases, of which the app named none.
    ///
    /// It is told to name one as long as anything in it is nobody's. When all of it was claimed since, or tokens say
    /// whose it is, there is nothing left to name.
    private static func unnamed(_ outcomes: [TransactionOutcome]) -> SubmissionOutcome {
        let mine = outcomes.filter { !$0.isNobodys && !$0.isAnothers }
        if outcomes.contains(where: { $0.reason == .unclaimed })
            || mine.isEmpty && outcomes.contains(where: \.isNobodys)
        {
            return SubmissionOutcome(
                state: .parked, finish: false, reason: .claimUnnamed,
                detail: "the receipt holds several purchases: post it again with the transaction_id of this account's",
                transactions: outcomes)
        }
        return outcome(outcomes, mine: mine.isEmpty ? outcomes : mine)
    }

    /// - Parameter mine: those of them that the poster claims; the others are only listed.
    private static func outcome(_ outcomes: [TransactionOutcome], mine: [TransactionOutcome]) -> SubmissionOutcome {
        if mine.contains(where: { $0.reason == .environmentMissing }) {
            return SubmissionOutcome(
                state: .parked, finish: false, reason: .environmentMissing,
                detail: "Apple signed it before its data named an environment; a person decides",
                transactions: outcomes)
        }
        if let parked = mine.first(where: { $0.state == .parked && !$0.isAnothers }) {
            return SubmissionOutcome(
                state: .parked, finish: true, reason: parked.reason,
                detail: "recorded and held; it is granted once the doubt is resolved", transactions: outcomes)
        }
        if !mine.isEmpty, mine.allSatisfy(\.isAnothers) {
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
    fileprivate var isNobodys: Bool {
        state == .parked && (reason == .unclaimed || reason == .accountTokenUnknown)
    }

    /// Whether another account has it.
    fileprivate var isAnothers: Bool { reason == .belongsToAnotherAccount || reason == .restoreLimitReached }

    /// The same as its order stands now; as it is where no order is known.
    fileprivate func asItStands(
        in standings: [OrderKey: OrderStore.Standing], poster: String
    ) -> TransactionOutcome {
        var outcome = self
        guard let key else {
            outcome.reason = .environmentMissing
            return outcome
        }
        guard let standing = standings[key] else { return outcome }
        outcome.state = standing.state
        outcome.reason = standing.reason
        outcome.testPurchase = standing.testPurchase
        // What Apple posts has no poster, and is nobody's to be refused.
        if let owner = standing.account, !poster.isEmpty, !owner.utf8.elementsEqual(poster.utf8),
            !standing.sharers.contains(poster)
        {
            let isLimited = standing.limitedAccounts.contains(poster)
            outcome.reason = isLimited ? .restoreLimitReached : .belongsToAnotherAccount
        }
        return outcome
    }
}
