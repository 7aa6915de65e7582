import Persistence
import PurchaseModel
import ServiceRuntime

/// A request for a refund with what Apple was told, or would be told now.
///
/// It is `RefundRequestPreview` in the OpenAPI document.
struct RefundPreviewAnswer: Encodable, Sendable {
    /// Why Apple would not be told now.
    enum Withheld: String, Encodable, Sendable {
        /// Nobody has the purchase, so nobody consents.
        case nobodys
        /// The account was never asked for its consent.
        case neverAsked = "never_asked"
        /// The account does not consent.
        case noConsent = "no_consent"
    }

    /// What became of an item.
    struct Item: Encodable, Sendable {
        let item: String
        let granted: Int64
        let used: Int64
    }

    /// What Apple would be told: `ConsumptionAnswer` in the OpenAPI document.
    struct Answer: Encodable, Sendable {
        let delivered: Bool
        let sampleContentProvided: Bool
        let consumptionPercentage: Int?
        let refundPreference: String?

        enum CodingKeys: String, CodingKey {
            case delivered
            case sampleContentProvided = "sample_content_provided"
            case consumptionPercentage = "consumption_percentage"
            case refundPreference = "refund_preference"
        }

        init(_ answer: ConsumptionAnswer) {
            (delivered, sampleContentProvided) = (answer.isDelivered, answer.hasSample)
            consumptionPercentage = answer.consumed
            refundPreference = answer.preference?.rawValue.uppercased()
        }
    }

    private enum Key: String, CodingKey {
        case items, withheld, sent
        case spendsHere = "spends_here"
        case wouldSend = "would_send"
    }

    let request: AppleCallReading.Request
    let items: [Item]
    let spendsHere: Bool
    let wouldSend: Answer?
    let withheld: Withheld?

    /// - Parameters:
    ///   - found: what is known of the use of the order; nil where there is none.
    ///   - catalogue: the text of the catalogue; nil where none was in use yet.
    init(_ request: AppleCallReading.Request, _ found: ConsumptionReading.Found?, catalogue: String?) {
        self.request = request
        items = found?.facts.items.map { Item(item: $0.item, granted: $0.granted, used: $0.used) } ?? []
        spendsHere = found?.facts.spendsHere ?? false
        // What fulfillment took is readable, or an older version took it.
        let catalogue = catalogue.flatMap { try? CatalogueFile.read($0, path: "catalogues").catalogue }
        wouldSend =
            if let found, let catalogue {
                Answer(
                    ConsumptionAnswer(
                        found.facts,
                        policy: catalogue.product(app: found.app, id: found.productId)?.refund ?? .silent,
                        now: found.now))
            } else {
                nil
            }
        withheld =
            switch (request.account, request.consented) {
            case (nil, _): .nobodys
            case (_, nil): .neverAsked
            case (_, false?): .noConsent
            case (_, true?): nil
            }
    }

    func encode(to encoder: any Encoder) throws {
        try RefundRequestAnswer(request).encode(to: encoder)
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(items, forKey: .items)
        try members.encode(spendsHere, forKey: .spendsHere)
        try members.encodeIfPresent(wouldSend, forKey: .wouldSend)
        try members.encodeIfPresent(withheld, forKey: .withheld)
        try members.encodeIfPresent(request.body, forKey: .sent)
    }
}
