import HTTPTypes
import Hummingbird
import ServiceRuntime

/// The routes of intake and what every request passes through.
enum IntakeRouter {
    /// The methods that a path without them answers with 405.
    private static let methods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect,
    ]

    /// Makes the router.
    static func make(_ purchases: PurchaseRoutes, _ accountTokens: AccountTokenRoutes) -> Router<IntakeContext> {
        let router = Router(context: IntakeContext.self)
        router.add(middleware: CorrelationMiddleware())
        router.add(middleware: ProblemMiddleware())
        router.add(middleware: IntakeProblemMiddleware())
        add("/v1/purchases", .post, purchases.post, to: router)
        add("/v1/purchases/:id", .get, purchases.get, to: router)
        add("/v1/account-tokens/:uuid", .put, accountTokens.put, to: router)
        return router
    }

    private static func add(
        _ path: RouterPath, _ method: HTTPRequest.Method,
        _ handler: @escaping @Sendable (Request, IntakeContext) async throws -> Response,
        to router: Router<IntakeContext>
    ) {
        router.on(path, method: method, use: handler)
        for other in methods where other != method {
            router.on(path, method: other) { _, _ -> Response in throw ProblemDetails.methodNotAllowed([method]) }
        }
    }
}
