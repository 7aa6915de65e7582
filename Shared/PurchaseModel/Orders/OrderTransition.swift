package import Foundation

/// What becomes of one order: from how it is stored, and what is known now, to how it stands afterwards.
///
/// It is a class because it is large, never changes, and is handed from set to set.
package final class OrderTransition: Sendable {
    /// What happens to a purchase that was granted once.
    package enum Change: Sendable, Hashable {
        /// It is new, or was never granted, and `decision` says what becomes of it.
        case decided
        /// Nothing but what is known of it.
        case restated
        /// Apple took it back.
        case revoked
        /// Apple took another share of it back, or for another cause.
        case revokedOtherwise
        /// Apple gave it back.
        case reinstated
    }

    /// As it is stored; nil for a new one.
    package let before: StoredOrder?
    package let key: OrderKey
    /// What is known of it now.
    package let purchase: Purchase
    /// What that says together.
    package let transaction: Transaction
    package let change: Change
    package let state: OrderState
    package let reason: ReasonCode?
    package let account: Account?
    /// Who gets the items, where it is granted now; ``account`` has the entitlements.
    package let itemsAccount: Account?
    /// By which it is granted, parked or recorded as revoked; nil where it was granted before.
    package let decision: OrderDecision?
    /// Whether it contradicts what is known; then it has no keys that another order may have.
    package let conflict: PurchaseConflict?
    /// The submission that led to it.
    package let submissionId: String
    /// Follows a purchase from the request to the webhook.
    package let correlationId: String

    package init(
        before: StoredOrder?, key: OrderKey, purchase: Purchase, transaction: Transaction, change: Change,
        state: OrderState, reason: ReasonCode?, account: Account?, itemsAccount: Account? = nil,
        decision: OrderDecision?, conflict: PurchaseConflict? = nil, submissionId: String,
        correlationId: String
    ) {
        self.before = before
        self.key = key
        self.purchase = purchase
        self.transaction = transaction
        self.change = change
        self.state = state
        self.reason = reason
        self.account = account
        self.itemsAccount = itemsAccount ?? account
        self.decision = decision
        self.conflict = conflict
        self.submissionId = submissionId
        self.correlationId = correlationId
    }

    /// The lineage that it belongs to.
    package var lineage: LineageKey {
        LineageKey(environment: key.environment, originalTransactionId: transaction.originalTransactionId)
    }

    /// The submission and the correlation id that its row names: those of what brought it, or claimed it.
    package var source: (submissionId: String, correlationId: String) {
        guard let before, !before.isUnclaimed else { return (submissionId, correlationId) }
        return (before.submissionId, before.correlationId)
    }

    /// Whether it is new, or decided otherwise than before: then its events, and what it grants, are written.
    package var isDecidedAnew: Bool {
        guard change == .decided else { return false }
        guard let before else { return true }
        return before.state != state || before.reason != reason || before.account != account
    }

    /// Whether it is granted for the first time.
    package var isGrant: Bool { change == .decided && state == .granted }

    /// Whether an older system granted it, as far as anybody has it.
    package var isGrantedElsewhere: Bool {
        decision.map { $0.cutOver != nil } ?? before?.isGrantedElsewhere ?? false
    }

    /// Whether nobody is told of it: the older system granted it, and took it back where that was before the cut-over.
    ///
    /// Of a refund that came later the account is told, and so of its reversal.
    package var isSilent: Bool {
        guard change == .decided, let cutOver = decision?.cutOver, !cutOver.isAnnounced else { return false }
        return switch state {
        case .granted: before?.state != .revoked
        case .parked: true
        case .revoked: transaction.revocationDate.map(cutOver.isAfter) ?? true
        }
    }

    /// Whether anything is new that a subscription is worked out of: all but the statement's own date and text.
    package var changesLineage: Bool {
        guard let known = before?.purchase?.transaction else { return true }
        return isDecidedAnew || change != .restated && change != .decided || known.bare != transaction.bare
    }

    /// The end of the period, where it is another than before.
    package var movedEnd: Date? {
        guard let before, before.wasGranted, transaction.expiresDate != before.expiresDate else { return nil }
        return transaction.expiresDate
    }

    /// Whether it was granted before Apple said that it is a family member's copy, or a seat: a receipt does not tell.
    package var becameFamilyCopy: Bool {
        guard let before, before.wasGranted, let known = before.purchase?.transaction else { return false }
        return transaction.isPaidByAnother && !known.isPaidByAnother
    }

    /// Whether a guardian's rescinded consent may reach the order that did not before.
    package var movesConsent: Bool {
        guard let before, before.wasGranted, let known = before.purchase?.transaction else { return false }
        return transaction.appTransactionId != known.appTransactionId || transaction.purchaseDate != before.purchaseDate
    }

    /// The share that was revoked before, and the share that is from now on.
    package var takeBack: TakeBack? {
        guard let before, before.wasGranted, let known = before.purchase?.transaction else { return nil }
        return TakeBack(from: known, to: transaction)
    }
}

/// Signed data that contradicts what is known of a purchase.
package enum PurchaseConflict: String, Sendable, Hashable, CaseIterable {
    /// The line item of another lineage's, or another product's, order.
    case lineItemOfAnother = "line_item_of_another"
    /// The same product, bought in the same second under another line item.
    case twoLineItems = "two_line_items"
    /// Its ids and keys lead to two orders.
    case twoOrders = "two_orders"
    /// It says that two lineages are one, and they are two accounts', without a token that decides.
    case twoOwners = "two_owners"
    /// What is bought anew each time names another purchase as its first.
    case originalDiffers = "original_differs"
    /// Another type of product than before: what it was granted by stays.
    case typeDiffers = "type_differs"
}

extension Transaction {
    /// Whether Family Sharing ended, or a seat was taken back, and no money came back. (Apple names the type of a revocation
    /// since 2025; before that, only a member's own transaction tells.)
    package var isFamilyRevoke: Bool {
        revocationType.map { $0 == "FAMILY_REVOKE" || Vocabulary.Revocation.seats.contains($0) } ?? isPaidByAnother
    }

    /// Without what differs from statement to statement.
    fileprivate var bare: Transaction {
        var bare = self
        bare.signedDate = .distantPast
        bare.evidence = nil
        bare.sources = nil
        bare.teller = nil
        return bare
    }
}
