import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/accounts/{id}/ledger`, `GET /v1/accounts/{id}/tokens` and `GET /v1/audit-log`.
extension ListRoutes {
    /// Tells what an account was given and what it lost, the newest first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func ledger(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        let customer = Customer(
            environment: try ReadingQuery.environment(request, of: caller), app: caller.app,
            account: try ReadingQuery.account(context))
        let item = try ListQuery.text("item", in: request)
        let (position, limit) = (try ListQuery.position(request), try ReadingQuery.limit(request))
        let store = stores.ledger
        context.tells(of: customer.account, in: customer.environment)
        let page = try await turns.take(for: caller) {
            try await store.page(of: customer, item: item, after: position, limit: limit)
        }
        return try ReadingAnswer.response(ListAnswer(page) { LedgerLineAnswer($0, context.version) })
    }

    /// Tells the appAccountTokens of an account, the newest first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func accountTokens(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        let account = try ReadingQuery.account(context)
        let (position, limit) = (try ListQuery.position(request), try ReadingQuery.limit(request))
        if let position, UUID(uuidString: position.id) == nil { throw ListCursor.invalid }
        let store = stores.tokens
        context.tells(of: account)
        let page = try await turns.take(for: caller) {
            try await store.page(of: account, app: caller.app, after: position, limit: limit)
        }
        return try ReadingAnswer.response(ListAnswer(page, ListedTokenAnswer.init))
    }

    /// Tells what was done by hand to an app, the newest first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func auditLog(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        var selection = AuditLogReading.Selection()
        selection.actor = try ListQuery.text("actor", in: request)
        selection.action = try ListQuery.word("action", in: request)
        selection.since = try ListQuery.time("since", in: request)
        let (position, limit) = (try ListQuery.position(request), try ReadingQuery.limit(request))
        let (store, chosen) = (stores.auditLog, selection)
        let page = try await turns.take(for: caller) {
            try await store.page(of: caller.app, chosen, after: position, limit: limit)
        }
        return try ReadingAnswer.response(ListAnswer(page, AuditLineAnswer.init))
    }
}

/// A line of an account's ledger: `LedgerLine` in the OpenAPI document.
struct LedgerLineAnswer: Encodable, Sendable {
    let id: String
    let kind: String
    let item: String
    let amount: Int64
    let createdAt: Date
    let transactionId: String?
    let spendId: String?
    let reference: String?
    let actor: String?
    let reason: String?

    enum CodingKeys: String, CodingKey {
        case id, kind, item, amount, reference, actor, reason
        case createdAt = "created_at"
        case transactionId = "transaction_id"
        case spendId = "spend_id"
    }

    init(_ line: LedgerReading.Line, _ version: APIVersion) {
        (id, kind, item, amount) = ("\(line.id)", line.kind, line.item, line.amount)
        (createdAt, transactionId) = (line.createdAt, line.transactionId)
        spendId = line.spendId.map(version.spendId)
        (reference, actor, reason) = (line.reference, line.actor, line.reason)
    }
}

/// A token of an account: `ListedAccountToken` in the OpenAPI document.
struct ListedTokenAnswer: Encodable, Sendable {
    let token: String
    let createdAt: Date
    let productId: String?
    let reference: String?

    enum CodingKeys: String, CodingKey {
        case token, reference
        case createdAt = "created_at"
        case productId = "product_id"
    }

    init(_ row: AccountTokenStore.Listed) {
        (token, createdAt) = (row.token.uuidString.lowercased(), row.createdAt)
        (productId, reference) = (row.productId, row.reference)
    }
}

/// Something that was done by hand: `AuditLine` in the OpenAPI document.
struct AuditLineAnswer: Encodable, Sendable {
    let id: String
    let at: Date
    let actor: String
    let action: String
    let subject: String
    let reason: String

    init(_ line: AuditLogReading.Line) {
        (id, at, actor) = ("\(line.id)", line.createdAt, line.actor)
        (action, subject, reason) = (line.action, line.subject, line.reason)
    }
}
