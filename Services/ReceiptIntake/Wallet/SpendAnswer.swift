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

    init(_ spend: SpendStore.Spend, of customer: Customer, _ version: APIVersion) {
        id = version.spendId(spend.id)
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
    let type = ProblemDetails.typePrefix + ProblemKind.balanceInsufficient.code
    let code = ProblemKind.balanceInsufficient.code
    let title = ProblemKind.balanceInsufficient.title
    let status = ProblemKind.balanceInsufficient.status.code
    let detail: String
    let items: [Item]

    /// An item of which there is too little.
    struct Item: Encodable, Sendable {
        let item: String
        /// How many were to be spent.
        let amount: Int64
        /// How many there are; below zero is a debt.
        let balance: Int64
    }

    init(_ shortages: [LedgerStore.Shortage], detail: String) {
        self.detail = detail
        items = shortages.map { Item(item: $0.item, amount: $0.needed, balance: $0.balance) }
    }

    /// The document as an answer.
    ///
    /// - Throws: `EncodingError`.
    func response() throws -> Response {
        Response(
            status: ProblemKind.balanceInsufficient.status,
            headers: [.contentType: ProblemDetails.contentType, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try MessageCoding.encode(self))))
    }
}

extension ProblemDetails {
    static let idempotencyKeyRequired = ProblemDetails(
        .idempotencyKeyRequired,
        "Send the header `Idempotency-Key` once, with \(SpendRequest.Limit.key.lowerBound) to "
            + "\(SpendRequest.Limit.key.upperBound) printable characters of ASCII: the same for each repetition of one "
            + "request, another for each other one.", field: "Idempotency-Key")

    static let idempotencyKeyReused = ProblemDetails(
        .idempotencyKeyReused,
        "Another request was sent under this `Idempotency-Key`; nothing is done now.",
        field: "Idempotency-Key")

    static let spendUnavailable: ProblemDetails = {
        var problem = ProblemDetails.databaseUnavailable
        problem.detail = "It may or may not be spent: send the same request with the same key again."
        return problem
    }()
}
