import HTTPTypes
import Hummingbird
import ServiceRuntime

/// The routes of intake and what every request passes through.
enum IntakeRouter {
    /// The methods that a path without them answers with 405.
    private static let methods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect,
    ]

    /// Every route that intake has; the OpenAPI document describes the same ones, which a test makes sure of.
    static func routes(
        _ purchases: PurchaseRoutes, _ accountTokens: AccountTokenRoutes, _ accounts: AccountRoutes,
        _ orders: OrderRoutes, _ intents: IntentRoutes, _ notifications: NotificationRoutes,
        _ spends: SpendRoutes
    ) -> [IntakeRoute] {
        let document = OpenAPIRoutes()
        return [
            IntakeRoute(.post, "/v1/purchases", purchases.post),
            IntakeRoute(.get, "/v1/purchases/{id}", purchases.get),
            IntakeRoute(.put, "/v1/account-tokens/{uuid}", accountTokens.put),
            IntakeRoute(.post, "/v1/intents", intents.post),
            IntakeRoute(.get, "/v1/intents/{id}", intents.get),
            IntakeRoute(.post, "/v1/notifications", notifications.post),
            IntakeRoute(.get, "/v1/accounts/{id}", accounts.account),
            IntakeRoute(.get, "/v1/accounts/{id}/transactions", accounts.transactions),
            IntakeRoute(.post, "/v1/accounts/{id}/spend", spends.post),
            IntakeRoute(.get, "/v1/orders/{transaction_id}", orders.order),
            IntakeRoute(.get, "/v1/orders/{transaction_id}/why", orders.why),
            IntakeRoute(.get, "/openapi.yaml", document.yaml),
            IntakeRoute(.get, "/openapi.json", document.json),
        ]
    }

    /// Makes the router of the routes, and of nothing else.
    static func make(_ routes: [IntakeRoute]) -> Router<IntakeContext> {
        let router = Router(context: IntakeContext.self)
        router.add(middleware: CorrelationMiddleware())
        router.add(middleware: ProblemMiddleware())
        router.add(middleware: IntakeProblemMiddleware())
        for route in routes {
            router.on(RouterPath(route.path), method: route.method, use: route.handler)
            for other in methods where other != route.method {
                router.on(RouterPath(route.path), method: other) { _, _ -> Response in
                    throw ProblemDetails.methodNotAllowed([route.method])
                }
            }
        }
        return router
    }
}

/// A route: the only one of its path.
struct IntakeRoute: Sendable {
    /// Answers a request.
    typealias Handler = @Sendable (Request, IntakeContext) async throws -> Response

    /// Its method; every other is 405.
    let method: HTTPRequest.Method
    /// Its path, with names of parameters in braces as the OpenAPI document has them.
    let path: String
    /// What answers.
    let handler: Handler

    init(_ method: HTTPRequest.Method, _ path: String, _ handler: @escaping Handler) {
        self.method = method
        self.path = path
        self.handler = handler
    }
}
