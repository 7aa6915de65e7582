import EventProcessing
import Kafka
import Logging
import Messages
import Persistence
import Postgres
import ServiceLifecycle
import ServiceRuntime
import TrustedRootSettings

/// Makes everything, in start order; what starts first stops last.
struct Assembly {
    /// The consumer groups.
    private enum Group {
        static let submissions = TopicUse.submissions.name
        static let lookups = TopicUse.lookups.name
    }

    let services: ServiceAssembly

    init(_ configuration: Configuration, context: ServiceContext) throws {
        let logger = context.logger
        context.metrics.describe(
            EventMetrics.families + WorkerMetrics.families + SettingsReloadMetrics.families
                + ForeignRootReport.families)
        ForeignRootReport.tell(
            [.signedData: configuration.roots, .receipts: configuration.receiptRoots], xcode: configuration.xcode,
            metrics: context.metrics, logger: logger)
        let producer = try KafkaProducer(
            configuration: configuration.kafka, settings: KafkaProducerSettings(), logger: logger)
        let monitor = try KafkaMonitor(kafka: configuration.kafka, context: context)
        monitor.watch(producer)
        let pool = configuration.postgres.map { PostgresPool(configuration: $0, logger: logger) }
        let revocations = pool.map {
            StoredRevocations(
                store: RevokedCertificateStore(pool: $0), attention: AttentionLog(logger: logger))
        }
        let gate = LookupGate()
        let access = try AppStoreAccess(
            settings: configuration.appStore, apps: configuration.apps, roots: configuration.roots,
            receiptRoots: configuration.receiptRoots, xcode: configuration.xcode,
            receiptSHA1Until: configuration.receiptSHA1Until, expired: configuration.expired,
            revoked: revocations?.known, sweepShare: configuration.sweep.share, logger: logger
        ) { gate.set(isClosed: $0) }
        let parts = Parts(
            configuration: configuration, context: context, producer: producer, monitor: monitor,
            publisher: EventPublisher(producer: producer, source: "verification-worker"),
            proofs: ProofReader(pool: pool, logger: logger), access: access,
            unknownFields: UnknownFieldTally(logger: logger), revocations: revocations)
        let submissions = try parts.submissions(group: Group.submissions, isPaused: { gate.isClosed })
        let lookups = try parts.lookups(group: Group.lookups)
        let prober = OutageProber(pace: access.pace)
        let check = context.health.register("app-store")
        check.set(ready: true, detail: "asking")
        gate.attach { isClosed in
            check.set(ready: true, detail: isClosed ? "lookups are paused: Apple does not answer" : "asking")
            if isClosed {
                lookups.pause()
                prober.wake()
            } else {
                lookups.resume()
            }
        }
        LookupMetrics.register(access, in: context.metrics)
        let reload = SettingsReload(
            "apps", inUse: configuration.apps, every: configuration.appsInterval, logger: logger
        ) { [path = configuration.appsFile] in
            try AppsFile.load(path: path, secrets: .apple)
        } use: { [apps = access.apps] in
            try apps.use($0)
        }
        let share = parts.rateShare(of: lookups)
        let sweep = parts.sweep(pool, lookups: lookups)
        services = ServiceAssembly(
            services: [producer, monitor] + (pool.map { [$0] } ?? [])
                + (revocations.map { [$0.task(logger: logger)] } ?? [])
                + [access, reload, share, prober] + sweep
                + (pool.flatMap { parts.calls($0) }.map { [$0] } ?? []) + [submissions, lookups])
    }
}
