import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Messages
import Persistence
import PurchaseModel
import ServiceRuntime

/// `POST /v1/purchases` and `GET /v1/purchases/{id}`.
struct PurchaseRoutes: Sendable {
    let authenticator: Authenticator
    let submissions: PurchaseSubmissions
    let accountTokens: AccountTokens
    let limits: AccountLimits
    let waits: AccountWaits
    let body: JSONBody
    let connections: ConnectionSignals
    let turns: ReadingTurns
    private let metrics = PurchaseAnswerMetrics()

    init(
        authenticator: Authenticator, submissions: PurchaseSubmissions, accountTokens: AccountTokens,
        limits: AccountLimits, waits: AccountWaits, body: JSONBody, connections: ConnectionSignals,
        turns: ReadingTurns
    ) {
        self.authenticator = authenticator
        self.submissions = submissions
        self.accountTokens = accountTokens
        self.limits = limits
        self.waits = waits
        self.body = body
        self.connections = connections
        self.turns = turns
    }

    /// Takes a proof.
    ///
    /// Nothing is written before every check has passed.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @Sendable
    func post(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let start = ContinuousClock.now
        let callers = try await ProvenCallers(request, context, authenticator)
        let wait = try WaitParameter.read(request)
        let player = callers.player
        // Nothing is read of what is refused.
        if let player {
            try await limits.admitPost(by: player)
        } else {
            try await limits.admitPost(byBackendOf: callers.serverApps, isTest: callers.isTest)
        }
        let place = waits.enter(player, wait: wait, for: .outcome, from: context.client)
        defer { waits.leave(place) }
        let accepted = try await body.withValue(PurchaseRequest.self, from: request, of: player) { purchase in
            try await accept(purchase, from: callers, isAwaited: place.time > .zero, context)
        }
        // What waits from here on holds an id, and no proof.
        let answer = await submissions.answer(
            to: accepted, wait: place.time, connection: connections.connection(of: context.channel))
        return try response(answer, route: .post, since: start, logger: context.logger)
    }

    @inline(never)
    private func accept(
        _ purchase: PurchaseRequest, from callers: ProvenCallers, isAwaited: Bool, _ context: IntakeContext
    ) async throws -> KnownSubmission {
        let caller = try await callers.caller(app: purchase.app)
        let account = try Self.account(of: caller, body: purchase.account)
        let proof = try purchase.proof()
        let environment = try purchase.expectedEnvironment()
        if caller.isTest, !proof.saysSandbox { throw ProblemDetails.liveKeyRequired }
        try limits.admit(proof, by: callers.player)
        // Before the proof is accepted, so that fulfillment knows whose token Apple signed.
        if case .account(let app, let name, let accountToken?) = caller {
            try await accountTokens.learn(accountToken, app: app, account: name, logger: context.logger)
        }
        return try await submissions.accept(
            proof, from: caller, account: account, expectedEnvironment: environment,
            correlationId: context.correlationId, isAwaited: isAwaited)
    }

    /// Tells how a submission stands; another account's does not exist for the caller.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @Sendable
    func get(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let start = ContinuousClock.now
        guard let token = BearerToken(request.headers) else { throw ProblemDetails.authenticationRequired }
        let wait = try WaitParameter.read(request)
        let callers = try await authenticator.callers(
            token, access: context.access, correlationId: context.correlationId)
        guard let id = context.parameters.get("id"), SubmissionIdentifier.isWellFormed(id) else {
            throw ProblemDetails.notFound
        }
        // A key of a server has no limit, and a token names one account in whatever app.
        let player = callers.contains(where: \.isServer) ? nil : callers.min { $0.app < $1.app }
        guard let reader = player ?? callers.first else { throw ProblemDetails.notFound }
        if let player { try await limits.admitReading(by: player) }
        let place = waits.enter(player, wait: wait, for: .outcome, from: context.client)
        defer { waits.leave(place) }
        let answer = try await submissions.find(
            id, wait: place.time, connection: connections.connection(of: context.channel),
            look: { ids in try await turns.takeAgain(for: reader) { try await submissions.statuses(ids) } }
        ) { status in
            let viewers = callers.filter { $0.maySee(app: status.app, account: status.account) }
            return viewers.first(where: \.isServer) ?? viewers.first
        }
        guard let answer else { throw ProblemDetails.notFound }
        if callers.contains(where: \.isTest), answer.transactions.contains(where: { $0.environment != .sandbox }) {
            throw ProblemDetails.notFound
        }
        return try response(answer, route: .get, since: start, logger: context.logger)
    }

    /// Whose purchase it is: a player's own, or the one that the studio's backend names.
    static func account(of caller: Caller, body: String?) throws -> Account {
        switch caller {
        case .account(_, let name, _):
            if let body, Account(body) != name { throw ProblemDetails.accountForbidden }
            return name
        case .server, .testServer:
            guard let body else { throw ProblemDetails.fieldMissing("account") }
            guard let name = Account(body) else {
                throw ProblemDetails.fieldInvalid(
                    "account", "1 to \(Account.lengthMaximum) characters without control characters")
            }
            return name
        }
    }

    private func response(
        _ answer: PurchaseAnswer, route: PurchaseAnswerMetrics.Route, since start: ContinuousClock.Instant,
        logger: Logger
    ) throws -> Response {
        metrics.record(route, answer.state, since: start)
        logger.debug(
            "answered", metadata: .fields([.submission: "\(answer.id)", .reason: "\(answer.reason?.rawValue ?? "")"]))
        return try answer.response()
    }
}
