import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/apple-notifications`, `GET /v1/refund-requests` and `GET /v1/refund-requests/{id}`.
extension ListRoutes {
    /// Tells an app's notifications, those that came last first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func notifications(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        let environment = try ListQuery.environment(request, of: caller)
        let (type, since) = (try ListQuery.word("type", in: request), try ListQuery.time("since", in: request))
        let (position, limit) = (try ListQuery.position(request), try ReadingQuery.limit(request))
        let store = stores.notifications
        let page = try await turns.take(for: caller) {
            try await store.page(
                of: caller.app, environment: environment, type: type, since: since, after: position, limit: limit)
        }
        return try ReadingAnswer.response(ListAnswer(page, ListedNotificationAnswer.init))
    }

    /// Tells an app's refund requests, the newest first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func refundRequests(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        let environment = try ListQuery.environment(request, of: caller)
        let state = try ListQuery.choice("state", in: request, as: AppleCallStore.State.self)?.rawValue
        let (position, limit) = (try ListQuery.position(request), try ReadingQuery.limit(request))
        let store = stores.calls
        context.tells(of: nil, in: environment)
        let page = try await turns.take(for: caller) {
            try await store.requests(
                of: caller.app, environment: environment, state: state, after: position, limit: limit)
        }
        return try ReadingAnswer.response(ListAnswer(page, RefundRequestAnswer.init))
    }

    /// Tells a refund request, and what Apple would be told now.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func refundRequest(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        guard let text = context.parameters.get("id"), ReadingQuery.isDigits(text), let id = Int64(text) else {
            throw ProblemDetails.notFound
        }
        let stores = stores
        let answer = try await turns.take(for: caller) { () async throws -> RefundPreviewAnswer? in
            guard let found = try await stores.calls.request(id, app: caller.app),
                !caller.isTest || found.order.environment == .sandbox
            else { return nil }
            context.tells(of: found.account, in: found.order.environment, order: found.order.transactionId)
            let consumption = try await stores.calls.consumption(found.order)
            return RefundPreviewAnswer(
                found, consumption, catalogue: try await stores.catalogues.newest(app: caller.app))
        }
        guard let answer else { throw ProblemDetails.notFound }
        return try ReadingAnswer.response(answer)
    }
}

/// A notification of Apple's: `AppleNotification` in the OpenAPI document.
struct ListedNotificationAnswer: Encodable, Sendable {
    let id: String
    let environment: StoreEnvironment
    let type: String
    let subtype: String?
    let signedAt: Date?
    let recordedAt: Date
    let submissionId: String
    let state: SubmissionState?
    let reason: ReasonCode?
    let transactionIds: [String]

    enum CodingKeys: String, CodingKey {
        case id, environment, type, subtype, state, reason
        case signedAt = "signed_at"
        case recordedAt = "created_at"
        case submissionId = "submission_id"
        case transactionIds = "transaction_ids"
    }

    init(_ row: AppleNotificationStore.Listed) {
        (id, environment, type, subtype) = (row.uuid, row.environment, row.type, row.subtype)
        (signedAt, recordedAt, submissionId) = (row.signedDate, row.recordedAt, row.submissionId)
        (state, reason, transactionIds) = (row.state, row.reason, row.transactionIds)
    }
}

/// A customer's request for a refund: `RefundRequest` in the OpenAPI document.
struct RefundRequestAnswer: Encodable, Sendable {
    let id: String
    let environment: StoreEnvironment
    let transactionId: String
    let account: String?
    let productId: String?
    let state: String
    let outcome: String?
    let requestReason: String?
    let requestedAt: Date
    let deadlineAt: Date
    let finishedAt: Date?
    let consented: Bool?
    let attempts: Int
    let status: Int?
    let code: Int64?

    enum CodingKeys: String, CodingKey {
        case id, environment, account, state, outcome, consented, attempts, status, code
        case transactionId = "transaction_id"
        case productId = "product_id"
        case requestReason = "request_reason"
        case requestedAt = "requested_at"
        case deadlineAt = "deadline_at"
        case finishedAt = "finished_at"
    }

    init(_ row: AppleCallReading.Request) {
        (id, environment, transactionId) = ("\(row.id)", row.order.environment, row.transactionId)
        (account, productId, state, outcome) = (row.account?.text, row.productId, row.state, row.outcome)
        (requestReason, requestedAt, deadlineAt) = (row.requestReason, row.requestedAt, row.deadlineAt)
        (finishedAt, consented, attempts) = (row.finishedAt, row.consented, row.attempts)
        (status, code) = (row.status, row.code)
    }
}
