import EventProcessing
import Kafka
import Messages
import Persistence
import Postgres
import ServiceLifecycle
import ServiceRuntime

/// What the consumers and the periodic tasks of the worker are made of.
struct Parts {
    /// What the verdicts of a batch may take to be published at shutdown.
    static let publishingTime = Duration.seconds(5)

    let configuration: Configuration
    let context: ServiceContext
    let producer: KafkaProducer
    let monitor: KafkaMonitor
    let publisher: EventPublisher
    let proofs: ProofReader
    let access: AppStoreAccess
    let unknownFields: UnknownFieldTally
    /// Nil in a worker without a database.
    let revocations: StoredRevocations?

    private var verdicts: PublishVerdicts {
        PublishVerdicts(
            publisher: publisher,
            notifications: NotificationTally(attention: access.attention, logger: context.logger),
            unknownFields: unknownFields)
    }

    /// What judges offline.
    func submissions(
        group: String, isPaused: @escaping @Sendable () -> Bool
    ) throws -> EventConsumer<SubmissionMessage> {
        let judge = JudgeSubmissions(
            judge: access.judge.offline, proofs: proofs, revocation: access.revocation, isPaused: isPaused)
        let verify = VerifySubmissions(
            judge: judge, revocations: revocations, publisher: publisher, publish: verdicts)
        let settings = try KafkaSettings.consumer(
            context.settings, group: group, topic: Topics.submissions, batchMaximum: configuration.batchMaximum)
        return try consumer(settings) { try await verify.verify($0) }
    }

    /// What asks Apple.
    func lookups(group: String) throws -> EventConsumer<SubmissionMessage> {
        let inFlightMaximum = configuration.appStore.inFlightMaximum
        let judge = JudgeLookups(judge: access.judge, proofs: proofs, inFlightMaximum: inFlightMaximum)
        let verify = VerifyByLookups(judge: judge, revocations: revocations, publish: verdicts)
        var settings = try KafkaSettings.consumer(
            context.settings, group: group, topic: Topics.lookups,
            batchMaximum: JudgeLookups.batchMaximum(inFlightMaximum: inFlightMaximum))
        settings.batchesMaximum = JudgeLookups.batchesMaximum
        // Two batches wait behind those in hand, and no more: a receipt may have 256 KiB.
        settings.bufferRecordsMaximum = settings.batchRecordsMaximum * 2
        settings.drainTimeout = configuration.appStore.patience * 2 + Self.publishingTime
        return try consumer(settings) { try await verify.verify($0) }
    }

    /// Makes the calls that fulfillment has queued; nil in a worker that is told not to.
    func calls(_ pool: PostgresPool) -> PeriodicTask? {
        guard let interval = configuration.callsInterval else { return nil }
        let caller = AppleCaller(
            apps: access.apps, pace: access.pace, attention: access.attention,
            patience: configuration.appStore.patience)
        let make = MakeAppleCalls(
            store: AppleCallStore(pool: pool), caller: caller, apps: access.apps, logger: context.logger)
        return PeriodicTask("apple-calls", schedule: .init(every: interval), logger: context.logger) {
            try await make.look()
        }
    }

    /// What asks Apple by itself; nothing in a worker without a database.
    func sweep(_ pool: PostgresPool?, lookups: EventConsumer<SubmissionMessage>) -> [any Service] {
        guard let pool, configuration.sweep.isOn else { return [] }
        let sweeper = access.sweeper(configuration.sweep, pool: pool, logger: context.logger) {
            lookups.assignedPartitions > 0
        }
        return [sweeper.task(), SweepGauges(tasks: sweeper.tasks).task(logger: context.logger)]
    }

    /// Gives the budgets the share of the lookups' partitions that is ours.
    func rateShare(of lookups: EventConsumer<SubmissionMessage>) -> PeriodicTask {
        RateShare.task(
            pace: access.pace, total: { [monitor] in try await monitor.partitionCounts()[Topics.lookups] },
            assigned: { lookups.assignedPartitions }, logger: context.logger)
    }

    private func consumer(
        _ settings: KafkaConsumerSettings, handler: @escaping EventConsumer<SubmissionMessage>.Handler
    ) throws -> EventConsumer<SubmissionMessage> {
        let deadLetters = DeadLetters(producer: producer, consumer: settings.groupId, logger: context.logger)
        return try EventConsumer<SubmissionMessage>(
            kafka: configuration.kafka, settings: settings, accepts: { $0 == SubmissionMessage.type },
            deadLetters: deadLetters, monitor: monitor, context: context, handler: handler)
    }
}
