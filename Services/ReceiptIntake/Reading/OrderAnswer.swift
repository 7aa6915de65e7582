import Foundation
import Persistence
import PurchaseModel

/// What `GET /v1/orders/{transaction_id}` answers: `Order` in the OpenAPI document.
struct OrderAnswer: Encodable, Sendable {
    let app: String
    let store = Store.appStore
    let environment: StoreEnvironment
    let account: String?
    /// All that Apple gave the purchase, the order's own first.
    let transactionIds: [String]
    let transaction: TransactionAnswer
    /// In lower case; left out for players.
    let appAccountToken: String?
    /// The app's own number of the order, which it gave with the intent.
    let reference: String?
    let catalogueVersion: Int64?
    /// Left out for players, like what is estimated: it is between the studio and Apple.
    let priceExpected: Bool?
    let proceeds: Proceeds?
    let subscription: SubscriptionAnswer?
    let submissions: [Submission]
    let entries: [Entry]
    let entitlements: [OwnedEntitlement]
    let bindings: [Binding]
    let claims: [Claim]
    let events: [Event]
    /// Left out for players: they concern the studio's own servers.
    let deliveries: [Delivery]?

    enum CodingKeys: String, CodingKey {
        case app, store, environment, account, transaction, reference, proceeds, subscription, submissions, entries,
            entitlements
        case bindings, claims, events, deliveries
        case transactionIds = "transaction_ids"
        case appAccountToken = "app_account_token"
        case catalogueVersion = "catalogue_version"
        case priceExpected = "price_expected"
    }

    /// Something that was posted.
    struct Submission: Encodable, Sendable {
        let id: String
        /// Left out where Apple's servers posted it.
        let account: String?
        let kind: String
        let transactionId: String?
        let state: SubmissionState
        let reason: ReasonCode?
        let receivedAt: Date
        let settledAt: Date?

        enum CodingKeys: String, CodingKey {
            case id, account, kind, state, reason
            case transactionId = "transaction_id"
            case receivedAt = "received_at"
            case settledAt = "settled_at"
        }
    }

    /// A line of the ledger.
    struct Entry: Encodable, Sendable {
        let kind: String
        let account: String
        let item: String
        let amount: Int64
        let createdAt: Date

        enum CodingKeys: String, CodingKey {
            case kind, account, item, amount
            case createdAt = "created_at"
        }
    }

    /// Something that was told.
    struct Event: Encodable, Sendable {
        let id: String
        let type: String
        let account: String?
        let sequence: Int64?
        let reason: ReasonCode?
        let createdAt: Date

        enum CodingKeys: String, CodingKey {
            case id, type, account, sequence, reason
            case createdAt = "created_at"
        }
    }

    /// How one endpoint was told of one event.
    struct Delivery: Encodable, Sendable {
        let eventId: String
        let endpoint: String
        let state: String
        let attempts: Int
        let lastStatus: Int?
        let createdAt: Date
        let deliveredAt: Date?
        let dueAt: Date?

        enum CodingKeys: String, CodingKey {
            case endpoint, state, attempts
            case eventId = "event_id"
            case lastStatus = "last_status"
            case createdAt = "created_at"
            case deliveredAt = "delivered_at"
            case dueAt = "due_at"
        }
    }

    init(_ view: OrderView) {
        let story = view.story
        app = story.app
        environment = story.environment
        account = story.account
        transactionIds = story.transactionIds.map(\.text)
        transaction = TransactionAnswer(transaction: story.order)
        appAccountToken = view.appAccountToken?.uuidString.lowercased()
        reference = story.reference
        catalogueVersion = story.catalogueVersion
        priceExpected = view.isPriceExpected
        proceeds = view.proceeds.map(Proceeds.init)
        subscription = story.subscription.map(SubscriptionAnswer.init)
        bindings = view.bindings.map(Binding.init)
        claims = view.claims.map(Claim.init)
        submissions = view.submissions.map {
            Submission(
                id: $0.id, account: $0.account.isEmpty ? nil : $0.account, kind: $0.kind,
                transactionId: $0.namedTransactionId, state: $0.state,
                reason: $0.reason, receivedAt: $0.receivedAt, settledAt: $0.settledAt)
        }
        entries = view.entries.map {
            Entry(kind: $0.kind, account: $0.account, item: $0.item, amount: $0.amount, createdAt: $0.createdAt)
        }
        entitlements = view.entitlements.map(OwnedEntitlement.init)
        events = view.events.map {
            Event(
                id: $0.id, type: $0.type, account: $0.account, sequence: $0.sequence, reason: $0.reason,
                createdAt: $0.createdAt)
        }
        deliveries = view.deliveries?.map {
            Delivery(
                eventId: $0.eventId, endpoint: $0.endpointId, state: $0.state, attempts: $0.attempts,
                lastStatus: $0.lastStatus, createdAt: $0.createdAt, deliveredAt: $0.deliveredAt, dueAt: $0.dueAt)
        }
    }
}
