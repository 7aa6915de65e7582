import EventProcessing
import Kafka
import Logging
import Messages
import Persistence
import Postgres
import ServiceLifecycle
import ServiceRuntime

/// Makes everything, in start order; what starts first stops last.
struct Assembly {
    let services: ServiceAssembly

    /// The consumer group.
    private static let group = TopicUse.deliveries.name
    /// How long an event waits for others before it is taken over.
    private static let gatherTime = Duration.milliseconds(5)
    /// The time between counts of pending deliveries, which read an index through.
    private static let countInterval = Duration.seconds(15)
    /// The time between looks for test messages that somebody waits for.
    private static let pingInterval = Duration.seconds(1)

    init(_ configuration: Configuration, context: ServiceContext) throws {
        let logger = context.logger
        context.metrics.describe(EventMetrics.families + DeliveryMetrics.families + SettingsReloadMetrics.families)
        let pool = PostgresPool(configuration: configuration.postgres, logger: logger)
        let producer = try KafkaProducer(
            configuration: configuration.kafka, settings: KafkaProducerSettings(), logger: logger)
        let monitor = try KafkaMonitor(kafka: configuration.kafka, context: context)
        monitor.watch(producer)
        let endpoints = WebhookEndpoints(configuration.endpoints)
        let metrics = DeliveryMetrics()
        let clients = EndpointClients(connectionsMaximum: configuration.delivery.concurrencyPerEndpoint)
        let deliver = DeliverWebhooks(
            pool: pool, endpoints: endpoints, settings: configuration.delivery, clients: clients, metrics: metrics,
            version: context.identity.version, logger: logger)
        let deliveries = DeliveryStore(pool: pool)
        let stored = StoredEndpoints(
            store: StoredEndpointStore(pool: pool), endpoints: endpoints, seal: configuration.seal,
            allowsPrivateAddresses: configuration.allowsPrivateAddresses, logger: logger
        ) { ids in
            clients.keep(endpoints.all)
            deliver.wake(ids)
        }
        let takeOver = TakeOverEvents(
            store: deliveries, endpoints: endpoints, queue: deliver.queue, lease: configuration.delivery.lease)
        let consumer = try EventConsumer<EventSummary>(
            kafka: configuration.kafka,
            settings: Self.consumer(configuration, context),
            accepts: { $0.hasPrefix(EventSummary.typePrefix) },
            deadLetters: DeadLetters(producer: producer, consumer: Self.group, logger: logger),
            monitor: monitor, context: context
        ) { batch in
            try await stored.readOnce()
            try await takeOver.takeOver(
                batch.map { received in
                    (
                        received.message, body: received.event.data,
                        traceParent: received.event.traceParent.flatMap(TraceContext.traceParent)
                    )
                })
        }
        let count = Self.counting(deliveries, metrics, logger)
        let reload = Self.reload(configuration, logger) { others in
            endpoints.use(others)
            clients.keep(endpoints.all)
            deliver.wake(Set(others.map(\.id)))
        }
        let forwarding = try Self.forwarding(configuration, pool, logger)
        let pings = SendPings(
            store: WebhookPingStore(pool: pool), endpoints: endpoints,
            post: EndpointPost(
                clients: clients, timeout: configuration.delivery.timeout, version: context.identity.version),
            lease: configuration.delivery.lease)
        services = ServiceAssembly(
            services: [pool, DatabaseGuard(pool: pool, context: context), producer, monitor, count]
                + (reload.map { [$0] } ?? []) + forwarding + [deliver]
                + Self.tasks(stored, pings, every: configuration.webhooksInterval, logger) + [consumer])
    }

    /// Events of commits that follow each other closely are taken over together.
    private static func consumer(
        _ configuration: Configuration, _ context: ServiceContext
    ) throws -> KafkaConsumerSettings {
        var settings = try KafkaSettings.consumer(
            context.settings, group: group, topic: Topics.deliveries, batchMaximum: configuration.batchMaximum)
        settings.gatherTime = gatherTime
        return settings
    }

    /// What counts pending deliveries.
    private static func counting(
        _ deliveries: DeliveryStore, _ metrics: DeliveryMetrics, _ logger: Logger
    ) -> PeriodicTask {
        PeriodicTask("count-pending-deliveries", schedule: .init(every: countInterval), logger: logger) {
            metrics.record(waiting: try await deliveries.waiting())
        }
    }

    /// What follows the endpoints of the database, and sends test messages to them.
    private static func tasks(
        _ stored: StoredEndpoints, _ pings: SendPings, every interval: Duration, _ logger: Logger
    ) -> [any Service] {
        let follow = PeriodicTask("stored-endpoints", schedule: .init(every: interval), logger: logger) {
            try await stored.look()
        }
        let ping: [any Service] = (1...SendPings.concurrency).map { number in
            PeriodicTask("webhook-pings-\(number)", schedule: .init(every: pingInterval), logger: logger) {
                try await pings.look()
            }
        }
        return [follow] + ping
    }

    /// Watches the webhooks file; nil where there is none.
    private static func reload(
        _ configuration: Configuration, _ logger: Logger,
        use: @escaping @Sendable ([WebhookEndpoint]) async throws -> Void
    ) -> SettingsReload<[WebhooksFile.Endpoint]>? {
        guard let file = configuration.webhooks else { return nil }
        return SettingsReload(
            "webhooks", inUse: file.endpoints, every: configuration.webhooksInterval, logger: logger
        ) {
            try WebhooksFile.load(path: file.path).endpoints
        } use: { endpoints in
            try await use(endpoints.map { try WebhookEndpoint($0, path: file.path) })
        }
    }

    /// What sends Apple's notifications on, and watches where to; nothing without an apps file.
    private static func forwarding(
        _ configuration: Configuration, _ pool: PostgresPool, _ logger: Logger
    ) throws -> [any Service] {
        guard let file = configuration.apps else { return [] }
        let targets = try ForwardTargets(file.apps, path: file.path)
        let delivery = configuration.delivery
        // Clients of its own: those of webhooks are dropped when the webhooks file changes.
        let clients = EndpointClients(connectionsMaximum: delivery.concurrencyPerEndpoint)
        let forward = ForwardNotifications(
            store: NotificationForwardStore(pool: pool), targets: targets,
            post: EndpointPost(clients: clients, timeout: delivery.timeout), schedule: delivery.schedule,
            lease: delivery.lease, logger: logger, interval: configuration.forwardInterval)
        let reload = SettingsReload(
            "apps", inUse: file.apps, every: configuration.appsInterval, logger: logger
        ) {
            try AppsFile.load(path: file.path, secrets: [])
        } use: { apps in
            try targets.use(apps, path: file.path)
            clients.keep(targets.all)
        }
        return [reload, forward]
    }
}
