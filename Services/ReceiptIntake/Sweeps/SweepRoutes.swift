import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Metrics
import Persistence
import PurchaseModel
import ServiceRuntime

/// `POST /v1/sweeps` and `GET /v1/sweeps/{id}`: the studio's backend has Apple asked for all that a customer bought.
///
/// Intake only writes the request down; a verification worker asks, before everything else that the sweep has to ask.
struct SweepRoutes: Sendable {
    enum Limit {
        /// After how many seconds to ask how far it is.
        static let retryAfterSeconds = 5
    }

    let authenticator: Authenticator
    let store: SweepRequestStore
    let body: JSONBody
    /// The most that an app may ask within 24 hours.
    let perDay: Int

    /// Asks; while the same is under way, asking again is the same request.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let wanted = try await body.decode(SweepRequest.self, from: request)
        let app = try await callers.caller(app: wanted.app).app
        let asking = try await store.ask(
            try wanted.subject(), app: app, environment: try StoreEnvironment.meant(by: wanted.environment),
            actor: try callers.actor(app: app), reason: try ActReason.required(wanted.reason), limit: perDay)
        switch asking {
        case .asked(let id, let isNew):
            if isNew {
                Counter(label: "countersign_sweep_requests_total").increment()
                context.logger.notice("a sweep is asked for", metadata: .fields([.app: "\(app)"]))
            }
            return try await accepted(id, app: app)
        case .unknown: throw ProblemDetails.sweepUnknown
        case .exhausted(let seconds):
            throw ProblemDetails.sweepsExhausted(perDay: perDay, retryAfterSeconds: seconds)
        }
    }

    private func accepted(_ id: String, app: String) async throws -> Response {
        guard let status = try await store.find(id, app: app) else { throw ProblemDetails.notFound }
        var response = try ReadingAnswer.response(SweepAnswer(status))
        response.status = .accepted
        response.headers[.location] = ReadingAnswer.location("/v1/sweeps/\(id)", app: app)
        response.headers[.retryAfter] = "\(Limit.retryAfterSeconds)"
        return response
    }

    /// Tells how far a request is, and what it found.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func get(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await ReadingCaller.read(request, context, authenticator)
        guard let id = context.parameters.get("id"), PrintableText.isOne(id, lengthMaximum: SweepRequest.Limit.id),
            let status = try await store.find(id, app: caller.app)
        else { throw ProblemDetails.notFound }
        return try ReadingAnswer.response(SweepAnswer(status))
    }
}

extension ProblemDetails {
    static let sweepSubjectUnclear = ProblemDetails(
        .fieldMissing,
        "Exactly one of the fields `account`, `transaction_id`, `order_id` and `app_account_token` says whom Apple is "
            + "asked about.",
        field: "account")

    static let sweepUnknown = ProblemDetails(
        .sweepUnknown,
        "Apple is asked by a transaction of the customer's, and none is known here. Post a transaction id, or the "
            + "order id of Apple's e-mail, to /v1/purchases.")

    static func sweepsExhausted(perDay: Int, retryAfterSeconds: Int) -> ProblemDetails {
        ProblemDetails(
            .sweepsExhausted, "An app may ask for \(perDay) within 24 hours; `countersign apple sweep` has no limit.",
            retryAfterSeconds: retryAfterSeconds)
    }
}
