import Hummingbird
import HummingbirdCore
import Logging
import Persistence
import Postgres
import PurchaseModel
import ServiceLifecycle
import ServiceRuntime

/// The HTTP server that apps post to.
struct IntakeServer: Service, CustomStringConvertible {
    /// After how many seconds a connection that sends nothing is closed; a request that waits is not idle.
    static let idleTimeoutSeconds: Int64 = 60
    /// The most bytes of all header fields of a request together: a token, and what proxies add.
    static let headerBytesMaximum = 32 << 10
    /// The most header fields of a request.
    static let headerFieldsMaximum = 100
    /// Open files beside the connections of apps: the database's, the broker's, and what else a process has.
    static let otherFiles = 256

    private let configuration: Configuration
    private let connections = ConnectionSignals()
    private let openConnections: OpenConnections
    private let logger: Logger
    private let addresses: ClientAddressReader
    private let addressLimit: AddressLimit
    private let pause: RefusalPause
    private let purchases: PurchaseRoutes
    private let accountTokenRoutes: AccountTokenRoutes
    private let accounts: AccountRoutes
    private let orders: OrderRoutes
    private let spends: SpendRoutes
    private let resends: ResendRoutes
    private let intents: IntentRoutes
    private let notifications: NotificationRoutes
    private let exports: ExportRoutes
    private let forgets: ForgetRoutes
    private let consents: ConsentRoutes
    private let offers: OfferRoutes
    private let endpoints: EndpointRoutes
    private let deliveries: DeliveryRoutes
    private let events: EventRoutes
    private let sweeps: SweepRoutes

    init(
        configuration: Configuration, authenticator: Authenticator, submissions: PurchaseSubmissions,
        notifications: NotificationSubmissions, accountTokens: AccountTokens, stores: IntakeStores,
        signatures: NotificationSignatures, offers: OfferSigners, events: EventReaders, logger: Logger
    ) {
        self.configuration = configuration
        self.logger = logger
        let budget = BodyBudget(
            bytesMaximum: configuration.heldBytesMaximum, bodyBytesMaximum: configuration.bodyBytesMaximum)
        let body = JSONBody(bytesMaximum: configuration.bodyBytesMaximum, budget: budget)
        let held = HeldRequests(
            maximum: max(1, configuration.connectionsMaximum / HeldRequests.Limit.partOfConnections))
        pause = RefusalPause(held: held)
        addresses = ClientAddressReader(
            trusted: configuration.trustedProxies, header: configuration.clientAddressHeader)
        addressLimit = AddressLimit(
            perMinute: configuration.addressRequestsPerMinute, authenticator: authenticator)
        let limits = AccountLimits(configuration, held: held) { authenticator.backendPosts(app: $0) }
        let waits = AccountWaits(maximum: configuration.accountWaitsMaximum, networks: Self.networks(configuration))
        let turns = ReadingTurns(limits: limits, connections: configuration.postgres.poolSizeMaximum)
        openConnections = OpenConnections(
            maximum: Self.connectionsMaximum(configuration.connectionsMaximum, logger),
            requestTime: configuration.requestTime)
        purchases = PurchaseRoutes(
            authenticator: authenticator, submissions: submissions, accountTokens: accountTokens,
            limits: limits, waits: waits, body: body, connections: connections, turns: turns)
        accountTokenRoutes = AccountTokenRoutes(
            authenticator: authenticator, accountTokens: accountTokens, body: body)
        accounts = AccountRoutes(
            authenticator: authenticator, store: stores.accounts, turns: turns,
            waits: VersionWaits { customer in
                try await turns.takeAgain(for: .account(app: customer.app, name: customer.account, accountToken: nil)) {
                    try await stores.accounts.version(of: customer)
                }
            }, accountWaits: waits, connections: connections)
        orders = OrderRoutes(authenticator: authenticator, store: stores.orders, turns: turns)
        spends = SpendRoutes(authenticator: authenticator, store: stores.spends, body: body)
        deliveries = DeliveryRoutes(authenticator: authenticator, store: stores.resends.deliveries, turns: turns)
        resends = ResendRoutes(authenticator: authenticator, store: stores.resends, body: body)
        intents = IntentRoutes(
            authenticator: authenticator, store: stores.intents, body: body, turns: turns,
            perDay: configuration.intentsPerDay)
        exports = ExportRoutes(authenticator: authenticator, export: stores.export)
        forgets = ForgetRoutes(authenticator: authenticator, store: stores.forgetting, body: body)
        consents = ConsentRoutes(authenticator: authenticator, store: stores.consents, body: body, turns: turns)
        self.offers = OfferRoutes(authenticator: authenticator, signers: offers, limits: limits, body: body)
        endpoints = EndpointRoutes(
            authenticator: authenticator, stores: stores.endpoints,
            rules: WebhookEndpointRules(allowsPrivateAddresses: configuration.allowsPrivateAddresses),
            seal: configuration.seal, body: body, turns: turns)
        self.events = EventRoutes(
            authenticator: authenticator, reading: EventReading(store: events.feed, tail: events.tail, turns: turns),
            places: events.places,
            pace: EventStream.Pace(heartbeat: configuration.streamHeartbeat, writing: configuration.streamStallTime),
            accountWaits: waits, connections: connections)
        sweeps = SweepRoutes(
            authenticator: authenticator, store: stores.sweeps, body: body, perDay: configuration.sweepsPerDay)
        self.notifications = Self.notificationRoutes(configuration, authenticator, signatures, notifications)
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
            networks: NetworkPlaces(maximum: configuration.addressNotificationsMaximum))
    }

    /// What the players of one network may have of the places to wait.
    private static func networks(_ configuration: Configuration) -> [AccountWaits.Kind: NetworkPlaces] {
        let places: [AccountWaits.Kind: Int] = [
            .outcome: configuration.waitersMaximum, .version: VersionWaits.waitersMaximum,
            .event: EventTail.Limit.waiters,
        ]
        return places.mapValues { NetworkPlaces(percent: configuration.addressWaitsPercent, of: $0) }
    }

    /// The name in logs.
    var description: String { "http server" }

    /// So many as are wanted, as far as the process may open files: one more would be refused by the system, for ever.
    private static func connectionsMaximum(_ wanted: Int, _ logger: Logger) -> Int {
        let room = max(1, OpenFiles.makeRoom(for: wanted + otherFiles) - otherFiles)
        guard room < wanted else { return wanted }
        logger.warning(
            "fewer connections than wanted: the process may not open so many files (ulimit -n, LimitNOFILE)",
            metadata: .fields([.count: "\(room)"]))
        return room
    }

    /// Serves until shutdown; requests under way are answered first.
    func run() async throws {
        defer { notifications.signatures.stop() }
        try await application().run()
    }

    /// Every route, with what answers it.
    var routes: [IntakeRoute] {
        IntakeRouter.routes(
            purchases, accountTokenRoutes, accounts, orders, intents, notifications, spends, resends, exports, forgets,
            consents, offers, endpoints, deliveries, events, sweeps)
    }

    /// The server with its limits.
    func application() -> some ApplicationProtocol {
        let address = configuration.http
        var quiet = logger
        // The server tells at info what is told below.
        quiet.logLevel = max(logger.logLevel, .notice)
        return Application(
            router: IntakeRouter.make(routes, addresses: addresses, limit: addressLimit, pause: pause),
            server: .http1(
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [openConnections.makeHandler(), connections.makeHandler()],
                    idleTimeout: .seconds(Self.idleTimeoutSeconds),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: Self.headerBytesMaximum, maxHeaderListSize: Self.headerBytesMaximum,
                        maxHeaderFieldCount: Self.headerFieldsMaximum))),
            configuration: ApplicationConfiguration(
                address: .hostname(address.host, port: address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(openConnections.maximum)),
            onServerRunning: { [logger] channel in
                logger.info(
                    "apps may post",
                    metadata: .fields([
                        .host: "\(address.host)", .port: "\(channel.localAddress?.port ?? address.port)",
                    ]))
            },
            logger: quiet)
    }
}
