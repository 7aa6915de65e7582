import Hummingbird
import HummingbirdCore
import ServiceRuntime

/// Who sends a request, proven by its headers: nothing of the body of a stranger is read.
///
/// Which of a studio's apps a request is about stands in its body, and one secret may serve several of them.
struct ProvenCallers: Sendable {
    private let callers: [Caller]
    private let token: BearerToken
    private let authenticator: Authenticator
    private let access: RouteAccess
    private let correlationId: String

    /// - Throws: `ProblemDetails` when there are no credentials, or none that the route takes; `AuthenticationError` when
    ///   they prove nothing.
    init(_ request: Request, _ context: IntakeContext, _ authenticator: Authenticator) async throws {
        guard let token = BearerToken(request.headers) else { throw ProblemDetails.authenticationRequired }
        access = context.access
        correlationId = context.correlationId
        callers = try await authenticator.callers(token, access: access, correlationId: correlationId)
        self.token = token
        self.authenticator = authenticator
    }

    /// The apps whose server API key it is, sorted; none for a player.
    var serverApps: [String] {
        callers.filter(\.isServer).map(\.app).sorted()
    }

    /// The player whose token it is, which names one account in whatever app; nil for a backend.
    var player: Caller? {
        callers.contains(where: \.isServer) ? nil : callers.min { $0.app < $1.app }
    }

    /// The caller for the app that the body names.
    ///
    /// - Throws: `ProblemDetails` when the app is not known, or the credentials do not suffice for it;
    ///   `AuthenticationError` when they are another app's.
    func caller(app: String) async throws -> Caller {
        guard authenticator.knows(app: app) else { throw ProblemDetails.appUnknown }
        if let caller = callers.first(where: { $0.app == app }) { return caller }
        // It says why not; or its keys are here by now.
        return try await authenticator.caller(token, app: app, access: access, correlationId: correlationId)
    }
}
