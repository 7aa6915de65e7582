import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Messages
import NIOCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `POST /v1/accounts/{id}/forget` and `GET /v1/forget-requests/{id}`: the studio's backend has an account forgotten.
///
/// Intake only writes the request down; fulfillment carries it out.
struct ForgetRoutes: Sendable {
    let authenticator: Authenticator
    let store: ForgetRequestStore
    let body: JSONBody

    enum Limit {
        /// After how many seconds to ask how far it is.
        static let retryAfterSeconds = 2
    }

    /// What the backend sends.
    struct ForgetRequest: Decodable {
        let app: String
        let reason: String?
    }

    /// What it is told; the account is named by the caller alone.
    struct Answer: Encodable {
        let id: String
        let state: String
        let requestedAt: Date
        let finishedAt: Date?
        let waitsFor: String?
        let changed: [String: Int64]

        enum CodingKeys: String, CodingKey {
            case id, state, changed
            case requestedAt = "requested_at"
            case finishedAt = "finished_at"
            case waitsFor = "waits_for"
        }

        init(_ status: ForgetRequestStore.Status) {
            id = status.id
            state = status.finishedAt == nil ? "under_way" : "finished"
            requestedAt = status.requestedAt
            finishedAt = status.finishedAt
            waitsFor = status.waitsFor
            changed = status.changed
        }
    }

    /// Asks for an account to be forgotten; while that is under way, asking again is the same request.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let asked = try await body.decode(ForgetRequest.self, from: request)
        let app = try await callers.caller(app: asked.app).app
        let reason = try ActReason.optional(asked.reason)
        let account = try ReadingQuery.account(context)
        let status = try await store.ask(
            app: app, account: account, actor: try callers.actor(app: app), reason: reason)
        var response = try ReadingAnswer.response(Answer(status))
        response.status = .accepted
        response.headers[.location] = ReadingAnswer.location("/v1/forget-requests/\(status.id)", app: app)
        response.headers[.retryAfter] = "\(Limit.retryAfterSeconds)"
        return response
    }

    /// Tells how far a request is.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func get(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        guard let id = context.parameters.get("id"), let status = try await store.find(id, app: caller.app) else {
            throw ProblemDetails.notFound
        }
        return try ReadingAnswer.response(Answer(status))
    }
}
