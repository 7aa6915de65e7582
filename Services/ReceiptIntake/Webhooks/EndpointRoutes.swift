import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Messages
import Persistence
import Postgres
import ServiceRuntime

/// `/v1/webhooks/endpoints` and what is below it: the studio's backend manages where its webhooks go.
///
/// A key reaches the endpoints that are told of its own app and of no other; those of several apps, and those of the webhooks file,
/// are the operator's. Another app's endpoint does not exist.
struct EndpointRoutes: Sendable {
    /// What the database has of endpoints.
    struct Stores: Sendable {
        let endpoints: StoredEndpointStore
        let states: EndpointStore
        let pings: WebhookPingStore

        init(pool: PostgresPool) {
            endpoints = StoredEndpointStore(pool: pool)
            states = EndpointStore(pool: pool)
            pings = WebhookPingStore(pool: pool)
        }
    }

    let authenticator: Authenticator
    let stores: Stores
    let rules: WebhookEndpointRules
    /// Seals secrets; nil where no key is configured, and no endpoint can be made then.
    let seal: SecretSeal?
    let body: JSONBody
    /// Whoever waits for what came of a test message reads by turns.
    let turns: ReadingTurns

    /// Makes an endpoint.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let choice = try await body.decode(EndpointChoice.self, from: request)
        let app = try await callers.caller(app: choice.act.app).app
        let settings = try choice.settings(app: app, rules)
        let asker = try choice.act.asker(callers)
        guard let seal else { throw ProblemDetails.webhookKeyMissing }
        let id = StoredEndpoint.newId()
        let secrets = try EndpointSecrets(for: id, ed25519: choice.ed25519 ?? false, seal: seal)
        do {
            try await stores.endpoints.create(id, settings, secrets: secrets.sealed, asker: asker)
        } catch let refusal as StoredEndpointStore.Refusal {
            throw ProblemDetails.refused(refusal)
        }
        note("made", id, app, context)
        var response = try await answer(id, app, secrets)
        response.status = .created
        response.headers[.location] = ReadingAnswer.location("/v1/webhooks/endpoints/\(id)", app: app)
        return response
    }

    /// Tells the endpoints of an app, the oldest first.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func list(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let app = try await ReadingCaller.read(request, context, authenticator).app
        let position = try ListCursor.position(request) { time, id in ListCursor.microseconds(time).map { ($0, id) } }
        let limit = try ReadingQuery.limit(request)
        // An app has few: the page is cut here.
        let rest = try await stores.endpoints.list(.app(app)).filter { endpoint in
            position.map { $0 < Self.position(endpoint) } ?? true
        }
        let page = rest.prefix(limit)
        let last = rest.count > limit ? page.last.map(Self.position) : nil
        return try ReadingAnswer.response(
            ListAnswer(
                data: page.map { EndpointAnswer($0, app: app) },
                next: last.map { ListCursor.text("\($0.microseconds)", $0.id) }))
    }

    private static func position(_ endpoint: StoredEndpoint) -> (microseconds: Int64, id: String) {
        (Int64((endpoint.createdAt.timeIntervalSince1970 * 1_000_000).rounded()), endpoint.id)
    }

    /// Tells an endpoint.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func get(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let app = try await ReadingCaller.read(request, context, authenticator).app
        return try await answer(try Self.id(context), app)
    }

    /// Changes what was chosen of an endpoint; what the request does not say stays.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func patch(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let choice = try await body.decode(EndpointChoice.self, from: request)
        let app = try await callers.caller(app: choice.act.app).app
        let id = try Self.id(context)
        guard choice.ed25519 == nil else {
            throw ProblemDetails.fieldInvalid("ed25519", "left out: rotating the secret adds a key")
        }
        let rules = rules
        let asker = try choice.act.asker(callers)
        let found = try await stores.endpoints.change(id, .app(app), asker: asker) { settings in
            try choice.apply(to: &settings, rules)
        }
        guard found else { throw ProblemDetails.notFound }
        note("changed", id, app, context)
        return try await answer(id, app)
    }

    /// Removes an endpoint; what waits for it is taken away.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func delete(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let callers = try await ProvenCallers(request, context, authenticator)
        let app = try await callers.caller(app: try ReadingQuery.app(request)).app
        let id = try Self.id(context)
        let asker = try EndpointAct(app: app, reason: nil).asker(callers)
        guard try await stores.endpoints.remove(id, .app(app), asker: asker) else { throw ProblemDetails.notFound }
        note("removed", id, app, context)
        return try ReadingAnswer.response(EndpointRemovedAnswer(id: id, removed: true))
    }

    /// The endpoint as it stands.
    ///
    /// - Parameter secrets: those that this request made, which are told this once.
    /// - Throws: `ProblemDetails.notFound`, `PostgresError`.
    @inline(never)
    func answer(_ id: String, _ app: String, _ secrets: EndpointSecrets? = nil) async throws -> Response {
        guard let endpoint = try await stores.endpoints.find(id, .app(app)) else { throw ProblemDetails.notFound }
        return try ReadingAnswer.response(
            EndpointAnswer(endpoint, app: app, secret: secrets?.secret, publicKey: secrets?.publicKey))
    }

    /// Tells the operator what a server key has done: whoever has a stolen one moves webhooks by it.
    func note(_ what: String, _ id: String, _ app: String, _ context: IntakeContext) {
        context.logger.notice(
            "a webhook endpoint was \(what)", metadata: .fields([.app: "\(app)", .endpoint: "\(id)"]))
    }

    /// The endpoint's id in the path.
    ///
    /// - Throws: `ProblemDetails`: what cannot be an id is not found.
    static func id(_ context: IntakeContext) throws -> String {
        guard let id = context.parameters.get("endpoint"), id.hasPrefix(StoredEndpoint.idPrefix),
            id.utf8.count <= idBytesMaximum
        else { throw ProblemDetails.notFound }
        return id
    }

    private static let idBytesMaximum = 64
}

extension ProblemDetails {
    static let webhookKeyMissing = ProblemDetails(
        .webhookKeyMissing,
        "The operator has to set COUNTERSIGN_WEBHOOKS_KEY, which seals them, for receipt-intake and "
            + "notification.")

    static func refused(_ refusal: StoredEndpointStore.Refusal) -> ProblemDetails {
        switch refusal {
        case .tooMany(let maximum):
            ProblemDetails(
                .tooManyEndpoints, "There may be \(maximum). Remove one that is out of use.",
                extensions: ["maximum": "\(maximum)"]
            )
        case .rotating(let until):
            ProblemDetails(
                .secretRotating, "Two are live. Wait until the older one expires, or end it now with `secrets/expire`.",
                extensions: ["expires_at": MessageCoding.text(until)])
        }
    }
}
