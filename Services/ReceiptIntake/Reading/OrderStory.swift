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
        /// The same, clause by clause, for another language.
        let parts: [StoryWords.Part]
        /// Where it belongs among the others.
        ///
        /// It is ``at``, unless its cause or its effect says otherwise, and is not answered.
        let place: Date

        init(at: Date, _ words: StoryWords, place: Date? = nil) {
            (self.at, text, parts, self.place) = (at, words.text, words.parts, place ?? at)
        }

        private enum CodingKeys: String, CodingKey {
            case at, text, parts
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
        var told = StoryWords(
            "Bought \(order.quantity) × \(order.productId) (\(words(order.productType)))", .bought,
            ["quantity": "\(order.quantity)", "product_id": order.productId, "product_type": order.productType])
        if let price = order.priceMilliunits.map(money), let currency = order.currency {
            told.add(" for \(price) \(currency)", .boughtFor, ["price": price, "currency": currency])
        }
        if let storefront = order.storefront {
            told.add(" in the storefront \(storefront)", .boughtInStorefront, ["storefront": storefront])
        }
        if story.environment == .sandbox { told.add(", in the sandbox", .boughtInSandbox) }
        if let test = order.testPurchase { told.add(", as a test purchase (\(words(test)))", .boughtAsTest) }
        if order.ownership == "FAMILY_SHARED" { told.add(", by a member of the family who shares it", .boughtByFamily) }
        if order.ownership == "ASSIGNED" { told.add(", as a seat that an organisation assigned", .boughtAsSeat) }
        if order.originalTransactionId != order.transactionId {
            let original = order.originalTransactionId
            told.add(", as part of \(original)", .boughtAsPart, ["original_transaction_id": original])
        }
        if let token = view.appAccountToken?.uuidString.lowercased() {
            told.add(", with the appAccountToken \(token)", .boughtWithToken, ["token": token])
        }
        // Nothing of an order comes before it was bought.
        return Sentence(at: order.purchaseDate, told.ending("."), place: .distantPast)
    }

    private static func proof(_ kind: String) -> String {
        switch ProofKind(rawValue: kind) {
        case .signedTransaction: "a signed transaction"
        case .receipt: "a receipt"
        case .transactionId: "a transaction id"
        case .orderId: "an order id"
        case .serverNotification: "a server notification"
        case .subscriptionStatus: "a subscription status"
        default: words(kind)
        }
    }

    private static func received(_ submission: OrderReadingStore.Submission) -> Sentence {
        let account = submission.account.isEmpty ? nil : submission.account
        let values = ["kind": submission.kind, "submission_id": submission.id]
        let proof = proof(submission.kind)
        var told: StoryWords
        if submission.isImported {
            told = StoryWords("Imported \(proof)", .imported, values)
        } else if let account {
            told = StoryWords(
                "Received \(proof)", .receivedFromAccount, values.merging(["account": account]) { first, _ in first })
        } else {
            told = StoryWords("Received \(proof)", .receivedFromApple, values)
        }
        if let named = submission.namedTransactionId, submission.kind == ProofKind.receipt.rawValue {
            told.add(" that names the transaction \(named)", .receiptNames, ["transaction_id": named])
        }
        if submission.isImported {
            if let account { told.add(", as account \(account)'s,", .importedFor, ["account": account]) }
            return Sentence(
                at: submission.receivedAt, told.ending(" from an older system by submission \(submission.id)."))
        }
        let poster = account.map { "account \($0)" } ?? "Apple"
        return Sentence(at: submission.receivedAt, told.ending(" from \(poster) by submission \(submission.id)."))
    }

    private static func verified(_ story: OrderReadingStore.Story) -> Sentence {
        let signed = MessageCoding.text(story.signedDate)
        var told = StoryWords(
            "Verified: the newest that Apple signed of it is of \(signed)", .verified, ["signed_at": signed])
        if let expires = story.order.expiresDate.map(MessageCoding.text) {
            told.add(", and it is paid until \(expires)", .paidUntil, ["expires_at": expires])
        }
        return Sentence(at: story.order.recordedAt, told.ending("."))
    }

    /// That Apple has another transaction id for it.
    private static func recorded(_ id: OrderView.FurtherId) -> Sentence {
        var told = StoryWords(
            "Recorded that Apple's transaction id \(id.row.text) is of the same purchase", .furtherId,
            ["transaction_id": id.row.text])
        if let submission = id.submissionId {
            told.add(", by submission \(submission)", .bySubmission, ["submission_id": submission])
        }
        return Sentence(at: id.row.createdAt, told.ending("."))
    }

    /// That it was held back once, even when it no longer is.
    private static func parked(_ event: OrderReadingStore.Event) -> Sentence? {
        guard event.type == PurchaseEvent.unclaimed, let reason = event.reason else { return nil }
        return Sentence(
            at: event.createdAt,
            StoryWords(
                "Parked because \(Reason.of(reason).because) (\(reason)).", .parked, ["reason": reason.rawValue]))
    }

    private static func settled(_ submission: OrderReadingStore.Submission) -> Sentence? {
        let values = ["submission_id": submission.id]
        var told: StoryWords
        if submission.settledAt == nil {
            guard submission.dueAt != nil else { return nil }
            told = StoryWords("Submission \(submission.id) has no outcome yet", .noOutcome, values)
        } else if submission.account.isEmpty, submission.state == .fulfilled {
            // Apple's word, which nobody waited for: that it is in the books does not say that anybody has the goods.
            told = StoryWords(
                "What Apple told by submission \(submission.id) is recorded", .recordedFromApple, values)
        } else {
            let state = submission.state.rawValue
            told = StoryWords(
                "Submission \(submission.id) was answered: \(words(state))", .answered,
                values.merging(["state": state]) { first, _ in first })
        }
        if let reason = submission.reason {
            told.add(
                ", because \(Reason.of(reason).because) (\(reason))", .because, ["reason": reason.rawValue])
        }
        if submission.settledAt == nil, let due = submission.dueAt.map(MessageCoding.text) {
            told.add("; next try \(due)", .nextTry, ["due_at": due])
        }
        return Sentence(at: submission.settledAt ?? submission.receivedAt, told.ending("."))
    }

    private static func told(_ event: OrderReadingStore.Event) -> Sentence {
        let values = ["type": event.type, "event_id": event.id]
        var told = StoryWords("Event \(event.type) was written (\(event.id)", .eventWritten, values)
        if let number = event.sequence {
            told.add(", number \(number) of its account", .eventNumber, ["number": "\(number)"])
        }
        told.add(")")
        if let meaning = EventSentence.meaning(of: event.type) {
            told.add(": \(meaning)", .eventMeaning, ["type": event.type])
        }
        if !event.isTakenOver { told.add("; it waits to be sent", .eventWaits) }
        return Sentence(at: event.createdAt, told.ending("."))
    }

    private static func delivered(_ delivery: OrderReadingStore.Delivery) -> Sentence {
        let attempts = delivery.attempts == 1 ? "1 attempt" : "\(delivery.attempts) attempts"
        let webhook = "Webhook of \(delivery.eventId) to endpoint \(delivery.endpointId)"
        let values = [
            "event_id": delivery.eventId, "endpoint": delivery.endpointId, "attempts": "\(delivery.attempts)",
        ]
        if let at = delivery.deliveredAt {
            return Sentence(
                at: at, StoryWords("\(webhook) was delivered after \(attempts).", .webhookDelivered, values))
        }
        let due = delivery.dueAt.map(MessageCoding.text)
        var told =
            due == nil
            ? StoryWords("\(webhook) was given up after \(attempts)", .webhookGivenUp, values)
            : StoryWords("\(webhook) is not delivered yet after \(attempts)", .webhookWaits, values)
        if let status = delivery.lastStatus {
            told.add(", last answer \(status)", .lastAnswer, ["status": "\(status)"])
        }
        if let due { told.add("; next try \(due)", .nextTry, ["due_at": due]) }
        return Sentence(at: delivery.createdAt, told.ending("."))
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
