import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Persistence
import ServiceRuntime

/// `POST /v1/webhooks/resend`: the studio's backend has its webhooks sent again.
struct ResendRoutes: Sendable {
    let authenticator: Authenticator
    let store: WebhookResendStore
    let body: JSONBody

    /// Asks for what is meant, or counts it.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let resend = try await body.decode(ResendRequest.self, from: request)
        guard case .server(let app) = try await callers.caller(app: resend.app) else {
            throw ProblemDetails.serverKeyRequired
        }
        let asking = resend.dryRun == true ? nil : resend
        let outcome = try await outcome(
            of: try resend.selection(app: app), try resend.walk(), try asking?.asker(callers.actor(app: app)))
        var response = try ReadingAnswer.response(ResendAnswer(outcome))
        if outcome.auditId != nil {
            response.status = .accepted
            context.logger.notice(
                "webhooks are asked for again", metadata: .fields([.app: "\(app)", .count: "\(outcome.count)"]))
        }
        return response
    }

    @inline(never)
    private func outcome(
        of selection: WebhookSelection, _ walk: WebhookResendStore.Walk, _ asker: WebhookResendStore.Asker?
    ) async throws -> WebhookResendStore.Outcome {
        guard let asker else { return try await store.count(selection, walk) }
        return try await store.resend(selection, walk, asker: asker)
    }
}
