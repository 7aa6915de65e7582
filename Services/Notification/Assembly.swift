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
    private static let group = TopicUse.events.name
    /// The time between counts of pending deliveries, which read an index through.
    private static let countInterval = Duration.seconds(15)

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
        let takeOver = TakeOverEvents(
            store: deliveries, endpoints: endpoints, queue: deliver.queue, lease: configuration.delivery.lease)
        let consumer = try EventConsumer<EventSummary>(
            kafka: configuration.kafka,
            settings: KafkaSettings.consumer(
                context.settings, group: Self.group, topic: Topics.events, batchMaximum: configuration.batchMaximum),
            accepts: { $0.hasPrefix(EventSummary.typePrefix) },
            deadLetters: DeadLetters(producer: producer, consumer: Self.group, logger: logger),
            monitor: monitor, context: context
        ) { batch in
            try await takeOver.takeOver(
                batch.map { received in
                    TakeOverEvents.Event(
                        summary: received.message, body: received.event.data,
                        traceParent: received.event.traceParent.flatMap(TraceContext.traceParent))
                })
        }
        let count = PeriodicTask(
            "count-pending-deliveries", schedule: .init(every: Self.countInterval), logger: logger
        ) {
            metrics.record(pending: try await deliveries.pendingCounts())
        }
        let reload = Self.reload(configuration, logger) { others in
            endpoints.use(others)
            clients.keep(others)
            deliver.wake(Set(others.map(\.id)))
        }
        let forwarding = try Self.forwarding(configuration, pool, logger)
        services = ServiceAssembly(
            services: [pool, DatabaseGuard(pool: pool, context: context), producer, monitor, count]
                + (reload.map { [$0] } ?? []) + forwarding + [deliver, consumer])
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
            post: PostNotification(clients: clients, timeout: delivery.timeout), schedule: delivery.schedule,
            lease: delivery.lease, logger: logger)
        let reload = SettingsReload(
            "apps", inUse: file.apps, every: configuration.appsInterval, logger: logger
        ) {
            try AppsFile.load(path: file.path, secrets: [])
        } use: { apps in
            try targets.use(apps, path: file.path)
            clients.keep(targets.all)
        }
        let task = PeriodicTask(
            "forward-notifications", schedule: .init(every: configuration.forwardInterval), logger: logger
        ) {
            try await forward.look()
        }
        return [reload, Forwarding(task: task, clients: clients)]
    }
}
