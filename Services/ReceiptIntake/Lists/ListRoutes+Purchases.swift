import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Messages
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/orders`, `GET /v1/submissions` and `GET /v1/submissions/{id}`.
extension ListRoutes {
    /// Tells an app's orders, those that were recorded last first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func orders(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        var selection = OrderListStore.Selection(app: caller.app)
        selection.environment = try ListQuery.environment(request, of: caller)
        selection.state = try ListQuery.choice("state", in: request)
        selection.reason = try ListQuery.word("reason", in: request)
        selection.account = try ListQuery.account(request)
        selection.productId = try ListQuery.text("product_id", in: request)
        selection.since = try ListQuery.time("since", in: request)
        selection.until = try ListQuery.time("until", in: request)
        let (position, limit) = (try ListQuery.position(request), try ReadingQuery.limit(request))
        let (store, chosen) = (stores.orders, selection)
        context.tells(of: selection.account, in: selection.environment)
        let page = try await turns.take(for: caller) {
            try await store.page(chosen, after: position, limit: limit)
        }
        return try ReadingAnswer.response(ListAnswer(page, ListedOrderAnswer.init))
    }

    /// Tells what was posted for an app, the newest first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func submissions(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        var selection = SubmissionListStore.Selection(app: caller.app)
        selection.account = try ListQuery.account(request)
        selection.state = try ListQuery.choice("state", in: request)
        // There is one for each purchase: those of everybody are the list of orders.
        if selection.state == .fulfilled, selection.account == nil { throw ProblemDetails.fieldMissing("account") }
        selection.reason = try ListQuery.word("reason", in: request)
        selection.kind = try ListQuery.word("kind", in: request).map(ProofKind.init)
        let (position, limit) = (try ListQuery.position(request), try ReadingQuery.limit(request))
        let (store, chosen) = (stores.submissions, selection)
        context.tells(of: selection.account)
        let page = try await turns.take(for: caller) {
            try await store.page(chosen, after: position, limit: limit)
        }
        return try ReadingAnswer.response(ListAnswer(page, ListedSubmissionAnswer.init))
    }

    /// Tells one submission with its outcome.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func submission(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        guard let id = context.parameters.get("id"), PrintableText.isOne(id, lengthMaximum: ListQuery.Limit.text) else {
            throw ProblemDetails.notFound
        }
        let store = stores.submissions
        let found = try await turns.take(for: caller) { try await store.find(id, app: caller.app) }
        guard let found else { throw ProblemDetails.notFound }
        context.tells(of: found.row.account)
        return try ReadingAnswer.response(SubmissionAnswer(row: found.row, outcome: found.outcome))
    }
}

/// An order of a list: `ListedOrder` in the OpenAPI document.
struct ListedOrderAnswer: Encodable, Sendable {
    private enum Key: String, CodingKey {
        case environment, account
        case submissionId = "submission_id"
    }

    let row: OrderListStore.Row

    init(_ row: OrderListStore.Row) {
        self.row = row
    }

    func encode(to encoder: any Encoder) throws {
        try TransactionAnswer(transaction: row.transaction).encode(to: encoder)
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(row.environment, forKey: .environment)
        try members.encodeIfPresent(row.account?.text, forKey: .account)
        try members.encode(row.submissionId, forKey: .submissionId)
    }
}

/// A submission of a list: `ListedSubmission` in the OpenAPI document.
struct ListedSubmissionAnswer: Encodable, Sendable {
    let id: String
    /// Left out where Apple's servers posted it.
    let account: String?
    let kind: ProofKind
    let transactionId: String?
    let orderId: String?
    let environment: String?
    let state: SubmissionState
    let reason: ReasonCode?
    let receivedAt: Date
    let reopenedAt: Date?
    let settledAt: Date?
    let dueAt: Date?
    let alarmedAt: Date?
    let attempts: Int
    let requestId: String
    let imported: Bool

    enum CodingKeys: String, CodingKey {
        case id, account, kind, environment, state, reason, attempts, imported
        case transactionId = "transaction_id"
        case orderId = "order_id"
        case receivedAt = "received_at"
        case reopenedAt = "reopened_at"
        case settledAt = "settled_at"
        case dueAt = "due_at"
        case alarmedAt = "alarmed_at"
        case requestId = "request_id"
    }

    init(_ row: SubmissionListStore.Row) {
        (id, kind, state, reason) = (row.id, row.kind, row.state, row.reason)
        account = row.account?.text
        (transactionId, orderId) = row.kind == .orderId ? (nil, row.number) : (row.number, nil)
        environment = row.expectedEnvironment
        (receivedAt, reopenedAt, settledAt) = (row.receivedAt, row.reopenedAt, row.settledAt)
        (dueAt, alarmedAt, attempts) = (row.dueAt, row.alarmedAt, row.attempts)
        (requestId, imported) = (row.correlationId, row.isImported)
    }
}

/// A submission with its outcome: `Submission` in the OpenAPI document.
struct SubmissionAnswer: Encodable, Sendable {
    private enum Key: String, CodingKey {
        case finish, detail, transactions
    }

    let row: SubmissionListStore.Row
    let outcome: SubmissionOutcome?

    func encode(to encoder: any Encoder) throws {
        try ListedSubmissionAnswer(row).encode(to: encoder)
        // What its poster is told.
        let told = PurchaseAnswer(id: row.id, outcome: outcome)
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(told.finish, forKey: .finish)
        try members.encodeIfPresent(told.detail, forKey: .detail)
        try members.encode(told.transactions, forKey: .transactions)
    }
}
