import Messages
import Persistence
import PurchaseModel

/// What the poster of a submission is told, from how its orders stand: a pure function.
enum SubmissionOutcomes {
    /// The outcome of a genuine proof.
    ///
    /// - Parameters:
    ///   - transactions: all of the proof.
    ///   - standings: how each of their orders stands after this batch.
    ///   - poster: the account that posted it.
    static func genuine(
        _ transactions: [PurchasedTransaction], standings: [OrderKey: OrderStore.Standing], poster: String
    ) -> SubmissionOutcome {
        let outcomes = transactions.map { transaction in
            outcome(of: transaction, standings: standings, poster: poster)
        }
        func first(_ reasons: [ReasonCode]) -> ReasonCode? {
            outcomes.compactMap(\.reason).first { reasons.contains($0) }
        }
        if let reason = first([.environmentMissing]) {
            return SubmissionOutcome(
                state: .parked, finish: false, reason: reason,
                detail: "Apple signed it before its data named an environment; a person decides",
                transactions: outcomes)
        }
        if let parked = outcomes.first(where: { $0.state == .parked && $0.reason != .belongsToAnotherAccount }) {
            return SubmissionOutcome(
                state: .parked, finish: true, reason: parked.reason,
                detail: "recorded and held; it is granted once the doubt is resolved", transactions: outcomes)
        }
        if !outcomes.isEmpty, outcomes.allSatisfy({ $0.reason == .belongsToAnotherAccount }) {
            return SubmissionOutcome(
                state: .rejected, finish: true, reason: .belongsToAnotherAccount,
                detail: "the purchase is recorded for the account that it belongs to", transactions: outcomes)
        }
        return SubmissionOutcome(
            state: .fulfilled, finish: true, reason: first([.revokedByApple]), transactions: outcomes)
    }

    private static func outcome(
        of transaction: PurchasedTransaction, standings: [OrderKey: OrderStore.Standing], poster: String
    ) -> TransactionOutcome {
        guard let environment = transaction.environment else {
            return TransactionOutcome(transaction, state: nil, reason: .environmentMissing)
        }
        let key = OrderKey(environment: environment, transactionId: transaction.transactionId)
        let standing = standings[key]
        if let owner = standing?.account, owner != poster {
            return TransactionOutcome(transaction, state: standing?.state, reason: .belongsToAnotherAccount)
        }
        return TransactionOutcome(transaction, state: standing?.state, reason: standing?.reason)
    }
}
