import AppStoreServerAPI
import Foundation
import Persistence
import PurchaseModel

/// What Apple would be told about a purchase, and why.
struct RefundPreview: Codable {
    /// What became of an item.
    struct Item: Codable {
        let item: String
        let granted: Int64
        let used: Int64
    }

    let environment: StoreEnvironment
    let transactionId: String
    let app: String
    let productId: String
    let account: String?
    /// What the account said; nil where nobody asked it.
    let consented: Bool?
    let items: [Item]
    /// Whether players of the app spend through Countersign.
    let spendsHere: Bool
    /// The body that would be sent now, with consent.
    let wouldSend: String
    /// Why it would not be sent; nil where it would.
    let withheld: String?
    /// What Apple asked, and was told.
    let requests: [AppleCallReading.Call]

    init(_ found: ConsumptionReading.Found, calls: [AppleCallReading.Call], _ catalogue: Catalogue) throws {
        environment = found.order.environment
        transactionId = found.order.transactionId
        (app, productId, account, consented) = (found.app, found.productId, found.account?.text, found.consented)
        items = found.facts.items.map { Item(item: $0.item, granted: $0.granted, used: $0.used) }
        spendsHere = found.facts.spendsHere
        let policy = catalogue.product(app: found.app, id: found.productId)?.refund ?? .silent
        wouldSend = try ConsumptionRequest(
            ConsumptionAnswer(found.facts, policy: policy, now: found.now)
        ).bodyText()
        withheld =
            switch (found.account, found.consented) {
            case (nil, _): "nobody has the purchase, so nobody consents"
            case (_, nil): "the account was never asked for its consent"
            case (_, false?): "the account does not consent"
            case (_, true?): nil
            }
        requests = calls.filter { $0.kind == AppleCallStore.Kind.consumption.rawValue }
    }

    /// In lines, for people.
    var text: String {
        var lines = [
            "\(environment.rawValue) \(transactionId): \(productId) of \(app), \(account.map { "\($0)'s" } ?? "nobody's")"
        ]
        for item in items {
            lines.append(
                spendsHere
                    ? "  \(item.item): \(item.used) of \(item.granted) used"
                    : "  \(item.item): \(item.granted) granted; nothing is spent through Countersign, so their use is not known"
            )
        }
        lines.append("  would send: \(wouldSend)")
        lines.append(
            withheld.map { "  but it is not sent: \($0)" } ?? "  the account consents: it is sent when Apple asks")
        if requests.isEmpty { lines.append("  Apple has not asked about it") }
        lines += requests.map(Self.line)
        return lines.joined(separator: "\n")
    }

    private static func line(_ call: AppleCallReading.Call) -> String {
        let asked = call.requestedAt.map { "Apple asked at \($0.formatted(.iso8601))" } ?? "Apple asked"
        let why = call.requestReason.map { " (\($0))" } ?? ""
        let answer = [call.status.map { "HTTP \($0)" }, call.code.map { "code \($0)" }, call.outcome].compactMap(\.self)
        let detail = answer.isEmpty ? "" : " (\(answer.joined(separator: ", ")))"
        let state =
            switch call.state {
            case "done": "answered at \(call.finishedAt?.formatted(.iso8601) ?? "?")\(detail): \(call.body ?? "")"
            case "asked": "waits for consent, or to be looked at, until \(call.deadlineAt?.formatted(.iso8601) ?? "?")"
            case "ready": "to be sent, \(call.attempts) attempts so far\(detail)"
            default: "\(call.state)\(detail)"
            }
        return "  \(asked)\(why): \(state)"
    }
}

extension ConsumptionRequest {
    /// What a worker sends.
    init(_ answer: ConsumptionAnswer) {
        self.init(
            customerConsented: true, sampleContentProvided: answer.hasSample,
            deliveryStatus: answer.isDelivered ? .delivered : .undeliveredOther,
            consumptionPercentage: answer.consumed,
            refundPreference: answer.preference.map { RefundPreference(rawValue: $0.rawValue.uppercased()) })
    }
}
