import Hummingbird

/// Counts the calls of a route before they are looked at.
struct RateLimitMiddleware: RouterMiddleware {
    typealias Context = ServerAPIContext

    let limiter: RateLimiter
    let call: RateLimitedCall
    let environment: StoreEnvironment

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        try limiter.admit(call, bundleId: try context.caller().bundleId, environment: environment)
        return try await next(request, context)
    }
}
