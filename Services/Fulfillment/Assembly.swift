import EventProcessing
import Foundation
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

    /// The most events published again in one look.
    private static let redriveBatchMaximum = 200

    init(_ configuration: Configuration, context: ServiceContext) throws {
        let logger = context.logger
        context.metrics.describe(EventMetrics.families + FulfillmentMetrics.families + SettingsReloadMetrics.families)
        let pool = PostgresPool(configuration: configuration.postgres, logger: logger)
        let producer = try KafkaProducer(
            configuration: configuration.kafka, settings: KafkaProducerSettings(), logger: logger)
        let monitor = try KafkaMonitor(kafka: configuration.kafka, context: context)
        monitor.watch(producer)
        let publisher = EventPublisher(producer: producer, source: "fulfillment")
        let announce = AnnounceOutcomes { messages in _ = await publisher.publish(messages) }
        let numbering = CatalogueStore(pool: pool)
        let catalogues = CurrentCatalogue(configuration.catalogue) { try await numbering.version(of: $0) }
        let doubtful = DoubtfulProducts()
        let subscriptions = UpdateSubscriptions()
        let submissions = SettleSubmissions(backOff: BackOff(delayMaximum: configuration.retryDelayMaximum))
        let apps = CurrentApps(configuration.apps?.apps)
        let calls = QueueAppleCalls(apps: apps, finishDelay: configuration.finishDelay)
        let load = LoadBatch(
            logger: logger, canBeAsked: { apps.canBeAsked($0) },
            deviceDelay: TimeInterval(configuration.deviceDelay.components.seconds))
        let fulfill = FulfillVerdicts(
            pool: pool, catalogues: catalogues, load: load, subscriptions: subscriptions, submissions: submissions,
            eventLease: configuration.eventLease, announce: announce, doubtful: doubtful, calls: calls,
            notifications: RecordNotifications(apps: apps, logger: logger),
            doubts: AskAboutDoubts(apps: apps), values: NoteUnknownValues(logger: logger))
        let consumer = try EventConsumer<VerdictMessage>(
            kafka: configuration.kafka,
            settings: KafkaSettings.consumer(
                context.settings, group: TopicUse.verdicts.name, topic: Topics.verdicts,
                batchMaximum: configuration.batchMaximum),
            accepts: { $0 == VerdictMessage.type },
            deadLetters: DeadLetters(producer: producer, consumer: TopicUse.verdicts.name, logger: logger),
            monitor: monitor, context: context
        ) { batch in
            try await fulfill.fulfill(batch.map(\.message))
        }
        let parked = ReleaseOrders(
            pool: pool, catalogues: catalogues, doubtful: doubtful, subscriptions: subscriptions,
            submissions: submissions, announce: announce, eventLease: configuration.eventLease, calls: calls)
        let overlooked = OverlookedOrders(pool: pool, catalogues: catalogues, doubtful: doubtful)
        let ends = Self.ends(configuration, pool, subscriptions, announce, logger)
        let alarms = SubmissionStore(pool: pool)
        services = ServiceAssembly(
            services: Self.forgetting(configuration, logger) + Self.reload(apps, configuration, logger) + [
                pool, DatabaseGuard(pool: pool, context: context), producer, monitor,
                CatalogueReload(
                    path: configuration.catalogueFile, every: configuration.catalogueInterval, current: catalogues,
                    logger: logger),
                AlarmedGauge(store: alarms).task(logger: logger), Self.backlog(configuration, pool, logger),
                RaiseAlarms(store: alarms, age: configuration.alarmAge, logger: logger).task(),
                Self.eventAlarms(configuration, pool, logger),
                Self.events(pool, announce, configuration, logger), Self.releasing(parked, configuration, logger),
                overlooked.task(logger: logger),
                Self.refundRequests(pool, catalogues, configuration, logger),
                ends.subscriptions, ends.entitlements, NumberEvents(pool: pool).task(logger: logger),
                PublishEvents(pool: pool) { try await publisher.publishOrThrow($0) }.task(logger: logger),
                ApplyRetention(pool: pool, retention: configuration.retention, logger: logger).task(), consumer,
            ])
    }

    /// What publishes events again that nobody has taken over.
    private static func events(
        _ pool: PostgresPool, _ announce: AnnounceOutcomes, _ configuration: Configuration, _ logger: Logger
    ) -> Redriver {
        let events = EventStore(pool: pool)
        return Redriver(
            name: "events", interval: configuration.redriveInterval, batchMaximum: redriveBatchMaximum, logger: logger
        ) { limit in
            let due = try await events.claimDue(
                limit: limit, lease: configuration.eventLease, leaseMaximum: configuration.eventLeaseMaximum)
            await announce.announce(events: due, settlements: [])
            return Redriver.Round(count: due.count, limit: limit)
        }
    }

    /// What decides parked orders anew.
    private static func releasing(
        _ parked: ReleaseOrders, _ configuration: Configuration, _ logger: Logger
    ) -> Redriver {
        let requested = ReleaseRequested(orders: parked)
        let byCatalogue = ReleaseByCatalogue(orders: parked)
        return Redriver(
            name: "parked-orders", interval: configuration.redriveInterval, batchMaximum: redriveBatchMaximum,
            logger: logger
        ) { limit in
            let one = try await requested.look(limit: limit)
            let two = try await byCatalogue.look(limit: limit)
            return Redriver.Round(count: one.count + two.count, isMoreDue: one.isMoreDue || two.isMoreDue)
        }
    }

    /// What decides about Apple's refund requests.
    private static func refundRequests(
        _ pool: PostgresPool, _ catalogues: CurrentCatalogue, _ configuration: Configuration, _ logger: Logger
    ) -> Redriver {
        let answer = AnswerRefundRequests(pool: pool, catalogues: catalogues)
        return Redriver(
            name: "refund-requests", interval: configuration.redriveInterval, batchMaximum: redriveBatchMaximum,
            logger: logger
        ) { _ in try await answer.look() }
    }

    /// Watches the apps file, where one is configured.
    private static func reload(
        _ apps: CurrentApps, _ configuration: Configuration, _ logger: Logger
    ) -> [any Service] {
        guard let file = configuration.apps else { return [] }
        return [
            SettingsReload("apps", inUse: file.apps, every: configuration.appsInterval, logger: logger) {
                try AppsFile.load(path: file.path, secrets: [])
            } use: {
                apps.use($0)
            }
        ]
    }

    private static func backlog(
        _ configuration: Configuration, _ pool: PostgresPool, _ logger: Logger
    ) -> PeriodicTask {
        BacklogGauges(pool: pool, eventAge: configuration.eventAlarmAge).task(logger: logger)
    }

    private static func eventAlarms(
        _ configuration: Configuration, _ pool: PostgresPool, _ logger: Logger
    ) -> PeriodicTask {
        RaiseEventAlarms(store: EventStore(pool: pool), age: configuration.eventAlarmAge, logger: logger).task()
    }

    /// What forgets accounts, one at a time, with connections of its own.
    private static func forgetting(_ configuration: Configuration, _ logger: Logger) -> [any Service] {
        let pool = PostgresPool(configuration: ForgetAccounts.configuration(configuration.postgres), logger: logger)
        let forget = ForgetAccounts(pool: pool)
        let redriver = Redriver(
            name: "forget-requests", interval: configuration.redriveInterval, batchMaximum: 1, logger: logger
        ) { Redriver.Round(count: try await forget.forget(limit: $0), limit: $0) }
        return [pool, redriver]
    }

    /// What the clock alone ends.
    private static func ends(
        _ configuration: Configuration, _ pool: PostgresPool, _ subscriptions: UpdateSubscriptions,
        _ announce: AnnounceOutcomes, _ logger: Logger
    ) -> (subscriptions: PeriodicTask, entitlements: PeriodicTask) {
        let interval = configuration.redriveInterval
        let ofSubscriptions = EndSubscriptions(
            pool: pool, subscriptions: subscriptions, announce: announce, eventLease: configuration.eventLease)
        let ofEntitlements = EndEntitlements(pool: pool, announce: announce, eventLease: configuration.eventLease)
        return (
            ofSubscriptions.task(every: interval, logger: logger), ofEntitlements.task(every: interval, logger: logger)
        )
    }
}
