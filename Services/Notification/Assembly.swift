import EventProcessing
import Kafka
import Messages
import Persistence
import Postgres
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
        context.metrics.describe(EventMetrics.families + DeliveryMetrics.families)
        let pool = PostgresPool(configuration: configuration.postgres, logger: logger)
        let producer = try KafkaProducer(
            configuration: configuration.kafka, settings: KafkaProducerSettings(), logger: logger)
        let monitor = try KafkaMonitor(kafka: configuration.kafka, context: context)
        monitor.watch(producer)
        let metrics = DeliveryMetrics(endpointIds: configuration.endpoints.map(\.id))
        let deliver = DeliverWebhooks(
            pool: pool, endpoints: configuration.endpoints, settings: configuration.delivery,
            clients: EndpointClients(connectionsMaximum: configuration.delivery.concurrencyPerEndpoint),
            metrics: metrics, version: context.identity.version, logger: logger)
        let deliveries = DeliveryStore(pool: pool)
        let takeOver = TakeOverEvents(
            store: deliveries, endpoints: configuration.endpoints, wake: { deliver.wake($0) })
        let consumer = try EventConsumer<EventSummary>(
            kafka: configuration.kafka,
            settings: KafkaSettings.consumer(
                context.settings, group: Self.group, topic: Topics.events, batchMaximum: configuration.batchMaximum),
            accepts: { $0.hasPrefix(EventSummary.typePrefix) },
            deadLetters: DeadLetters(producer: producer, consumer: Self.group, logger: logger),
            monitor: monitor, context: context
        ) { batch in
            try await takeOver.takeOver(batch.map(\.message))
        }
        let count = PeriodicTask(
            "count-pending-deliveries", schedule: .init(every: Self.countInterval), logger: logger
        ) {
            metrics.record(pending: try await deliveries.pendingCounts())
        }
        services = ServiceAssembly(
            services: [
                pool, DatabaseGuard(pool: pool, context: context), producer, monitor, count, deliver, consumer,
            ])
    }
}
