import Foundation
import Messages
import Persistence
import PurchaseModel

/// Whose an order came to be, and where its subscription stands.
extension OrderStory {
    /// That the order's lineage came to an account.
    static func bound(_ binding: OrderView.Binding) -> Sentence {
        let (from, to) = (binding.from, binding.to)
        let parties = ["from": from.name ?? from.words, "to": to.name ?? to.words]
        var told =
            if binding.row.cause == BindingChange.Cause.share.rawValue {
                StoryWords("\(sentenceStart(to)) may use it beside \(from.words)", .ownerShares, parties)
            } else if from == .nobody {
                StoryWords("It came to \(to.words)", .ownerIs, ["to": to.name ?? to.words])
            } else {
                StoryWords("It went from \(from.words) to \(to.words)", .ownerChanged, parties)
            }
        let (cause, policy) = (binding.row.cause, binding.row.policy ?? binding.row.cause)
        switch cause {
        case "token": told.add(", because Apple's signed data names the account", .becauseOfToken)
        case "possession": told.add(", because it posted the purchase while it was nobody's", .becauseOfPossession)
        case "purchase":
            told.add(", because it paid for a new period after the subscription had lapsed", .becauseOfPurchase)
        case "transfer", "share": told.add(", by the restore policy \(policy)", .becauseOfPolicy, ["policy": policy])
        case "operator": told.add(", because an operator said so", .becauseOfOperator)
        default: told.add(", because of “\(words(cause))”", .becauseOf, ["cause": cause])
        }
        return Sentence(at: binding.row.createdAt, told.ending(" (\(cause))."))
    }

    /// An operator's word.
    static func claimed(_ claim: OrderView.Claim) -> Sentence {
        var told = StoryWords("An operator", .claimed, ["account": claim.account])
        if let actor = claim.actor { told.add(" (\(actor))", .claimedBy, ["actor": actor]) }
        told.add(" said that it is account \(claim.account)'s")
        if let reason = claim.reason { told.add(": “\(reason)”", .claimedBecause, ["note": reason]) }
        told.add(".")
        if claim.isPending { told.add(" It is still to be taken up.", .claimPending) }
        return Sentence(at: claim.createdAt, told)
    }

    /// Where the subscription stands whose period the order is.
    static func stands(_ view: OrderView) -> [Sentence] {
        guard let subscription = view.story.subscription else { return [] }
        let standing = subscription.standing
        var told = state(of: standing)
        if standing.state.hasAccess, let willRenew = standing.willRenew {
            if !willRenew {
                told.add(", and will not renew", .willNotRenew)
            } else if let next = standing.renewalProductId, next != standing.productId {
                told.add(", and will renew as \(next)", .willRenewAs, ["product_id": next])
            } else {
                told.add(", and will renew", .willRenew)
            }
        }
        let period = standing.transactionId == view.story.order.transactionId ? "this order" : standing.transactionId
        return [
            Sentence(
                at: subscription.changedAt,
                told.ending(" (\(standing.state.rawValue), by \(period) of \(standing.productId))."))
        ]
    }

    private static func state(of standing: SubscriptionStanding) -> StoryWords {
        let id = standing.originalTransactionId
        let (expires, grace) = (MessageCoding.text(standing.expiresDate), MessageCoding.text(standing.accessUntil))
        var values = ["original_transaction_id": id, "product_id": standing.productId]
        let (text, code): (String, StoryCode)
        switch standing.state {
        case .active:
            (text, code) = ("is active until \(expires)", .subscriptionActive)
            values["expires_at"] = expires
        case .expired: (text, code) = ("has expired", .subscriptionExpired)
        case .billingRetry:
            (text, code) = ("is over for now; the App Store still tries to charge", .subscriptionBillingRetry)
        case .gracePeriod:
            (text, code) = ("has an unpaid renewal, with grace until \(grace)", .subscriptionGracePeriod)
            values["expires_at"] = grace
        case .revoked: (text, code) = ("is over, because its period was taken back", .subscriptionRevoked)
        }
        return StoryWords("The subscription \(id) \(text)", code, values)
    }

    private static func sentenceStart(_ party: OrderView.Party) -> String {
        party.words.prefix(1).uppercased() + party.words.dropFirst()
    }
}
