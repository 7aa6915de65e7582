import HTTPTypes
import Hummingbird
import ServiceRuntime

/// The routes of intake and what every request passes through.
enum IntakeRouter {
    /// Every route that intake has, each with who may call it; the OpenAPI document and deploy/ACCESS.md say the same, which
    /// tests make sure of.
    static func routes(
        _ purchases: PurchaseRoutes, _ accountTokens: AccountTokenRoutes, _ accounts: AccountRoutes,
        _ orders: OrderRoutes, _ intents: IntentRoutes, _ notifications: NotificationRoutes,
        _ spends: SpendRoutes, _ resends: ResendRoutes, _ exports: ExportRoutes, _ forgets: ForgetRoutes,
        _ consents: ConsentRoutes, _ offers: OfferRoutes, _ endpoints: EndpointRoutes,
        _ deliveries: DeliveryRoutes, _ events: EventRoutes, _ sweeps: SweepRoutes
    ) -> [IntakeRoute] {
        let (document, pages) = (OpenAPIRoutes(), PageRoutes())
        return [
            IntakeRoute(.post, "/v1/purchases", .playersAndServers(.post), purchases.post),
            IntakeRoute(.get, "/v1/purchases/{id}", .playersAndServers(.post), purchases.get),
            IntakeRoute(.put, "/v1/account-tokens/{uuid}", .servers(.post), accountTokens.put),
            IntakeRoute(.post, "/v1/intents", .playersAndServers(.post), intents.post),
            IntakeRoute(.get, "/v1/intents/{id}", .playersAndServers(.post), intents.get),
            IntakeRoute(.post, "/v1/offer-signatures", .playersAndServers(.sign), offers.post),
            IntakeRoute(.post, "/v1/notifications", .everybody, notifications.post),
            IntakeRoute(.get, "/v1/accounts/{id}", .playersAndServers(.read), accounts.account),
            IntakeRoute(.get, "/v1/accounts/{id}/transactions", .playersAndServers(.read), accounts.transactions),
            IntakeRoute(.get, "/v1/accounts/{id}/events", .playersAndServers(.read), events.accountEvents),
            IntakeRoute(.get, "/v1/events", .servers(.read), events.events),
            IntakeRoute(.post, "/v1/accounts/{id}/spend", .servers(.spend), spends.post),
            IntakeRoute(.get, "/v1/accounts/{id}/export", .servers(.read), exports.get),
            IntakeRoute(.put, "/v1/accounts/{id}/consent", .playersAndServers(.post), consents.put),
            IntakeRoute(.post, "/v1/accounts/{id}/forget", .servers(.operate), forgets.post),
            IntakeRoute(.get, "/v1/forget-requests/{id}", .servers(.operate), forgets.get),
            IntakeRoute(.post, "/v1/sweeps", .servers(.operate), sweeps.post),
            IntakeRoute(.get, "/v1/sweeps/{id}", .servers(.operate), sweeps.get),
            IntakeRoute(.post, "/v1/webhooks/resend", .servers(.operate), resends.post),
            IntakeRoute(.post, "/v1/webhooks/endpoints", .servers(.operate), endpoints.post),
            IntakeRoute(.get, "/v1/webhooks/endpoints", .servers(.read), endpoints.list),
            IntakeRoute(.get, "/v1/webhooks/endpoints/{endpoint}", .servers(.read), endpoints.get),
            IntakeRoute(.patch, "/v1/webhooks/endpoints/{endpoint}", .servers(.operate), endpoints.patch),
            IntakeRoute(.delete, "/v1/webhooks/endpoints/{endpoint}", .servers(.operate), endpoints.delete),
            IntakeRoute(.post, "/v1/webhooks/endpoints/{endpoint}/enable", .servers(.operate), endpoints.enable),
            IntakeRoute(.post, "/v1/webhooks/endpoints/{endpoint}/disable", .servers(.operate), endpoints.disable),
            IntakeRoute(.post, "/v1/webhooks/endpoints/{endpoint}/ping", .servers(.operate), endpoints.ping),
            IntakeRoute(.post, "/v1/webhooks/endpoints/{endpoint}/rotate", .servers(.operate), endpoints.rotate),
            IntakeRoute(
                .post, "/v1/webhooks/endpoints/{endpoint}/secrets/expire", .servers(.operate), endpoints.expireSecrets),
            IntakeRoute(.get, "/v1/webhooks/deliveries", .servers(.read), deliveries.deliveries),
            IntakeRoute(
                .get, "/v1/webhooks/deliveries/{event}/{endpoint}/attempts", .servers(.read), deliveries.attempts),
            IntakeRoute(.get, "/v1/orders/{transaction_id}", .playersAndServers(.read), orders.order),
            IntakeRoute(.get, "/v1/orders/{transaction_id}/why", .playersAndServers(.read), orders.why),
            IntakeRoute(.get, "/openapi.yaml", .everybody, document.yaml),
            IntakeRoute(.get, "/openapi.json", .everybody, document.json),
            IntakeRoute(.get, "/problems", .everybody, pages.problems),
            IntakeRoute(.get, "/problems/{slug}", .everybody, pages.problem),
            IntakeRoute(.get, "/reasons", .everybody, pages.reasons),
            IntakeRoute(.get, "/reasons/{code}", .everybody, pages.reason),
            IntakeRoute(.get, "/schemas/events.json", .everybody, pages.schema),
            IntakeRoute(.get, "/schemas/examples.json", .everybody, pages.examples),
        ]
    }

    /// Makes the router of the routes, and of nothing else.
    static func make(
        _ routes: [IntakeRoute], addresses: ClientAddressReader, limit: AddressLimit, pause: RefusalPause
    ) -> Router<IntakeContext> {
        let router = Router(context: IntakeContext.self)
        router.add(middleware: CorrelationMiddleware())
        router.add(middleware: ProblemMiddleware())
        router.add(middleware: ClientAddressMiddleware(reader: addresses))
        router.add(middleware: IntakeProblemMiddleware(pause: pause))
        router.add(middleware: limit)
        router.add(middleware: MethodMiddleware(routes))
        for route in routes { router.on(RouterPath(route.path), method: route.method, use: route.answer) }
        return router
    }
}

/// A route: the only one of its path and method.
struct IntakeRoute: Sendable {
    /// Answers a request.
    typealias Handler = @Sendable (Request, IntakeContext) async throws -> Response

    /// Its method; every one that its path has no route for is 405.
    let method: HTTPRequest.Method
    /// Its path, with names of parameters in braces as the OpenAPI document has them.
    let path: String
    /// Who may call it.
    let access: RouteAccess
    /// What answers.
    private let handler: Handler

    init(_ method: HTTPRequest.Method, _ path: String, _ access: RouteAccess, _ handler: @escaping Handler) {
        self.method = method
        self.path = path
        self.access = access
        self.handler = handler
    }

    /// Has the handler answer, and whoever it asks for credentials know who may call the route.
    // Not inlined: Swift 6.3.1 crashes when it inlines such a function into a closure ("While splitting coroutine").
    @inline(never)
    @Sendable
    func answer(_ request: Request, _ context: IntakeContext) async throws -> Response {
        var context = context
        context.access = access
        return try await handler(request, context)
    }
}
