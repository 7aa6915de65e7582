import Hummingbird
import HummingbirdCore
import Logging
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
    private let answering: IntakeRoutes

    init(
        configuration: Configuration, authenticator: Authenticator, submissions: PurchaseSubmissions,
        notifications: NotificationSubmissions, accountTokens: AccountTokens, stores: IntakeStores,
        signatures: NotificationSignatures, offers: OfferSigners, events: EventReaders, logger: Logger
    ) {
        self.configuration = configuration
        self.logger = logger
        let held = HeldRequests(
            maximum: max(1, configuration.connectionsMaximum / HeldRequests.Limit.partOfConnections))
        pause = RefusalPause(held: held)
        addresses = ClientAddressReader(
            trusted: configuration.trustedProxies, header: configuration.clientAddressHeader)
        addressLimit = AddressLimit(
            perMinute: configuration.limits.addressRequestsPerMinute, authenticator: authenticator)
        openConnections = OpenConnections(
            maximum: Self.connectionsMaximum(configuration.connectionsMaximum, logger),
            requestTime: configuration.requestTime)
        answering = IntakeRoutes(
            configuration, authenticator, submissions: submissions, notifications: notifications,
            accountTokens: accountTokens, stores: stores, signatures: signatures, offers: offers, events: events,
            held: held, connections: connections)
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
        defer { answering.notifications.signatures.stop() }
        try await application().run()
    }

    /// Every route, with what answers it.
    var routes: [IntakeRoute] { answering.all }

    /// The server with its limits.
    func application() -> some ApplicationProtocol {
        let address = configuration.http
        var quiet = logger
        // The server tells at info what is told below.
        quiet.logLevel = max(logger.logLevel, .notice)
        return Application(
            router: answering.router(addresses: addresses, limit: addressLimit, pause: pause),
            server: .http1(
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [
                        LastRequest.makeHandler(), openConnections.makeHandler(), connections.makeHandler(),
                    ],
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
