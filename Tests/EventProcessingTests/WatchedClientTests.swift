import Configuration
import LogTesting
import Logging
import ServiceRuntime
import Synchronization
import Testing

@testable import EventProcessing
@testable import Kafka

@Suite("A producer or a tail reader that is watched")
struct WatchedClientTests {
    private let log = CapturedLog()
    private let context: ServiceContext

    init() {
        context = ServiceContext(
            identity: ServiceIdentity(name: "test", version: "1.0", adminPort: 0),
            configuration: ConfigReader(provider: InMemoryProvider(values: [:])), logger: log.logger())
    }

    @Test(
        "tells of a lasting error in the log once, in the metric and in readiness, and that it is over",
        arguments: [true, false])
    func trouble(stopsReadiness: Bool) async throws {
        let trouble = Mutex<KafkaTrouble?>(nil)
        let words = WatchedClient.Words(fine: "sending", fails: "cannot send", goesOn: "sends again")
        let client = WatchedClient("producer", words: words, stopsReadiness: stopsReadiness, context: context) {
            trouble.withLock { $0 }
        }
        client.look()
        #expect(log.texts.isEmpty)
        #expect(context.metrics.render().contains(#"countersign_kafka_client_failing{client="producer"} 0"#))

        let error = KafkaError(.authorization, "no right", remedy: "give it")
        trouble.withLock { $0 = KafkaTrouble(error: error, stopsWork: true) }
        client.look()
        client.look()
        #expect(log.texts(.error) == ["cannot send reason=no right; give it"])
        #expect(context.metrics.render().contains(#"countersign_kafka_client_failing{client="producer"} 1"#))
        var check = try #require(await context.health.report().checks.first { $0.name == "producer" })
        #expect(check.ready == !stopsReadiness && check.detail == "no right; give it")

        trouble.withLock { $0 = nil }
        client.look()
        #expect(log.texts(.notice) == ["sends again"])
        #expect(context.metrics.render().contains(#"countersign_kafka_client_failing{client="producer"} 0"#))
        check = try #require(await context.health.report().checks.first { $0.name == "producer" })
        #expect(check.ready && check.detail == "sending")
    }
}
