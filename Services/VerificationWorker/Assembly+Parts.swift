import EventProcessing
import Kafka
import Messages
import Persistence
import Postgres
import ServiceLifecycle
import ServiceRuntime

/// What the consumers are made of.
struct Parts {
    enum Limit {
        /// What the verdicts of a batch may take to be published at shutdown.
        static let publishing = Duration.seconds(5)
    }

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

    private var tally: NotificationTally {
        NotificationTally(attention: access.attention, logger: context.logger)
    }

    /// Judges offline what can be, and hands over the rest; the offsets wait for the broker's word on both.
    func submissions(
        group: String, isPaused: @escaping @Sendable () -> Bool
    ) throws -> EventConsumer<SubmissionMessage> {
        let judge = JudgeSubmissions(
            judge: access.judge.offline, proofs: proofs, revocation: access.revocation, isPaused: isPaused)
        let publish = PublishVerdicts(
            publisher: publisher, notifications: tally, unknownFields: unknownFields)
        let forward = ForwardLookups(publisher: publisher)
        let settings = try KafkaSettings.consumer(
            context.settings, group: group, topic: Topics.submissions, batchMaximum: configuration.batchMaximum)
        return try consumer(settings) { [revocations] batch in
            await revocations?.ready()
            var settled: [(submission: SubmissionMessage, finding: Finding)] = []
            var asked: [Received<SubmissionMessage>] = []
            for (received, outcome) in zip(batch, await judge.outcomes(for: batch.map(\.message))) {
                switch outcome {
                case .settled(let finding): settled.append((received.message, finding))
                case .needsLookup: asked.append(received)
                }
            }
            try await forward.forward(asked)
            try await publish.publish(settled)
        }
    }

    /// Asks Apple about batches at once.
    func lookups(group: String) throws -> EventConsumer<SubmissionMessage> {
        let inFlightMaximum = configuration.appStore.inFlightMaximum
        let judge = JudgeLookups(judge: access.judge, proofs: proofs, inFlightMaximum: inFlightMaximum)
        let publish = PublishVerdicts(
            publisher: publisher, notifications: tally, unknownFields: unknownFields)
        var settings = try KafkaSettings.consumer(
            context.settings, group: group, topic: Topics.lookups,
            batchMaximum: JudgeLookups.batchMaximum(inFlightMaximum: inFlightMaximum))
        settings.batchesMaximum = JudgeLookups.Limit.batches
        // Two batches wait behind those in hand, and no more: a receipt may have 256 KiB.
        settings.bufferRecordsMaximum = settings.batchRecordsMaximum * 2
        settings.drainTimeout = configuration.appStore.patience * 2 + Limit.publishing
        return try consumer(settings) { [revocations] batch in
            await revocations?.ready()
            let messages = batch.map(\.message)
            let findings = await judge.findings(for: messages)
            try await publish.publish(zip(messages, findings).map { (submission: $0, finding: $1) })
        }
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
    func rateShare(of lookups: EventConsumer<SubmissionMessage>) -> RateShare {
        RateShare(
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
