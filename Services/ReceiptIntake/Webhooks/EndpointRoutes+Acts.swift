import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import ServiceRuntime

/// What is done with an endpoint: switched on and off, tried, given other secrets.
extension EndpointRoutes {
    enum Limit {
        /// Between looks at what came of a test message.
        static let pingInterval = Duration.milliseconds(200)
        /// After how many seconds to ask for what came of it.
        static let retryAfterSeconds = 2
    }

    /// Switches an endpoint on; what waited for it goes out.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func enable(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let (id, app, asker) = try await act(request, context)
        _ = try await stores.states.enable(id, actor: asker.actor, reason: asker.reason)
        note("switched on", id, app, context)
        return try await answer(id, app)
    }

    /// Switches an endpoint off; what it would be told waits.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func disable(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let (id, app, asker) = try await act(request, context)
        _ = try await stores.states.switchOff(id, actor: asker.actor, reason: asker.reason)
        note("switched off", id, app, context)
        return try await answer(id, app)
    }

    /// Has a test message sent to an endpoint alone; with `wait`, tells what came of it.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func ping(_ request: Request, _ context: IntakeContext) async throws -> Acts.Answer {
        let (id, app, _) = try await act(request, context)
        let wait = try WaitParameter.read(request)
        let ping = try await stores.pings.ask(for: id)
        return Acts.Answer(response: try Self.answer(try await stores.pings.newest(of: id))) {
            try Self.answer(try await outcome(of: ping, to: id, app: app, within: wait))
        }
    }

    private static func answer(_ newest: WebhookPingStore.Ping?) throws -> Response {
        guard let newest else { throw ProblemDetails.notFound }
        var response = try ReadingAnswer.response(EndpointAnswer.Ping(newest))
        if newest.finishedAt == nil {
            response.status = .accepted
            response.headers[.retryAfter] = "\(Limit.retryAfterSeconds)"
        }
        return response
    }

    /// What is known of a test message once it has ended, or the time is over; nil where its endpoint was removed.
    @inline(never)
    private func outcome(
        of ping: String, to id: String, app: String, within wait: Duration
    ) async throws -> WebhookPingStore.Ping? {
        let end = ContinuousClock.now + wait
        while true {
            let newest = try await turns.takeAgain(for: .server(app: app)) { try await stores.pings.newest(of: id) }
            guard let newest, newest.id == ping, newest.finishedAt == nil, ContinuousClock.now < end else {
                return newest
            }
            try await Task.sleep(for: min(Limit.pingInterval, max(.zero, end - .now)))
        }
    }

    /// Makes new secrets, told this once; those before sign for a while longer.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func rotate(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let rotation = try await body.decode(EndpointRotation.self, from: request)
        let app = try await callers.caller(app: rotation.act.app).app
        let id = try Self.id(context)
        let asker = try rotation.act.asker(callers)
        guard let endpoint = try await stores.endpoints.find(id, .app(app)) else { throw ProblemDetails.notFound }
        guard let seal else { throw ProblemDetails.webhookKeyMissing }
        let hasKey = endpoint.secrets.contains { $0.publicKey != nil }
        let secrets = try EndpointSecrets(for: id, ed25519: hasKey || rotation.ed25519, seal: seal)
        let found: Bool
        do {
            found = try await stores.endpoints.rotate(
                id, .app(app), secrets: secrets.sealed, overlap: .seconds(rotation.expiresIn), asker: asker)
        } catch let refusal as StoredEndpointStore.Refusal {
            throw ProblemDetails.refused(refusal)
        }
        guard found else { throw ProblemDetails.notFound }
        note("given other secrets", id, app, context)
        return try await answer(id, app, secrets)
    }

    /// Ends the secrets that newer ones took the place of.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func expireSecrets(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let (id, app, asker) = try await act(request, context)
        _ = try await stores.endpoints.expireSecrets(of: id, .app(app), asker: asker)
        note("rid of its older secrets", id, app, context)
        return try await answer(id, app)
    }

    /// Who acts on which endpoint, which is there.
    @inline(never)
    private func act(
        _ request: Request, _ context: IntakeContext
    ) async throws -> (id: String, app: String, asker: StoredEndpointStore.Asker) {
        let callers = try await ProvenCallers(request, context, authenticator)
        let act = try await body.decode(EndpointAct.self, from: request)
        let app = try await callers.caller(app: act.app).app
        let id = try Self.id(context)
        guard try await stores.endpoints.find(id, .app(app)) != nil else { throw ProblemDetails.notFound }
        return (id, app, try act.asker(callers))
    }
}
