import Foundation
import Messages
import Persistence
import PurchaseModel

/// Whose an order came to be, and where its subscription stands.
extension OrderStory {
    /// That the order's lineage came to an account.
    static func bound(_ binding: OrderView.Binding) -> Sentence {
        let because =
            switch binding.row.cause {
            case "token": "because Apple's signed data names the account"
            case "possession": "because it posted the purchase while it was nobody's"
            case "purchase": "because it paid for a new period after the subscription had lapsed"
            case "transfer", "share": "by the restore policy \(binding.row.policy ?? binding.row.cause)"
            case "operator": "because an operator said so"
            default: "because of “\(words(binding.row.cause))”"
            }
        let text =
            if binding.row.cause == BindingChange.Cause.share.rawValue {
                "\(sentenceStart(binding.to)) may use it beside \(binding.from.words)"
            } else if binding.from == .nobody {
                "It came to \(binding.to.words)"
            } else {
                "It went from \(binding.from.words) to \(binding.to.words)"
            }
        return Sentence(at: binding.row.createdAt, text: "\(text), \(because) (\(binding.row.cause)).")
    }

    /// An operator's word.
    static func claimed(_ claim: OrderView.Claim) -> Sentence {
        let actor = claim.actor.map { " (\($0))" } ?? ""
        let reason = claim.reason.map { ": “\($0)”" } ?? ""
        let pending = claim.isPending ? " It is still to be taken up." : ""
        return Sentence(
            at: claim.createdAt,
            text: "An operator\(actor) said that it is account \(claim.account)'s\(reason).\(pending)")
    }

    /// Where the subscription stands whose period the order is.
    static func stands(_ view: OrderView) -> [Sentence] {
        guard let subscription = view.story.subscription else { return [] }
        let standing = subscription.standing
        let state =
            switch standing.state {
            case .active: "is active until \(MessageCoding.text(standing.expiresDate))"
            case .expired: "has expired"
            case .billingRetry: "is over for now; the App Store still tries to charge"
            case .gracePeriod: "has an unpaid renewal, with grace until \(MessageCoding.text(standing.accessUntil))"
            case .revoked: "is over, because its period was taken back"
            }
        var text = "The subscription \(standing.originalTransactionId) \(state)"
        if standing.state.hasAccess, let willRenew = standing.willRenew {
            text += willRenew ? ", and will renew" : ", and will not renew"
            if willRenew, let next = standing.renewalProductId, next != standing.productId { text += " as \(next)" }
        }
        let period = standing.transactionId == view.story.order.transactionId ? "this order" : standing.transactionId
        return [
            Sentence(
                at: subscription.changedAt,
                text: "\(text) (\(standing.state.rawValue), by \(period) of \(standing.productId)).")
        ]
    }

    private static func sentenceStart(_ party: OrderView.Party) -> String {
        party.words.prefix(1).uppercased() + party.words.dropFirst()
    }
}
