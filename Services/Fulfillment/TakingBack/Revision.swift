import Foundation
import Messages
import Persistence
import PurchaseModel

/// What later statements make of one order: without I/O.
struct Revision {
    /// What became of an order that was granted once.
    enum Change {
        /// Nothing but what is known of it.
        case stated
        /// Apple took it back.
        case takenBack
        /// Apple took another share of it back, or for another cause.
        case takenBackOtherwise
        /// Apple gave it back.
        case givenBack
    }

    let kept: RevisionStore.Kept
    let stated: StatedTransaction
    /// As it is known now.
    let transaction: PurchasedTransaction
    let change: Change
    /// What becomes of an order that was never granted; nil of any other.
    private let decision: OrderDecision?

    /// Works out what follows; nil where nothing does.
    ///
    /// - Parameter decide: what would become of a transaction if it were new, given whose it is already.
    init?(
        of kept: RevisionStore.Kept, by stated: StatedTransaction,
        decide: (StatedTransaction, PurchasedTransaction, _ holder: OrderHolder?) -> OrderDecision
    ) {
        // A lock is taken without a look at it: an order may have become nobody's meanwhile.
        guard kept.account != nil || kept.state == .revoked else { return nil }
        self.kept = kept
        self.stated = stated
        let transaction = stated.transaction(after: kept.transaction)
        self.transaction = transaction
        if kept.wasGranted {
            guard transaction != kept.transaction else { return nil }
            decision = nil
            change = Self.change(from: kept.transaction, to: transaction)
        } else {
            let holder = kept.account.map {
                OrderHolder(account: $0, token: kept.transaction.appAccountToken)
            }
            let decision = decide(stated, transaction, holder)
            guard
                transaction != kept.transaction || decision.state != kept.state || decision.reason != kept.reason
                    || decision.account != kept.account
            else { return nil }
            self.decision = decision
            change = .stated
        }
    }

    private static func change(from before: PurchasedTransaction, to after: PurchasedTransaction) -> Change {
        switch (before.revocationDate, after.revocationDate) {
        case (nil, nil): .stated
        case (nil, _): .takenBack
        case (_, nil): .givenBack
        default:
            TakeBack.share(of: before) == TakeBack.share(of: after) && isFamilyRevoke(before) == isFamilyRevoke(after)
                ? .stated : .takenBackOtherwise
        }
    }

    /// What is to be written.
    var written: RevisionStore.Revision {
        guard let decision else {
            let isRevoked = transaction.revocationDate != nil
            return RevisionStore.Revision(
                key: kept.key, transaction: transaction, state: isRevoked ? .revoked : .granted,
                reason: isRevoked ? .revokedByApple : nil, account: kept.account, grant: nil)
        }
        return RevisionStore.Revision(
            key: kept.key, transaction: transaction, state: decision.state, reason: decision.reason,
            account: decision.account, grant: decision.state == .granted ? decision : nil)
    }

    /// The order as it is to be recorded, where it was decided otherwise than before; nil where it was not.
    var recorded: OrderRecorder.Recorded? {
        guard let decision,
            decision.state != kept.state || decision.reason != kept.reason || decision.account != kept.account
        else { return nil }
        return OrderRecorder.Recorded(
            key: kept.key, transaction: transaction, decision: decision,
            correlationId: stated.verdict.correlationId)
    }

    /// How the order stands afterwards.
    var standing: OrderStore.Standing {
        OrderStore.Standing(
            state: written.state, reason: written.reason, account: written.account,
            testPurchase: kept.key.environment == .sandbox ? transaction.testPurchase : nil)
    }

    /// How much is taken.
    var takeBack: TakeBack { TakeBack(from: kept.transaction, to: transaction) }

    /// Whether Family Sharing ended, and no money came back. (Apple names the type of a revocation since 2025; before
    /// that, only a member's own transaction tells.)
    var isFamilyRevoke: Bool { Self.isFamilyRevoke(transaction) }

    private static func isFamilyRevoke(_ transaction: PurchasedTransaction) -> Bool {
        transaction.revocationType.map { $0 == "FAMILY_REVOKE" } ?? (transaction.ownership == "FAMILY_SHARED")
    }

    /// The end of the period, where it is another than before.
    var movedEnd: Date? {
        guard kept.wasGranted, transaction.expiresDate != kept.transaction.expiresDate else { return nil }
        return transaction.expiresDate
    }

    /// Whether a guardian's word may reach the order that did not before.
    var movesConsent: Bool {
        kept.wasGranted
            && (transaction.appTransactionId != kept.transaction.appTransactionId
                || transaction.purchaseDate != kept.transaction.purchaseDate)
    }

    /// What is told; nil where `OrderRecorder` tells it, or nobody needs to know.
    var eventType: String? {
        switch change {
        case .stated: nil
        case .takenBack, .takenBackOtherwise:
            isFamilyRevoke ? PurchaseEvent.familyRevoked : PurchaseEvent.refundGranted
        case .givenBack: PurchaseEvent.refundReversed
        }
    }

    /// Whether anything is new that a subscription is worked out of: all but the statement's own date and text.
    var changesLineage: Bool {
        recorded != nil || change != .stated || Self.bare(kept.transaction) != Self.bare(transaction)
    }

    private static func bare(_ transaction: PurchasedTransaction) -> PurchasedTransaction {
        var bare = transaction
        bare.signedDate = .distantPast
        bare.evidence = nil
        bare.sources = nil
        return bare
    }
}
