import Configuration
import KafkaTesting
import LogTesting
import Logging
import Messages
import ServiceLifecycle
import ServiceRuntime
import Testing

@testable import EventProcessing
@testable import Kafka

/// What an operator sees of a stall: readiness, the log, the metrics, and a new client.
@Suite("A monitor")
struct KafkaMonitorTests {
    private struct Text: EventMessage, Decodable {}

    /// Replacing takes longer each time, since a group waits for the clients that were replaced until their session ends.
    private static let limits = ConsumerHealth.Limits(
        stallTime: .seconds(2), joinTime: .seconds(2), replacementTime: .seconds(3))
    private static let session = Duration.seconds(2)

    private let log = CapturedLog()

    private func context() -> ServiceContext {
        ServiceContext(
            identity: ServiceIdentity(name: "test", version: "1.0", adminPort: 0),
            configuration: ConfigReader(provider: InMemoryProvider(values: [:])), logger: log.logger())
    }

    private func check(_ context: ServiceContext) async -> (isReady: Bool, detail: String) {
        let check = await context.health.report().checks.first { $0.name == "consumer t" }
        return (check?.ready ?? false, check?.detail ?? "no such check")
    }

    @Test(
        "sees a rebalance without an end, says so, and replaces the client; then the consumer goes on",
        arguments: [(0, "the group has not let us in"), (5, "nobody reads 5 records")])
    func endlessRebalance(records: Int, sentence: String) async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 2)
        try await send(records, cluster)
        cluster.rebalanceForEver()
        let context = context()
        let services = try services(cluster, context)
        let group = ServiceGroup(services: services, gracefulShutdownSignals: [], logger: Logger(label: "group"))
        let run = Task { try await group.run() }

        #expect(await eventually { await check(context).detail.contains(sentence) })
        #expect(await !check(context).isReady)
        #expect(context.metrics.render().contains(#"countersign_consumer_stalled{topic="t"} 1"#))
        #expect(log.texts(.error).filter { $0.hasPrefix("the consumer does not go on") }.count == 1)
        #expect(
            await eventually {
                !context.metrics.render().contains(#"countersign_consumer_replacements_total{topic="t"} 0"#)
            })
        #expect(log.texts(.warning).contains { $0.hasPrefix("the consumer's client is replaced") })

        cluster.endRebalance()
        #expect(await eventually { await check(context).isReady })
        #expect(await eventually { log.texts(.notice).contains { $0.hasPrefix("the consumer goes on") } })
        #expect(context.metrics.render().contains(#"countersign_consumer_stalled{topic="t"} 0"#))
        await group.triggerGracefulShutdown()
        try await run.value
    }

    private func send(_ count: Int, _ cluster: MockCluster) async throws {
        let producer = try KafkaProducer(configuration: cluster.configuration, logger: Logger(label: "producer"))
        for number in 0..<count {
            _ = try await producer.send(KafkaMessage(topic: "t", key: nil, value: Array("\(number)".utf8)))
        }
        await producer.close()
    }

    private func services(_ cluster: MockCluster, _ context: ServiceContext) throws -> [any Service] {
        let monitor = try KafkaMonitor(kafka: cluster.configuration, limits: Self.limits, context: context)
        var settings = KafkaConsumerSettings(groupId: "g", topics: ["t"])
        settings.sessionTimeout = Self.session
        settings.closeTimeout = .seconds(2)
        let letters = DeadLetters(consumer: "g", logger: context.logger) { messages in
            messages.map { _ in .success(KafkaDelivery(partition: 0, offset: 0)) }
        }
        let consumer = try EventConsumer<Text>(
            kafka: cluster.configuration, settings: settings, accepts: { _ in true }, deadLetters: letters,
            monitor: monitor, context: context
        ) { _ in }
        return [monitor, consumer]
    }
}
