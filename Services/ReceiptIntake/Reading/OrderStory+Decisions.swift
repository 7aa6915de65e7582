import Foundation
import Messages
import Persistence
import PurchaseModel

/// What was decided about an order: granted, parked, taken back, and by what.
extension OrderStory {
    /// That it was granted, or why not; that Apple took it back, and what came of that.
    static func decided(_ view: OrderView) -> [Sentence] {
        let order = view.story.order
        var sentences: [Sentence] = []
        if let revoked = order.revocationDate {
            sentences.append(
                Sentence(at: revoked, text: takenBackByApple(order), place: place(ofRevocation: revoked, order)))
        }
        if let granted = order.grantedAt {
            let catalogue = view.story.catalogueVersion.map { " by catalogue \($0)" } ?? ""
            let text =
                order.isGrantedElsewhere
                ? "Recorded for \(view.grantee.words) as granted by the older system, before the cut-over: nothing was credited."
                : "Granted to \(view.grantee.words)\(catalogue)."
            sentences.append(Sentence(at: granted, text: text))
        }
        guard let reason = order.reason else { return sentences }
        let because = "because \(Reason.of(reason).because)\(reason == .vocabularyUnknown ? held(order) : "")"
        if order.state == .parked {
            let isTold = view.events.contains { $0.type == PurchaseEvent.unclaimed && $0.reason == reason }
            guard !isTold else { return sentences }
            sentences.append(Sentence(at: order.recordedAt, text: "Parked \(because) (\(reason))."))
        } else if order.grantedAt != nil {
            sentences.append(
                Sentence(
                    at: order.revokedAt ?? order.recordedAt,
                    text:
                        "It is \(words(order.state.rawValue)), \(because) (\(reason)): "
                        + (order.isGrantedElsewhere
                            ? "what may be used was taken back; items are the older system's to take."
                            : "what it had brought was taken back as far as the catalogue says.")))
        } else {
            sentences.append(
                Sentence(
                    at: order.revokedAt ?? order.recordedAt,
                    text: "It is \(words(order.state.rawValue)), \(because) before it was granted (\(reason))."))
        }
        return sentences
    }

    /// A date of whole seconds means all of its second, so a grant of that second came first; and what was taken back because
    /// of it came later, whatever Apple's clock said.
    static func place(ofRevocation date: Date, _ order: AccountStore.Transaction) -> Date {
        let seconds = date.timeIntervalSince1970
        let end = seconds == seconds.rounded(.down) ? date.addingTimeInterval(0.999) : date
        let effect = order.revokedAt ?? (order.grantedAt == nil ? order.recordedAt : nil)
        return effect.map { min(end, $0) } ?? end
    }

    /// The words for which it is held, where its row shows them.
    private static func held(_ order: AccountStore.Transaction) -> String {
        let words = Vocabulary.unusual(type: ProductType(appleName: order.productType), ownership: order.ownership)
        return words.isEmpty ? "" : ": " + words.map { "\($0.field) “\($0.text)”" }.joined(separator: ", ")
    }

    private static func takenBackByApple(_ order: AccountStore.Transaction) -> String {
        let share = order.revocationPercentage.map { " \(percent($0)) of the price" }
        switch order.revocationType {
        case "REFUND_FULL": return "Apple refunded the purchase in full."
        case "REFUND_PRORATED": return "Apple refunded\(share ?? " a part of the price")."
        case "FAMILY_REVOKE": return "Family Sharing of the purchase ended."
        case "ASSIGNMENT_REVOKE", "ASSIGNMENT_REVOKED": return "The seat was taken back."
        default: return "Apple took the purchase back\(share.map { ", with\($0)" } ?? "")."
        }
    }

    /// What a line of the ledger did.
    static func entry(_ entry: OrderReadingStore.Entry) -> Sentence {
        let (amount, account) = ("\(entry.amount.magnitude) \(entry.item)", "account \(entry.account)")
        let text =
            switch (entry.kind, entry.amount > 0) {
            case ("reversal", true): "Gave \(amount) back to \(account)"
            case ("correction", _): "Took \(amount) from \(account), which should not have got it"
            case (_, true): "Credited \(amount) to \(account)"
            case (_, false): "Took \(amount) from \(account)"
            }
        return Sentence(at: entry.createdAt, text: text + " (ledger: \(words(entry.kind))).")
    }

    /// What an account may use because of it, and since when no more.
    static func entitled(_ owned: OrderReadingStore.OwnedEntitlement, in view: OrderView) -> [Sentence] {
        let entitlement = owned.entitlement
        // An entitlement that moved keeps the time when it was given; it is the account's since the move.
        let moved = view.bindings.last { $0.to.isAccount(owned.account) }?.row.createdAt
        let end = entitlement.expiresAt.map { "until \(MessageCoding.text($0))" } ?? "for ever"
        let given = Sentence(
            at: max(entitlement.grantedAt, moved ?? entitlement.grantedAt),
            text: "Account \(owned.account) may use \(entitlement.name) \(end).")
        guard let revoked = entitlement.revokedAt, let cause = entitlement.revokedBecause else { return [given] }
        let because =
            switch cause {
            case "refund": "Apple refunded it"
            case "family_revoke": "Family Sharing ended"
            case "family_copy": "it is a family member's copy"
            case "consent_rescinded": "a guardian withdrew consent"
            case "upgraded": "the subscription was upgraded"
            default: "of “\(words(cause))”"
            }
        return [
            given,
            Sentence(
                at: revoked,
                text: "Account \(owned.account) may use \(entitlement.name) no more, because \(because) (\(cause))."),
        ]
    }

    /// Whether the price is what the catalogue expects, and what is estimated to remain of it.
    static func priced(_ view: OrderView) -> [Sentence] {
        let order = view.story.order
        var sentences: [Sentence] = []
        if let isExpected = view.isPriceExpected {
            let text =
                isExpected ? "The price is one that the catalogue expects." : "The catalogue expects another price."
            sentences.append(Sentence(at: order.recordedAt, text: text))
        }
        if let proceeds = view.proceeds, let currency = order.currency {
            let tax = proceeds.isTaxKnown ? "\(money(proceeds.tax)) tax" : "no tax that we know of"
            let refunded = proceeds.refunded == 0 ? "" : "; the refund takes \(money(proceeds.refunded)) of it"
            sentences.append(
                Sentence(
                    at: order.recordedAt,
                    text: "An estimate: of \(money(proceeds.gross)) \(currency), \(money(proceeds.estimated)) remain "
                        + "after \(tax) and \(money(proceeds.commission)) commission\(refunded)."))
        }
        return sentences
    }

    /// Thousandths of a per cent as a decimal number.
    static func percent(_ thousandths: Int64) -> String {
        var text = money(thousandths)
        while text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return text + " %"
    }
}
