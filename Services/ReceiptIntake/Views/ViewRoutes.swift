import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/views`.
extension ListRoutes {
    /// Tells whose data people looked at, the newest first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func views(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        var selection = ViewStore.Selection()
        selection.environment = try ListQuery.environment(request, of: caller)
        selection.account = try ListQuery.account(request)
        selection.actor = try ListQuery.text("actor", in: request)
        selection.since = try ListQuery.time("since", in: request)
        let (position, limit) = (try ListQuery.position(request), try ReadingQuery.limit(request))
        let (store, chosen) = (stores.views, selection)
        context.tells(of: selection.account, in: selection.environment)
        let page = try await turns.take(for: caller) {
            try await store.page(of: caller.app, chosen, after: position, limit: limit)
        }
        return try ReadingAnswer.response(ListAnswer(page, ViewAnswer.init))
    }
}

/// That somebody looked at an account or an order: `View` in the OpenAPI document.
struct ViewAnswer: Encodable, Sendable {
    let id: String
    let viewedAt: Date
    let actor: String
    let route: String
    let environment: StoreEnvironment?
    let account: String?
    let transactionId: String?
    let requestId: String

    enum CodingKeys: String, CodingKey {
        case id, actor, route, environment, account
        case viewedAt = "viewed_at"
        case transactionId = "transaction_id"
        case requestId = "request_id"
    }

    init(_ row: ViewStore.Row) {
        (id, viewedAt, actor, route) = ("\(row.id)", row.createdAt, row.actor, row.route)
        (environment, account) = (row.subject.environment, row.subject.account?.text)
        (transactionId, requestId) = (row.subject.transactionId, row.requestId)
    }
}
