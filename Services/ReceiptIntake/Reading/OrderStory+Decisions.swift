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
                Sentence(at: revoked, takenBackByApple(order), place: place(ofRevocation: revoked, order)))
        }
        if let at = order.grantedAt { sentences.append(Sentence(at: at, granted(view))) }
        guard let reason = order.reason else { return sentences }
        if order.state == .parked {
            let isTold = view.events.contains { $0.type == PurchaseEvent.unclaimed && $0.reason == reason }
            guard !isTold else { return sentences }
            var told = StoryWords(
                "Parked because \(Reason.of(reason).because)", .parked, ["reason": reason.rawValue])
            addUnusualWords(of: order, to: &told)
            sentences.append(Sentence(at: order.recordedAt, told.ending(" (\(reason)).")))
        } else {
            sentences.append(Sentence(at: order.revokedAt ?? order.recordedAt, became(order, because: reason)))
        }
        return sentences
    }

    private static func granted(_ view: OrderView) -> StoryWords {
        let values = ["account": view.grantee.name ?? view.grantee.words]
        guard !view.story.order.isGrantedElsewhere else {
            return StoryWords(
                "Recorded for \(view.grantee.words) as granted by the older system, before the cut-over: nothing was credited.",
                .grantedElsewhere, values)
        }
        var told = StoryWords("Granted to \(view.grantee.words)", .granted, values)
        if let version = view.story.catalogueVersion {
            told.add(" by catalogue \(version)", .grantedByCatalogue, ["version": "\(version)"])
        }
        return told.ending(".")
    }

    /// That it is no longer what was granted, or never was.
    private static func became(_ order: AccountStore.Transaction, because reason: ReasonCode) -> StoryWords {
        let state = order.state.rawValue
        var told = StoryWords(
            "It is \(words(state)), because \(Reason.of(reason).because)", .became,
            ["state": state, "reason": reason.rawValue])
        addUnusualWords(of: order, to: &told)
        if order.grantedAt == nil {
            told.add(" before it was granted", .becameBeforeGrant)
            return told.ending(" (\(reason)).")
        }
        told.add(" (\(reason)): ")
        if order.isGrantedElsewhere {
            told.add("what may be used was taken back; items are the older system's to take.", .becameElsewhere)
        } else {
            told.add("what it had brought was taken back as far as the catalogue says.", .becameTookBack)
        }
        return told
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
    private static func addUnusualWords(of order: AccountStore.Transaction, to told: inout StoryWords) {
        guard order.reason == .vocabularyUnknown else { return }
        let unusual = Vocabulary.unusual(type: ProductType(appleName: order.productType), ownership: order.ownership)
        for (place, word) in unusual.enumerated() {
            told.add(
                "\(place == 0 ? ": " : ", ")\(word.field) “\(word.text)”", .unusualWord,
                ["field": word.field, "word": word.text])
        }
    }

    private static func takenBackByApple(_ order: AccountStore.Transaction) -> StoryWords {
        let share = order.revocationPercentage.map(percent)
        switch order.revocationType {
        case "REFUND_FULL": return StoryWords("Apple refunded the purchase in full.", .refundedInFull)
        case "REFUND_PRORATED":
            guard let share else { return StoryWords("Apple refunded a part of the price.", .refundedPart) }
            return StoryWords("Apple refunded \(share) of the price.", .refundedShare, ["percent": share])
        case "FAMILY_REVOKE": return StoryWords("Family Sharing of the purchase ended.", .familySharingEnded)
        case "ASSIGNMENT_REVOKE", "ASSIGNMENT_REVOKED": return StoryWords("The seat was taken back.", .seatTakenBack)
        default:
            var told = StoryWords("Apple took the purchase back", .takenBack)
            if let share { told.add(", with \(share) of the price", .takenBackShare, ["percent": share]) }
            return told.ending(".")
        }
    }

    /// What a line of the ledger did.
    static func entry(_ entry: OrderReadingStore.Entry) -> Sentence {
        let (amount, account) = ("\(entry.amount.magnitude) \(entry.item)", "account \(entry.account)")
        let (text, code): (String, StoryCode) =
            switch (entry.kind, entry.amount > 0) {
            case ("reversal", true): ("Gave \(amount) back to \(account)", .gaveBack)
            case ("correction", _): ("Took \(amount) from \(account), which should not have got it", .corrected)
            case (_, true): ("Credited \(amount) to \(account)", .credited)
            case (_, false): ("Took \(amount) from \(account)", .took)
            }
        let values = [
            "amount": "\(entry.amount.magnitude)", "item": entry.item, "account": entry.account, "entry": entry.kind,
        ]
        return Sentence(at: entry.createdAt, StoryWords(text + " (ledger: \(words(entry.kind))).", code, values))
    }

    /// What an account may use because of it, and since when no more.
    static func entitled(_ owned: OrderReadingStore.OwnedEntitlement, in view: OrderView) -> [Sentence] {
        let entitlement = owned.entitlement
        // An entitlement that moved keeps the time when it was given; it is the account's since the move.
        let moved = view.bindings.last { $0.to.isAccount(owned.account) }?.row.createdAt
        let (end, values) = (
            entitlement.expiresAt.map(MessageCoding.text), ["account": owned.account, "entitlement": entitlement.name]
        )
        let may = "Account \(owned.account) may use \(entitlement.name)"
        let given = Sentence(
            at: max(entitlement.grantedAt, moved ?? entitlement.grantedAt),
            end.map {
                StoryWords(
                    "\(may) until \($0).", .mayUseUntil, values.merging(["expires_at": $0]) { first, _ in first })
            } ?? StoryWords("\(may) for ever.", .mayUseForEver, values))
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
                StoryWords(
                    "\(may) no more, because \(because) (\(cause)).", .mayUseNoMore,
                    values.merging(["cause": cause]) { first, _ in first })),
        ]
    }

    /// Whether the price is what the catalogue expects, and what is estimated to remain of it.
    static func priced(_ view: OrderView) -> [Sentence] {
        let order = view.story.order
        var sentences: [Sentence] = []
        if let isExpected = view.isPriceExpected {
            sentences.append(
                Sentence(
                    at: order.recordedAt,
                    isExpected
                        ? StoryWords("The price is one that the catalogue expects.", .priceExpected)
                        : StoryWords("The catalogue expects another price.", .priceUnexpected)))
        }
        if let proceeds = view.proceeds, let currency = order.currency {
            let tax = proceeds.isTaxKnown ? "\(money(proceeds.tax)) tax" : "no tax that we know of"
            let (gross, remain) = (money(proceeds.gross), money(proceeds.estimated))
            let commission = money(proceeds.commission)
            var told = StoryWords(
                "An estimate: of \(gross) \(currency), \(remain) remain after \(tax) and \(commission) commission",
                .estimate,
                [
                    "gross": gross, "currency": currency, "proceeds": remain, "tax": money(proceeds.tax),
                    "commission": commission,
                ])
            if proceeds.refunded != 0 {
                let refunded = money(proceeds.refunded)
                told.add("; the refund takes \(refunded) of it", .estimateRefund, ["refunded": refunded])
            }
            sentences.append(Sentence(at: order.recordedAt, told.ending(".")))
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
