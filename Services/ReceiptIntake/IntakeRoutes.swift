import HTTPTypes
import Hummingbird
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime

/// What answers, by subject, and every route of intake.
struct IntakeRoutes: Sendable {
    let purchases: PurchaseRoutes
    let accountTokens: AccountTokenRoutes
    let accounts: AccountRoutes
    let orders: OrderRoutes
    let intents: IntentRoutes
    let notifications: NotificationRoutes
    let spends: SpendRoutes
    let resends: ResendRoutes
    let exports: ExportRoutes
    let forgets: ForgetRoutes
    let consents: ConsentRoutes
    let offers: OfferRoutes
    let endpoints: EndpointRoutes
    let deliveries: DeliveryRoutes
    let events: EventRoutes
    let sweeps: SweepRoutes
    let desk: DeskRoutes
    let acts: Acts
    let lists: ListRoutes
    let seen: Views

    /// - Parameters:
    ///   - held: the requests that are held before they are refused.
    ///   - connections: tell when a caller hangs up.
    init(
        _ configuration: Configuration, _ authenticator: Authenticator, submissions: PurchaseSubmissions,
        notifications: NotificationSubmissions, accountTokens: AccountTokens, stores: IntakeStores,
        signatures: NotificationSignatures, offers: OfferSigners, events: EventReaders, held: HeldRequests,
        connections: ConnectionSignals
    ) {
        let budget = BodyBudget(
            bytesMaximum: configuration.heldBytesMaximum, bodyBytesMaximum: configuration.bodyBytesMaximum)
        let body = JSONBody(bytesMaximum: configuration.bodyBytesMaximum, budget: budget)
        let limits = AccountLimits(configuration, held: held) { authenticator.backendPosts(app: $0) }
        let waits = AccountWaits(
            maximum: configuration.limits.accountWaitsMaximum, networks: Self.networks(configuration))
        let turns = ReadingTurns(limits: limits, connections: configuration.postgres.poolSizeMaximum)
        purchases = PurchaseRoutes(
            authenticator: authenticator, submissions: submissions, accountTokens: accountTokens,
            limits: limits, waits: waits, body: body, connections: connections, turns: turns)
        self.accountTokens = AccountTokenRoutes(
            authenticator: authenticator, accountTokens: accountTokens, body: body)
        accounts = AccountRoutes(
            authenticator: authenticator, store: stores.accounts, turns: turns,
            waits: VersionWaits { customer in
                try await turns.takeAgain(
                    for: .account(app: customer.app, name: customer.account, accountToken: nil)
                ) {
                    try await stores.accounts.version(of: customer)
                }
            }, accountWaits: waits, connections: connections)
        orders = OrderRoutes(authenticator: authenticator, store: stores.orders, turns: turns)
        intents = IntentRoutes(
            authenticator: authenticator, store: stores.intents, body: body, turns: turns,
            perDay: configuration.limits.intentsPerDay)
        self.notifications = Self.notificationRoutes(configuration, authenticator, signatures, notifications)
        spends = SpendRoutes(authenticator: authenticator, store: stores.spends, body: body)
        resends = ResendRoutes(authenticator: authenticator, store: stores.resends, body: body)
        exports = ExportRoutes(authenticator: authenticator, export: stores.export)
        forgets = ForgetRoutes(authenticator: authenticator, store: stores.forgetting, body: body)
        consents = ConsentRoutes(authenticator: authenticator, store: stores.consents, body: body, turns: turns)
        self.offers = OfferRoutes(authenticator: authenticator, signers: offers, limits: limits, body: body)
        endpoints = EndpointRoutes(
            authenticator: authenticator, stores: stores.endpoints,
            rules: WebhookEndpointRules(allowsPrivateAddresses: configuration.allowsPrivateAddresses),
            seal: configuration.seal, body: body, turns: turns)
        deliveries = DeliveryRoutes(authenticator: authenticator, store: stores.resends.deliveries, turns: turns)
        self.events = EventRoutes(
            authenticator: authenticator,
            reading: EventReading(store: events.feed, tail: events.tail, turns: turns),
            places: events.places,
            pace: EventStream.Pace(
                heartbeat: configuration.limits.streamHeartbeat, writing: configuration.limits.streamStallTime),
            accountWaits: waits, connections: connections)
        sweeps = SweepRoutes(
            authenticator: authenticator, store: stores.sweeps, body: body, perDay: configuration.limits.sweepsPerDay)
        desk = DeskRoutes(authenticator, pool: stores.pool, body: body, turns: turns)
        acts = Acts(
            authenticator: authenticator, body: body, turns: turns, pool: stores.pool,
            memory: ActMemory(store: RememberedActStore(pool: stores.pool), seal: configuration.seal))
        lists = ListRoutes(authenticator: authenticator, stores: stores.lists, turns: turns)
        seen = Views(authenticator: authenticator, store: stores.views, turns: turns)
    }

    /// The route for Apple, with bounds of its own.
    private static func notificationRoutes(
        _ configuration: Configuration, _ authenticator: Authenticator, _ signatures: NotificationSignatures,
        _ submissions: NotificationSubmissions
    ) -> NotificationRoutes {
        NotificationRoutes(
            authenticator: authenticator, signatures: signatures, submissions: submissions,
            body: JSONBody(
                bytesMaximum: JSONBody.shortBytesMaximum,
                budget: BodyBudget(bytesMaximum: NotificationSubmissions.Limit.heldBytesMaximum)),
            bodyTime: configuration.notificationTime,
            networks: NetworkPlaces(maximum: configuration.limits.addressNotificationsMaximum))
    }

    /// What the players of one network may have of the places to wait.
    private static func networks(_ configuration: Configuration) -> [AccountWaits.Kind: NetworkPlaces] {
        let places: [AccountWaits.Kind: Int] = [
            .outcome: configuration.waitersMaximum, .version: VersionWaits.waitersMaximum,
            .event: EventTail.Limit.waiters,
        ]
        return places.mapValues { NetworkPlaces(percent: configuration.limits.addressWaitsPercent, of: $0) }
    }

    /// Every route, each with who may call it; the OpenAPI document and deploy/ACCESS.md say the same, which tests make sure of.
    var all: [IntakeRoute] {
        let (document, pages) = (OpenAPIRoutes(), PageRoutes())
        return [
            IntakeRoute(.post, "/v1/purchases", .playersAndServers(.post, testKeys: true), purchases.post),
            IntakeRoute(.get, "/v1/purchases/{id}", .playersAndServers(.post, testKeys: true), purchases.get),
            IntakeRoute(.put, "/v1/account-tokens/{uuid}", .servers(.post), accountTokens.put),
            IntakeRoute(.post, "/v1/intents", .playersAndServers(.post, testKeys: true), intents.post),
            IntakeRoute(.get, "/v1/intents/{id}", .playersAndServers(.post, testKeys: true), intents.get),
            IntakeRoute(.post, "/v1/offer-signatures", .playersAndServers(.sign), offers.post),
            IntakeRoute(.post, "/v1/notifications", .everybody, notifications.post),
            IntakeRoute(
                .get, "/v1/accounts/{id}", .playersAndServers(.read, testKeys: true), seen.noted(accounts.account)),
            IntakeRoute(
                .get, "/v1/accounts/{id}/transactions", .playersAndServers(.read, testKeys: true),
                seen.noted(accounts.transactions)
            ),
            IntakeRoute(
                .get, "/v1/accounts/{id}/events", .playersAndServers(.read, testKeys: true),
                seen.noted(events.accountEvents)),
            IntakeRoute(.get, "/v1/events", .servers(.read, testKeys: true), seen.noted(events.events)),
            IntakeRoute(.post, "/v1/accounts/{id}/spend", .servers(.spend, testKeys: true), spends.post),
            IntakeRoute(.get, "/v1/accounts/{id}/export", .servers(.read), seen.noted(exports.get)),
            IntakeRoute(.put, "/v1/accounts/{id}/consent", .playersAndServers(.post), consents.put),
            IntakeRoute(.post, "/v1/accounts/{id}/forget", .servers(.operate), acts.once(forgets.post)),
            IntakeRoute(.get, "/v1/forget-requests/{id}", .servers(.operate), forgets.get),
            IntakeRoute(.post, "/v1/sweeps", .servers(.operate), acts.once(sweeps.post)),
            IntakeRoute(.get, "/v1/sweeps/{id}", .servers(.operate), sweeps.get),
            IntakeRoute(.post, "/v1/webhooks/resend", .servers(.operate), acts.once(resends.post, .hasDryRun)),
            IntakeRoute(
                .post, "/v1/webhooks/endpoints", .servers(.operate), acts.once(endpoints.post, .tellsSecret)),
            IntakeRoute(.get, "/v1/webhooks/endpoints", .servers(.read), endpoints.list),
            IntakeRoute(.get, "/v1/webhooks/endpoints/{endpoint}", .servers(.read), endpoints.get),
            IntakeRoute(.patch, "/v1/webhooks/endpoints/{endpoint}", .servers(.operate), endpoints.patch),
            IntakeRoute(.delete, "/v1/webhooks/endpoints/{endpoint}", .servers(.operate), endpoints.delete),
            IntakeRoute(
                .post, "/v1/webhooks/endpoints/{endpoint}/enable", .servers(.operate), acts.once(endpoints.enable)),
            IntakeRoute(
                .post, "/v1/webhooks/endpoints/{endpoint}/disable", .servers(.operate), acts.once(endpoints.disable)),
            IntakeRoute(
                .post, "/v1/webhooks/endpoints/{endpoint}/ping", .servers(.operate), acts.once(endpoints.ping)),
            IntakeRoute(
                .post, "/v1/webhooks/endpoints/{endpoint}/rotate", .servers(.operate),
                acts.once(endpoints.rotate, .tellsSecret)),
            IntakeRoute(
                .post, "/v1/webhooks/endpoints/{endpoint}/secrets/expire", .servers(.operate),
                acts.once(endpoints.expireSecrets)),
            IntakeRoute(.get, "/v1/webhooks/deliveries", .servers(.read, testKeys: true), deliveries.deliveries),
            IntakeRoute(
                .get, "/v1/webhooks/deliveries/{event}/{endpoint}/attempts", .servers(.read, testKeys: true),
                deliveries.attempts),
            IntakeRoute(
                .get, "/v1/orders/{transaction_id}", .playersAndServers(.read, testKeys: true), seen.noted(orders.order)
            ),
            IntakeRoute(
                .get, "/v1/orders/{transaction_id}/why", .playersAndServers(.read, testKeys: true),
                seen.noted(orders.why)),
            IntakeRoute(
                .post, "/v1/orders/{transaction_id}/assign", .servers(.operate, testKeys: true),
                acts.once(desk.assignments.post, .hasDryRun)),
            IntakeRoute(
                .post, "/v1/accounts/{id}/adjustments", .servers(.operate, testKeys: true),
                acts.once(desk.adjustments.post, [.hasDryRun, .needsKey])),
            IntakeRoute(.post, "/v1/submissions/retry", .servers(.operate), acts.once(desk.retries.post, .hasDryRun)),
            IntakeRoute(
                .post, "/v1/subscriptions/{original_transaction_id}/extend", .servers(.operate, testKeys: true),
                acts.once(desk.extensions.post, [.hasDryRun, .needsKey])),
            IntakeRoute(
                .get, "/v1/subscriptions/{original_transaction_id}/extensions", .servers(.read, testKeys: true),
                desk.extensions.list),
            IntakeRoute(.get, "/v1/find", .servers(.read, testKeys: true), seen.noted(lists.find)),
            IntakeRoute(.get, "/v1/orders", .servers(.read, testKeys: true), seen.noted(lists.orders)),
            IntakeRoute(.get, "/v1/submissions", .servers(.read), seen.noted(lists.submissions)),
            IntakeRoute(.get, "/v1/submissions/{id}", .servers(.read), seen.noted(lists.submission)),
            IntakeRoute(.get, "/v1/undelivered", .servers(.read), seen.noted(lists.undelivered)),
            IntakeRoute(.get, "/v1/undelivered/reasons", .servers(.read), lists.undeliveredReasons),
            IntakeRoute(.get, "/v1/overview", .servers(.read), lists.overview),
            IntakeRoute(.get, "/v1/apple-notifications", .servers(.read, testKeys: true), lists.notifications),
            IntakeRoute(.get, "/v1/refund-requests", .servers(.read, testKeys: true), seen.noted(lists.refundRequests)),
            IntakeRoute(
                .get, "/v1/refund-requests/{id}", .servers(.read, testKeys: true), seen.noted(lists.refundRequest)),
            IntakeRoute(.get, "/v1/audit-log", .servers(.read), seen.noted(lists.auditLog)),
            IntakeRoute(.get, "/v1/views", .servers(.read, testKeys: true), seen.noted(lists.views)),
            IntakeRoute(.get, "/v1/revenue", .servers(.read), lists.revenue),
            IntakeRoute(.get, "/v1/subscription-figures", .servers(.read), lists.subscriptionFigures),
            IntakeRoute(.get, "/v1/catalogue", .servers(.read), lists.catalogue),
            IntakeRoute(.get, "/v1/settings", .servers(.operate), lists.settings),
            IntakeRoute(.get, "/v1/accounts/{id}/ledger", .servers(.read, testKeys: true), seen.noted(lists.ledger)),
            IntakeRoute(.get, "/v1/accounts/{id}/tokens", .servers(.read), seen.noted(lists.accountTokens)),
            IntakeRoute(.get, "/openapi.yaml", .everybody, document.yaml),
            IntakeRoute(.get, "/openapi.json", .everybody, document.json),
            IntakeRoute(.get, "/problems", .everybody, pages.problems),
            IntakeRoute(.get, "/problems/{code}", .everybody, pages.problem),
            IntakeRoute(.get, "/reasons", .everybody, pages.reasons),
            IntakeRoute(.get, "/reasons/{code}", .everybody, pages.reason),
            IntakeRoute(.get, "/schemas/events.json", .everybody, pages.schema),
            IntakeRoute(.get, "/schemas/examples.json", .everybody, pages.examples),
        ]
    }

    /// Makes the router of all routes, and of nothing else, with what every request passes through.
    func router(
        addresses: ClientAddressReader, limit: AddressLimit, pause: RefusalPause
    ) -> Router<IntakeContext> {
        let router = Router(context: IntakeContext.self)
        router.add(middleware: HeadMiddleware())
        router.add(middleware: CorrelationMiddleware())
        router.add(middleware: VersionMiddleware())
        router.add(middleware: RateNotesMiddleware())
        router.add(middleware: ProblemMiddleware())
        router.add(middleware: ClientAddressMiddleware(reader: addresses))
        router.add(middleware: IntakeProblemMiddleware(pause: pause))
        router.add(middleware: limit)
        router.add(middleware: MethodMiddleware(all))
        router.add(middleware: ContinueMiddleware())
        for route in all { router.on(RouterPath(route.path), method: route.method, use: route.answer) }
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
    @inline(never)
    @Sendable
    func answer(_ request: Request, _ context: IntakeContext) async throws -> Response {
        var context = context
        context.access = access
        return try await handler(request, context)
    }
}
