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
        /// Where it belongs among the others.
        ///
        /// It is ``at``, unless its cause or its effect says otherwise, and is not answered.
        let place: Date

        init(at: Date, text: String, place: Date? = nil) {
            (self.at, self.text, self.place) = (at, text, place ?? at)
        }

        private enum CodingKeys: String, CodingKey {
            case at, text
        }
    }

    /// `Why` in the OpenAPI document.
    struct Answer: Encodable, Sendable {
        let sentences: [Sentence]
    }

    /// The sentences in the order of time; of one time, cause before effect.
    ///
    /// What Apple dates is by another clock, and often to the second: its place is where it can be a cause.
    static func sentences(_ view: OrderView) -> [Sentence] {
        var all = [bought(view)] + view.submissions.map(received) + [verified(view.story)]
        all += view.furtherIds.map(recorded) + priced(view)
        all += view.claims.map(claimed) + view.bindings.map(bound) + view.events.compactMap(parked) + decided(view)
        all += view.entries.map(entry) + view.entitlements.flatMap { entitled($0, in: view) } + stands(view)
        all += view.submissions.compactMap(settled) + view.events.map(told) + (view.deliveries ?? []).map(delivered)
        // Rows of one transaction have one time, so the order above decides between them.
        return all.enumerated().sorted { ($0.element.place, $0.offset) < ($1.element.place, $1.offset) }.map(\.element)
    }

    /// The sentences as lines of text.
    static func text(_ sentences: [Sentence]) -> String {
        sentences.map { "\(MessageCoding.text($0.at))  \($0.text)\n" }.joined()
    }

    private static func bought(_ view: OrderView) -> Sentence {
        let (story, order) = (view.story, view.story.order)
        var text = "Bought \(order.quantity) × \(order.productId) (\(words(order.productType)))"
        if let price = order.priceMilliunits, let currency = order.currency {
            text += " for \(money(price)) \(currency)"
        }
        if let storefront = order.storefront { text += " in the storefront \(storefront)" }
        text += story.environment == .sandbox ? ", in the sandbox" : ""
        if let test = order.testPurchase { text += ", as a test purchase (\(words(test)))" }
        if order.ownership == "FAMILY_SHARED" { text += ", by a member of the family who shares it" }
        if order.ownership == "ASSIGNED" { text += ", as a seat that an organisation assigned" }
        if order.originalTransactionId != order.transactionId { text += ", as part of \(order.originalTransactionId)" }
        if let token = view.appAccountToken { text += ", with the appAccountToken \(token.uuidString.lowercased())" }
        // Nothing of an order comes before it was bought.
        return Sentence(at: order.purchaseDate, text: text + ".", place: .distantPast)
    }

    private static func received(_ submission: OrderReadingStore.Submission) -> Sentence {
        let proof =
            switch ProofKind(rawValue: submission.kind) {
            case .signedTransaction: "a signed transaction"
            case .receipt:
                "a receipt" + (submission.namedTransactionId.map { " that names the transaction \($0)" } ?? "")
            case .transactionId: "a transaction id"
            case .orderId: "an order id"
            case .serverNotification: "a server notification"
            case .subscriptionStatus: "a subscription status"
            default: words(submission.kind)
            }
        let account = submission.account.isEmpty ? nil : "account \(submission.account)"
        guard !submission.isImported else {
            let owner = account.map { ", as \($0)'s," } ?? ""
            return Sentence(
                at: submission.receivedAt,
                text: "Imported \(proof)\(owner) from an older system by submission \(submission.id).")
        }
        let poster = account ?? "Apple"
        return Sentence(
            at: submission.receivedAt, text: "Received \(proof) from \(poster) by submission \(submission.id).")
    }

    private static func verified(_ story: OrderReadingStore.Story) -> Sentence {
        var text = "Verified: the newest that Apple signed of it is of \(MessageCoding.text(story.signedDate))"
        if let expires = story.order.expiresDate { text += ", and it is paid until \(MessageCoding.text(expires))" }
        return Sentence(at: story.order.recordedAt, text: text + ".")
    }

    /// That Apple has another transaction id for it.
    private static func recorded(_ id: OrderView.FurtherId) -> Sentence {
        let source = id.submissionId.map { ", by submission \($0)" } ?? ""
        return Sentence(
            at: id.row.createdAt,
            text: "Recorded that Apple's transaction id \(id.row.text) is of the same purchase\(source).")
    }

    /// That it was held back once, even when it no longer is.
    private static func parked(_ event: OrderReadingStore.Event) -> Sentence? {
        guard event.type == PurchaseEvent.unclaimed, let reason = event.reason else { return nil }
        return Sentence(at: event.createdAt, text: "Parked because \(Reason.of(reason).because) (\(reason)).")
    }

    private static func settled(_ submission: OrderReadingStore.Submission) -> Sentence? {
        guard let at = submission.settledAt else {
            guard let due = submission.dueAt else { return nil }
            let why = submission.reason.map { ", because \(Reason.of($0).because) (\($0))" } ?? ""
            return Sentence(
                at: submission.receivedAt,
                text: "Submission \(submission.id) has no outcome yet\(why); next try \(MessageCoding.text(due)).")
        }
        let why = submission.reason.map { ", because \(Reason.of($0).because) (\($0))" } ?? ""
        return Sentence(
            at: at, text: "Submission \(submission.id) was answered: \(words(submission.state.rawValue))\(why).")
    }

    private static func told(_ event: OrderReadingStore.Event) -> Sentence {
        let number = event.sequence.map { ", number \($0) of its account" } ?? ""
        let meaning = EventSentence.meaning(of: event.type).map { ": \($0)" } ?? ""
        let state = event.isTakenOver ? "" : "; it waits to be sent"
        return Sentence(
            at: event.createdAt,
            text: "Event \(event.type) was written (\(event.id)\(number))\(meaning)\(state).")
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
    static func words(_ name: String) -> String { name.replacing("_", with: " ") }

    /// Thousandths as a decimal number, in integers throughout.
    static func money(_ milliunits: Int64) -> String {
        let magnitude = milliunits.magnitude
        var fraction = String(magnitude % 1000 + 1000).dropFirst()
        if fraction.hasSuffix("0") { fraction = fraction.dropLast() }
        return "\(milliunits < 0 ? "-" : "")\(magnitude / 1000).\(fraction)"
    }
}
