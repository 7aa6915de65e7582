import EventProcessing
import Hummingbird
import JSONWebKeys
import Kafka
import Logging
import Messages
import Persistence
import Postgres
import ServiceLifecycle
import ServiceRuntime
import TrustedRootSettings

/// Makes everything of `receipt-intake`, in start order; it stops in reverse.
struct Assembly {
    private let context: ServiceContext
    private let configuration: Configuration

    init(_ context: ServiceContext, configuration: Configuration) {
        self.context = context
        self.configuration = configuration
    }

    /// The parts in start order: what accepts requests starts last, and stops first.
    ///
    /// - Throws: `SettingsFileError`, `KeySetError`, `KafkaError`.
    func services() async throws -> ServiceAssembly {
        let logger = context.logger
        describeMetrics()
        let apps = try Self.apps(at: configuration.appsFile)
        let offers = try OfferSigners(apps, path: configuration.appsFile)
        let pool = PostgresPool(configuration: configuration.postgres, logger: logger)
        let headers = ProofHeaders()
        let store = SubmissionStore(pool: pool, headers: headers)
        let keySets = KeySetRefresh(interval: configuration.keySetInterval, logger: logger)
        let waiters = OutcomeWaiters(waitersMaximum: configuration.waitersMaximum)
        let statuses: PurchaseSubmissions.Statuses = { try await store.statuses(of: $0) }
        let listener = SettlementListener(waiters: waiters, logger: logger)
        let tail = try KafkaTailReader(
            configuration: configuration.kafka, topic: Topics.settlements,
            fetchWaitMaximum: try KafkaSettings.fetchWait(context.settings), logger: logger
        ) { listener.handle($0) }
        let producer = try KafkaProducer(
            configuration: configuration.kafka, settings: KafkaProducerSettings(), logger: logger)
        let monitor = try KafkaMonitor(kafka: configuration.kafka, context: context)
        monitor.watch(producer)
        monitor.watch(tail, topic: Topics.settlements)
        let publisher = EventPublisher(producer: producer, source: context.identity.name)
        let publish: SubmissionPublisher.Publish = { await publisher.publish(submissions: $0, logger: logger) }
        let purchases = acceptance("purchase", queueMaximum: configuration.queueMaximum, store, publish)
        // Anybody may post notifications: what they fill is apart.
        let notifications = acceptance(
            "notification", queueMaximum: NotificationSubmissions.Limit.underWayMaximum, store, publish)
        let signatures = NotificationSignatures(roots: configuration.roots)
        let authenticator = await Authenticator(
            apps: apps, keySets: keySets.follow(try KeySetSource.all(in: apps)), logger: logger)
        let reload = reload(apps) { [path = configuration.appsFile] apps in
            try offers.use(apps, path: path)
            await authenticator.use(apps, keySets: keySets.follow(try KeySetSource.all(in: apps)))
        }
        let events = EventReaders(pool: pool, configuration: configuration)
        let server = IntakeServer(
            configuration: configuration, authenticator: authenticator,
            submissions: PurchaseSubmissions(
                batcher: purchases.batcher, waiters: waiters, statuses: statuses,
                possession: PossessionAnswers { authenticator.possession(app: $0) == .number }),
            notifications: NotificationSubmissions(batcher: notifications.batcher),
            accountTokens: AccountTokens(
                store: Self.register(with: AccountTokenStore(pool: pool)),
                lastForgotten: { try await ForgetRequestStore(pool: pool).newest() }),
            stores: IntakeStores(pool: pool), signatures: signatures, offers: offers,
            events: events, logger: logger)
        let lag = GroupLagWatch([TopicUse.submissions, TopicUse.verdicts], monitor: monitor, logger: logger)
        registerMetrics(waiters, events.places)
        return ServiceAssembly(services: [
            pool, DatabaseGuard(pool: pool, context: context), keySets, reload, tail, producer, monitor,
            purchases.publisher, purchases.batcher, notifications.publisher, notifications.batcher,
            lag.task(), redriver(store, lag, publish),
            ProofHeaderRefresh.task(headers, pool: pool, logger: logger) { await signatures.learn($0) },
            OldestSubmission(pool: pool).task(logger: logger),
            authenticator.keyUses.task(ServerKeyUseStore(pool: pool), logger: logger),
            LateOutcomes(waiters: waiters, statuses: statuses).task(logger: logger), events.tail.task(logger: logger),
            server,
        ])
    }

    private func describeMetrics() {
        context.metrics.describe(
            EventMetrics.families + IntakeMetrics.families + SettingsReloadMetrics.families
                + ForeignRootReport.families)
        ForeignRootReport.tell([.signedData: configuration.roots], metrics: context.metrics, logger: context.logger)
    }

    /// The apps, without keys to Apple's servers: the process that faces the players has no business with them.
    private static func apps(at path: String) throws -> AppsFile {
        try AppsFile.load(path: path, secrets: [.callers, .offers])
    }

    private func reload(
        _ apps: AppsFile, use: @escaping @Sendable (AppsFile) async throws -> Void
    ) -> SettingsReload<AppsFile> {
        SettingsReload(
            "apps", inUse: apps, every: configuration.appsInterval, logger: context.logger,
            read: { [path = configuration.appsFile] in try Self.apps(at: path) }, use: use)
    }

    /// How account tokens are written down.
    static func register(with store: AccountTokenStore) -> AccountTokens.Register {
        { app, token, account in try await store.register(app: app, token: token, account: account) }
    }

    /// What writes submissions down, and what hands them on.
    private func acceptance(
        _ name: String, queueMaximum: Int, _ store: SubmissionStore, _ publish: @escaping SubmissionPublisher.Publish
    ) -> (batcher: SubmissionBatcher, publisher: SubmissionPublisher) {
        let publisher = SubmissionPublisher(name, publish: publish)
        let batcher = SubmissionBatcher(name, queueMaximum: queueMaximum) { [configuration] in
            try await store.accept($0, lease: configuration.submissionLease)
        } onAccepted: {
            publisher.enqueue($0)
        }
        return (batcher, publisher)
    }

    private func redriver(
        _ store: SubmissionStore, _ lag: GroupLagWatch, _ publish: @escaping SubmissionPublisher.Publish
    ) -> Redriver {
        let hold = RedriveHold(lease: configuration.submissionLease) { lag.lag }
        let redrive = SubmissionRedrive(
            claim: { [configuration] limit in
                try await store.claimDue(
                    limit: limit, lease: configuration.submissionLease, leaseMaximum: SubmissionRedrive.leaseMaximum)
            }, publish: publish, isHeld: { hold.isHeld() })
        return Redriver(
            name: "submissions", interval: configuration.redriveInterval, batchMaximum: SubmissionRedrive.batchMaximum,
            logger: context.logger
        ) { limit in
            try await redrive(limit: limit)
        }
    }

    private func registerMetrics(_ waiters: OutcomeWaiters, _ streams: EventStreamPlaces) {
        context.metrics.onScrape {
            [
                GaugeSample("countersign_waiters", Double(waiters.count)),
                GaugeSample("countersign_event_streams", Double(streams.count)),
            ]
        }
    }
}
