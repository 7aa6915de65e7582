import HTTPTypes
import Hummingbird

/// Lets nobody through whose token is not accepted.
struct GateMiddleware: RouterMiddleware {
    typealias Context = ServerAPIContext

    let gate: TokenGate

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.app = try gate.caller(authorization: request.headers[.authorization])
        return try await next(request, context)
    }
}
