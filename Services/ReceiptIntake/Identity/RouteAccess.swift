import ServiceRuntime

/// Who may call a route; no route can be made without it.
///
/// The OpenAPI document and the table of deploy/ACCESS.md say the same, which tests make sure of.
enum RouteAccess: Sendable, Hashable {
    /// Nobody shows credentials: the document, and what Apple signed.
    case everybody
    /// Players by the app's token, backends by a key of this scope.
    ///
    /// Test keys only where the route keeps them to the sandbox.
    case playersAndServers(ServerKey.Scope, testKeys: Bool = false)
    /// Backends alone, by a key of this scope.
    ///
    /// Test keys only where the route keeps them to the sandbox.
    case servers(ServerKey.Scope, testKeys: Bool = false)

    /// What a server API key has to be good for; nil where nobody shows one.
    var scope: ServerKey.Scope? {
        switch self {
        case .everybody: nil
        case .playersAndServers(let scope, _), .servers(let scope, _): scope
        }
    }

    /// Whether a test key may call it.
    var takesTestKeys: Bool {
        switch self {
        case .everybody: false
        case .playersAndServers(_, let testKeys), .servers(_, let testKeys): testKeys
        }
    }

    /// Why somebody who is proven may not call the route; nil when it may.
    ///
    /// - Parameter key: what a backend proved itself with; nil for a player.
    func denial(of caller: Caller, with key: ServerKey?) -> ProblemDetails? {
        // A route of everybody's that asks who calls was declared wrongly: nobody gets in by it.
        guard let scope else { return .notFound }
        if let key, caller.isServer {
            guard key.scopes.contains(scope) else { return .scopeMissing(scope) }
            return caller.isTest && !takesTestKeys ? .liveKeyRequired : nil
        }
        if case .servers = self { return .serverKeyRequired }
        return nil
    }
}
