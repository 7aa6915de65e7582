import AppStore
import EventProcessing
import Kafka
import Messages
import ServiceRuntime

/// Makes everything, in start order; what starts first stops last.
struct Assembly {
    let services: ServiceAssembly

    init(_ configuration: Configuration, context: ServiceContext) throws {
        let producer = try KafkaProducer(
            configuration: configuration.kafka, settings: KafkaProducerSettings(), logger: context.logger)
        let publisher = EventPublisher(producer: producer, source: "verification-worker")
        let verify = VerifySubmissions(
            apps: configuration.apps.apps, verifier: SignedDataVerifier(roots: configuration.roots))
        let publish = PublishVerdicts(publisher: publisher)
        let consumer = try EventConsumer<SubmissionMessage>(
            kafka: configuration.kafka,
            settings: KafkaSettings.consumer(
                context.settings, group: "countersign.verification-worker", topic: Topics.submissions,
                batchMaximum: configuration.batchMaximum),
            accepts: { $0 == SubmissionMessage.type },
            deadLetters: DeadLetters(
                producer: producer, consumer: "countersign.verification-worker", logger: context.logger),
            context: context
        ) { batch in
            try await publish.publish(await verify.verdicts(for: batch.map(\.message)))
        }
        services = ServiceAssembly(services: [producer, consumer])
    }
}
