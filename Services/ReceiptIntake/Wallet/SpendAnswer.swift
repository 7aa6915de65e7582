import Foundation
import HTTPTypes
import Hummingbird
import Messages
import NIOCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// What `POST /v1/accounts/{id}/spend` answers: `Spend` in the OpenAPI document.
///
/// All of it stands in the row, so that a repetition is answered with the same bytes.
struct SpendAnswer: Encodable, Sendable {
    let id: String
    let app: String
    let environment: StoreEnvironment
    let account: String
    let items: [Catalogue.ItemGrant]
    /// What remained of these items right after.
    let balances: [Catalogue.ItemGrant]
    let reference: String?
    let createdAt: Date

    enum CodingKeys: String, CodingKey {
        case id, app, environment, account, items, balances, reference
        case createdAt = "created_at"
    }

    init(_ spend: SpendStore.Spend, of customer: Customer) {
        id = "spend_\(spend.id)"
        app = customer.app
        environment = customer.environment
        account = customer.account.text
        items = spend.items
        balances = spend.balances
        reference = spend.reference
        createdAt = spend.createdAt
    }
}

/// There is not enough: `BalanceInsufficient` in the OpenAPI document, a problem that names the items.
struct BalanceInsufficient: Encodable, Sendable {
    static let slug = "balance-insufficient"

    let type = ProblemDetails.typePrefix + slug
    let title = "The balance is not sufficient"
    let status = HTTPResponse.Status.conflict.code
    let detail = "Nothing is spent. The same request may be sent again when there is more."
    let items: [Item]

    /// An item of which there is too little.
    struct Item: Encodable, Sendable {
        let item: String
        /// How many were to be spent.
        let amount: Int64
        /// How many there are; below zero is a debt.
        let balance: Int64
    }

    init(_ shortages: [LedgerStore.Shortage]) {
        items = shortages.map { Item(item: $0.item, amount: $0.needed, balance: $0.balance) }
    }

    /// The document as an answer.
    ///
    /// - Throws: `EncodingError`.
    func response() throws -> Response {
        Response(
            status: .conflict, headers: [.contentType: ProblemDetails.contentType, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try MessageCoding.encode(self))))
    }
}

extension ProblemDetails {
    static let idempotencyKeyRequired = ProblemDetails(
        "idempotency-key-required", title: "The request needs a key", status: .badRequest,
        detail: "Send the header `Idempotency-Key` once, with \(SpendRequest.Limit.key.lowerBound) to "
            + "\(SpendRequest.Limit.key.upperBound) printable characters of ASCII: the same for each repetition of one "
            + "request, another for each other one.", extensions: ["field": "Idempotency-Key"])

    static let idempotencyKeyReused = ProblemDetails(
        "idempotency-key-reused", title: "Another request has used the key", status: .unprocessableContent,
        detail: "This account has spent something else under this `Idempotency-Key`; nothing is spent now.",
        extensions: ["field": "Idempotency-Key"])

    static let spendUnavailable: ProblemDetails = {
        var problem = ProblemDetails.databaseUnavailable
        problem.detail = "It may or may not be spent: send the same request with the same key again."
        return problem
    }()
}
