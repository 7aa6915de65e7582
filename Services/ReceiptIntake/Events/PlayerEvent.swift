import Foundation
import Logging
import Messages
import Persistence
import PurchaseModel
import ServiceRuntime

/// An event as its player may see it: `AccountEvent` in the OpenAPI document.
///
/// It has what the player reads of the own orders, and nothing that a later version adds to events: no app account token
/// (after a transfer it is the other account's), no other account's name, no identifier of Apple's customer, no correlation id.
struct PlayerEvent: Encodable, Sendable {
    let id: String
    let type: String
    let timestamp: Date
    let schemaVersion: String
    let store: Store
    let environment: StoreEnvironment
    let app: String
    let customer: Customer?
    let data: Payload

    enum CodingKeys: String, CodingKey {
        case id, type, timestamp, store, environment, app, customer, data
        case schemaVersion = "schema_version"
    }

    struct Customer: Encodable, Sendable {
        let id: String
        let sequence: Int64
    }

    struct Payload: Encodable, Sendable {
        let transaction: Transaction?
        let state: OrderState?
        let reason: ReasonCode?
        let entries: [Catalogue.ItemGrant]
        let entitlements: [String]
        let subscription: SubscriptionStanding?
        let previousSubscription: SubscriptionStanding?
        let binding: Binding?

        enum CodingKeys: String, CodingKey {
            case transaction, state, reason, entries, entitlements, subscription, binding
            case previousSubscription = "previous_subscription"
        }
    }

    /// Whose it was and is, where that is the player; another account is left out.
    struct Binding: Encodable, Sendable {
        let from: String?
        let to: String?
        let cause: BindingChange.Cause
    }

    /// What a player's app asks of a transaction.
    struct Transaction: Encodable, Sendable {
        let transactionId: String
        let originalTransactionId: String
        let productId: String
        let productType: ProductType
        let quantity: Int
        let purchaseDate: Date
        let expiresDate: Date?
        let revocationDate: Date?
        let revocationType: String?
        let revocationPercentage: Int64?
        let ownership: String?
        let priceMilliunits: Int64?
        let currency: String?
        let storefront: String?

        enum CodingKeys: String, CodingKey {
            case transactionId = "transaction_id"
            case originalTransactionId = "original_transaction_id"
            case productId = "product_id"
            case productType = "product_type"
            case quantity
            case purchaseDate = "purchased_at"
            case expiresDate = "expires_at"
            case revocationDate = "store_revoked_at"
            case revocationType = "revocation_type"
            case revocationPercentage = "revocation_percentage"
            case ownership
            case priceMilliunits = "price_milliunits"
            case currency, storefront
        }

        init(_ transaction: PurchaseModel.Transaction) {
            transactionId = transaction.transactionId
            originalTransactionId = transaction.originalTransactionId
            productId = transaction.productId
            productType = transaction.productType
            quantity = transaction.quantity
            purchaseDate = transaction.purchaseDate
            expiresDate = transaction.expiresDate
            revocationDate = transaction.revocationDate
            revocationType = transaction.revocationType
            revocationPercentage = transaction.revocationPercentage
            ownership = transaction.ownership
            priceMilliunits = transaction.priceMilliunits
            currency = transaction.currency
            storefront = transaction.storefront
        }
    }

    init(_ event: PurchaseEvent, for account: Account) {
        id = event.id
        type = event.type
        timestamp = event.timestamp
        schemaVersion = event.schemaVersion
        store = event.store
        environment = event.environment
        app = event.app
        customer = event.customer.map { Customer(id: $0.id, sequence: $0.sequence) }
        func own(_ other: Account?) -> String? { other == account ? account.text : nil }
        data = Payload(
            transaction: event.data.transaction.map(Transaction.init), state: event.data.state,
            reason: event.data.reason, entries: event.data.entries, entitlements: event.data.entitlements,
            subscription: event.data.subscription, previousSubscription: event.data.previousSubscription,
            binding: event.data.binding.map { Binding(from: own($0.from), to: own($0.to), cause: $0.cause) })
    }

    /// A page as a caller may see it; a player's is written anew.
    static func page(_ page: EventFeedStore.Page, for caller: Caller, logger: Logger) -> EventFeedStore.Page {
        guard case .account(_, let account, _) = caller else { return page }
        var own = page
        own.events = page.events.compactMap { event in
            do {
                let known = try MessageCoding.decode(PurchaseEvent.self, from: Array(event.body.utf8))
                let body = try MessageCoding.encode(PlayerEvent(known, for: account))
                return EventFeedStore.Event(position: event.position, body: String(decoding: body, as: UTF8.self))
            } catch {
                logger.warning("an event is not readable, and left out", metadata: .fields([.error: "\(error)"]))
                return nil
            }
        }
        return own
    }
}
