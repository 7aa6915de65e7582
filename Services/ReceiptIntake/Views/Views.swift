import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime
import Synchronization

/// Writes down whose data people look at, before they see it.
///
/// A key with the scope `staff` speaks for people, so each answer to it that tells of players leaves a row, also where it names
/// nobody. What cannot be written down is not shown.
struct Views: Sendable {
    let authenticator: Authenticator
    let store: ViewStore
    let turns: ReadingTurns

    /// A route's handler whose answers tell of players.
    func noted(_ handler: @escaping IntakeRoute.Handler) -> IntakeRoute.Handler {
        { request, context in try await run(handler, request, context) }
    }

    @inline(never)
    private func run(
        _ handler: IntakeRoute.Handler, _ request: Request, _ context: IntakeContext
    ) async throws -> Response {
        guard let viewer = try viewer(request) else { return try await handler(request, context) }
        let seen = SeenSubjects()
        var within = context
        within.seen = seen
        let response = try await handler(request, within)
        let view = ViewStore.View(
            app: viewer.app, actor: viewer.actor, route: "\(request.method) \(context.endpointPath ?? "")",
            requestId: context.correlationId, subjects: seen.all)
        try await turns.takeAgain(for: .server(app: viewer.app)) { try await store.write(view) }
        return response
    }

    /// The person who looks; nil for players, for backends whose key speaks for nobody, and for what proves nothing, which the
    /// route refuses.
    ///
    /// - Throws: `ProblemDetails` where the key may not speak for people, or no name was sent.
    private func viewer(_ request: Request) throws -> (app: String, actor: String)? {
        guard let token = BearerToken(request.headers), token.isServerKey,
            let app = ReadingQuery.text("app", in: request), let key = authenticator.serverKey(token, app: app)
        else { return nil }
        let names = request.headers[values: .actor]
        guard !names.isEmpty || key.scopes.contains(.staff) else { return nil }
        return (app, try ActorName.of(names, by: key))
    }
}

/// Whom an answer tells of, as its route's handler says.
final class SeenSubjects: Sendable {
    private let subjects = Mutex<[ViewStore.Subject]>([])

    /// Each once, in the order in which they were told.
    var all: [ViewStore.Subject] { subjects.withLock { $0 } }

    fileprivate func add(_ subject: ViewStore.Subject) {
        subjects.withLock { if !$0.contains(subject), $0.count < ViewStore.Limit.subjects { $0.append(subject) } }
    }
}

extension IntakeContext {
    /// Notes that the answer tells of an account or an order; without a person who looks this does nothing.
    func tells(of account: Account?, in environment: StoreEnvironment? = nil, order transactionId: String? = nil) {
        seen?.add(.init(environment: environment, account: account, transactionId: transactionId))
    }
}
