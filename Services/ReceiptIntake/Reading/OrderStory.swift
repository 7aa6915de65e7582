import Foundation
import Messages
import Persistence
import PurchaseModel

/// The story of one order in plain sentences, each from a row that is there.
enum OrderStory {
    /// What happened at a time: `Sentence` in the OpenAPI document.
    struct Sentence: Encodable, Sendable, Equatable {
        /// When it happened.
        let at: Date
        /// What happened, for a person.
        let text: String
    }

    /// `Why` in the OpenAPI document.
    struct Answer: Encodable, Sendable {
        let sentences: [Sentence]
    }

    /// The sentences in the order of time; of one time, cause before effect.
    static func sentences(_ view: OrderView) -> [Sentence] {
        let all =
            [bought(view.story)] + view.submissions.map(received) + [verified(view.story)]
            + view.events.compactMap(parked) + decided(view) + view.entries.map(entry)
            + view.story.entitlements.map { entitled($0, view.story) } + view.submissions.compactMap(settled)
            + view.events.map(told) + (view.deliveries ?? []).map(delivered)
        // Rows of one transaction have one time, so the order above decides between them.
        return all.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }

    /// The sentences as lines of text.
    static func text(_ sentences: [Sentence]) -> String {
        sentences.map { "\(MessageCoding.text($0.at))  \($0.text)\n" }.joined()
    }

    private static func bought(_ story: OrderReadingStore.Story) -> Sentence {
        let order = story.order
        var text = "Bought \(order.quantity) × \(order.productId) (\(words(order.productType)))"
        if let price = order.priceMilliunits, let currency = order.currency {
            text += " for \(money(price)) \(currency)"
        }
        if let storefront = order.storefront { text += " in the storefront \(storefront)" }
        text += story.environment == .sandbox ? ", in the sandbox" : ""
        if let test = order.testPurchase { text += ", as a test purchase (\(words(test)))" }
        if order.originalTransactionId != order.transactionId { text += ", as part of \(order.originalTransactionId)" }
        return Sentence(at: order.purchaseDate, text: text + ".")
    }

    private static func received(_ submission: OrderReadingStore.Submission) -> Sentence {
        let proof =
            switch ProofKind(rawValue: submission.kind) {
            case .signedTransaction: "a signed transaction"
            case .receipt:
                "a receipt" + (submission.namedTransactionId.map { " that names the transaction \($0)" } ?? "")
            case .transactionId: "a transaction id"
            default: words(submission.kind)
            }
        return Sentence(
            at: submission.receivedAt,
            text: "Received \(proof) from account \(submission.account) by submission \(submission.id).")
    }

    private static func verified(_ story: OrderReadingStore.Story) -> Sentence {
        var text = "Verified: Apple's word for it is of \(MessageCoding.text(story.signedDate))"
        if let expires = story.order.expiresDate { text += ", and it is paid until \(MessageCoding.text(expires))" }
        return Sentence(at: story.order.recordedAt, text: text + ".")
    }

    /// That it was held back once, even when it no longer is.
    private static func parked(_ event: OrderReadingStore.Event) -> Sentence? {
        guard event.type == PurchaseEvent.unclaimed, let reason = event.reason else { return nil }
        return Sentence(at: event.createdAt, text: "Parked because \(ReasonSentence.because(reason)) (\(reason)).")
    }

    private static func decided(_ view: OrderView) -> [Sentence] {
        let order = view.story.order
        let recipient = view.story.account.map { "account \($0)" } ?? "nobody"
        var sentences: [Sentence] = []
        if let revoked = order.revocationDate {
            sentences.append(Sentence(at: revoked, text: "Apple took the purchase back."))
        }
        if let granted = order.grantedAt {
            sentences.append(Sentence(at: granted, text: "Granted to \(recipient)."))
        } else if let reason = order.reason {
            let isParked = order.state == OrderState.parked.rawValue
            let isTold = view.events.contains { $0.type == PurchaseEvent.unclaimed && $0.reason == reason }
            if isParked, !isTold {
                sentences.append(
                    Sentence(
                        at: order.recordedAt, text: "Parked because \(ReasonSentence.because(reason)) (\(reason))."))
            } else if !isParked {
                sentences.append(
                    Sentence(
                        at: order.recordedAt,
                        text: "It is \(words(order.state)), because \(ReasonSentence.because(reason)) (\(reason))."))
            }
        }
        return sentences
    }

    private static func entry(_ entry: OrderReadingStore.Entry) -> Sentence {
        let text =
            entry.amount > 0
            ? "Credited \(entry.amount) \(entry.item) to account \(entry.account)"
            : "Took \(entry.amount.magnitude) \(entry.item) from account \(entry.account)"
        return Sentence(at: entry.createdAt, text: text + " (ledger: \(words(entry.kind))).")
    }

    private static func entitled(
        _ entitlement: AccountStore.Entitlement, _ story: OrderReadingStore.Story
    ) -> Sentence {
        let end = entitlement.expiresAt.map { "until \(MessageCoding.text($0))" } ?? "for ever"
        let account = story.account.map { "Account \($0)" } ?? "The account"
        return Sentence(at: entitlement.grantedAt, text: "\(account) may use \(entitlement.name) \(end).")
    }

    private static func settled(_ submission: OrderReadingStore.Submission) -> Sentence? {
        guard let at = submission.settledAt else {
            guard let due = submission.dueAt else { return nil }
            let why = submission.reason.map { ", because \(ReasonSentence.because($0)) (\($0))" } ?? ""
            return Sentence(
                at: submission.receivedAt,
                text: "Submission \(submission.id) has no outcome yet\(why); next try \(MessageCoding.text(due)).")
        }
        let why = submission.reason.map { ", because \(ReasonSentence.because($0)) (\($0))" } ?? ""
        return Sentence(at: at, text: "Submission \(submission.id) was answered: \(words(submission.state))\(why).")
    }

    private static func told(_ event: OrderReadingStore.Event) -> Sentence {
        let number = event.sequence.map { ", number \($0) of its account" } ?? ""
        let state = event.isTakenOver ? "" : ", and waits to be sent"
        return Sentence(at: event.createdAt, text: "Event \(event.type) was written (\(event.id)\(number))\(state).")
    }

    private static func delivered(_ delivery: OrderReadingStore.Delivery) -> Sentence {
        let attempts = delivery.attempts == 1 ? "1 attempt" : "\(delivery.attempts) attempts"
        let status = delivery.lastStatus.map { ", last answer \($0)" } ?? ""
        let webhook = "Webhook of \(delivery.eventId) to endpoint \(delivery.endpointId)"
        if let at = delivery.deliveredAt {
            return Sentence(at: at, text: "\(webhook) was delivered after \(attempts).")
        }
        let text =
            if let due = delivery.dueAt {
                "\(webhook) is not delivered yet after \(attempts)\(status); next try \(MessageCoding.text(due))."
            } else {
                "\(webhook) was given up after \(attempts)\(status)."
            }
        return Sentence(at: delivery.createdAt, text: text)
    }

    /// `auto_renewable` as people write it.
    private static func words(_ name: String) -> String { name.replacing("_", with: " ") }

    /// Thousandths as a decimal number, in integers throughout.
    static func money(_ milliunits: Int64) -> String {
        let magnitude = milliunits.magnitude
        var fraction = String(magnitude % 1000 + 1000).dropFirst()
        if fraction.hasSuffix("0") { fraction = fraction.dropLast() }
        return "\(milliunits < 0 ? "-" : "")\(magnitude / 1000).\(fraction)"
    }
}

/// Reasons as half sentences for a person; a verifier's own words are told as they are.
enum ReasonSentence {
    /// What goes on after "because".
    static func because(_ reason: ReasonCode) -> String {
        switch reason {
        case .belongsToAnotherAccount: "it is another account's"
        case .sandboxRefused: "the app's configuration refuses sandbox purchases"
        case .appUnknown: "no app of its bundle id is configured"
        case .environmentMissing: "Apple's data does not say whether money was paid"
        case .productUnknown: "the catalogue does not know the product"
        case .productTypeMismatch: "the catalogue says another type of product than Apple"
        case .accountTokenUnknown: "its appAccountToken is no account's that we know"
        case .amountTooLarge: "the grant is greater than an amount can be"
        case .revokedByApple: "Apple took it back before it was granted"
        case .unclaimed: "a receipt held it that was posted for another transaction, and nobody has named it"
        case .claimUnnamed: "the receipt holds several purchases and the app named none"
        case .transactionNotInReceipt: "the named transaction is not in the receipt"
        case .receiptWithoutPurchases: "the receipt holds no purchase"
        case .transactionNotFound: "Apple knows no transaction of this id"
        case .rateLimited: "Apple's limits left no room to ask"
        case .appStoreUnavailable: "Apple's servers did not answer"
        case .appStoreUnauthorized: "Apple refused our key"
        case .appStoreNotConfigured: "the app's settings lack what it takes to ask Apple"
        default: "of “\(reason.rawValue.replacing("_", with: " "))”"
        }
    }
}
