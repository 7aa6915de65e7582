import Foundation
import HTTPTypes
import Hummingbird
import Messages
import NIOCore
import Persistence
import PurchaseModel

/// What is told of a purchase intent: `Intent` in the OpenAPI document.
struct IntentAnswer: Encodable, Sendable {
    let id: String
    /// To be set as appAccountToken or applicationUsername; in lower case, as Apple's data has it.
    let appAccountToken: String
    let app: String
    let account: String
    let productId: String
    /// The app's own number of the order.
    let reference: String?
    let createdAt: Date
    let state: State
    /// What was bought with it; left out while it is open.
    let transactions: [Transaction]?

    /// Whether something was bought with it.
    enum State: String, Encodable, Sendable {
        case open, bought
    }

    /// One order that has the intent's id.
    struct Transaction: Encodable, Sendable {
        let transactionId: String
        let environment: StoreEnvironment
        let state: OrderState

        enum CodingKeys: String, CodingKey {
            case environment, state
            case transactionId = "transaction_id"
        }
    }

    enum CodingKeys: String, CodingKey {
        case id, app, account, reference, state, transactions
        case appAccountToken = "app_account_token"
        case productId = "product_id"
        case createdAt = "created_at"
    }

    init(_ intent: IntentStore.Intent, purchases: [IntentStore.Purchase] = [], _ version: APIVersion) {
        id = version.intentId(intent.id)
        appAccountToken = intent.id.uuidString.lowercased()
        app = intent.app
        account = intent.account
        productId = intent.productId
        reference = intent.reference
        createdAt = intent.createdAt
        state = purchases.isEmpty ? .open : .bought
        let bought = purchases.map {
            Transaction(transactionId: $0.key.transactionId, environment: $0.key.environment, state: $0.state)
        }
        transactions = bought.isEmpty ? nil : bought
    }

    /// The answer; it changes as soon as somebody buys, so that nobody keeps it.
    ///
    /// - Throws: `EncodingError`.
    func response(_ status: HTTPResponse.Status) throws -> Response {
        Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try MessageCoding.encode(self))))
    }
}
