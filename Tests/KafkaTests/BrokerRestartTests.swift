import Foundation
import Kafka
import KafkaTesting
import Testing

/// A broker that is killed comes back without its data; every client must find its way.
@Suite(.enabled(if: TestBroker.isProgramThere, TestBroker.programSkipped))
struct BrokerRestartTests {
    @Test func producerOutlivesABrokerThatCameBackEmpty() async throws {
        let broker = try PrivateBroker()
        let topic = try await TestBroker.makeTopic(partitions: 2, on: broker.address)
        let producer = try KafkaProducer(
            configuration: TestBroker.configuration(broker.address), logger: quietLogger)
        try await sendAll((0..<100).map(String.init), to: topic, with: producer)

        // Killed under load: these are acknowledged, or fail, but all have an outcome.
        let load = Task {
            var outcomes: [Result<KafkaDelivery, KafkaError>] = []
            repeat {
                outcomes += await producer.send((0..<2_000).map { .text("load \($0)", topic: topic) })
            } while outcomes.allSatisfy { (try? $0.get()) != nil }
            return outcomes
        }
        #expect(await eventually { producer.statistics.delivered > 10_000 })
        try await broker.kill()
        try broker.start()
        try await TestBroker.create(topic, partitions: 2, on: broker.address)
        let began = ContinuousClock.now
        let recovered = await eventually(within: .seconds(40)) {
            (try? await producer.send(.text("after", topic: topic))) != nil
        }
        #expect(recovered)
        #expect(began.duration(to: .now) < .seconds(20))
        #expect(await load.value.count % 2_000 == 0)
        #expect(producer.replacements > 0)
        try await sendAll((0..<1_000).map { "later \($0)" }, to: topic, with: producer)
        await producer.close()
    }

    @Test func consumerAndTailReaderResumeWhenTheirTopicIsThereAgain() async throws {
        let broker = try PrivateBroker()
        let configuration = TestBroker.configuration(broker.address)
        let topic = try await TestBroker.makeTopic(partitions: 3, on: broker.address)
        let before = try KafkaProducer(configuration: configuration, logger: quietLogger)
        let consumed = Inbox()
        let tailed = Inbox()
        let consumer = try KafkaConsumer(
            configuration: configuration, settings: KafkaConsumerSettings(groupId: topic, topics: [topic]),
            logger: quietLogger
        ) { consumed.add($0) }
        let reader = try KafkaTailReader(configuration: configuration, topic: topic, logger: quietLogger) {
            tailed.add($0)
        }
        let runs = [Task { try await consumer.run() }, Task { try await reader.run() }]
        await reader.waitUntilReady()
        let old = Set((0..<300).map { "old \($0)" })
        try await sendAll(old, to: topic, with: before)
        #expect(await consumed.wait(forAll: old))
        #expect(await tailed.wait(forAll: old))
        await before.close()

        try await broker.kill()
        try broker.start()
        try await TestBroker.create(topic, partitions: 3, on: broker.address)
        let after = try KafkaProducer(configuration: configuration, logger: quietLogger)
        // Fewer than before, so that positions lie past the new ends.
        let new = Set((0..<30).map { "new \($0)" })
        try await sendAll(new, to: topic, with: after)
        #expect(await consumed.wait(forAll: old.union(new)))
        #expect(await tailed.wait(forAll: old.union(new)))
        await consumer.close()
        await reader.close()
        for run in runs { try await run.value }
        await after.close()
    }
}
