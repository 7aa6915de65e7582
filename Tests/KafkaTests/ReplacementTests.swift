import CLibrdkafka
import Foundation
import KafkaTesting
import Synchronization
import Testing

@testable import Kafka

/// A consumer whose client is replaced, against a broker.
@Suite("A replaced client", .enabled(if: TestBroker.isThere, TestBroker.skipped))
struct ReplacementTests {
    private static let count = 200

    /// Makes a topic with records `0…count-1` in three partitions.
    private func filledTopic() async throws -> String {
        let topic = try await TestBroker.makeTopic(partitions: 3)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        try await sendAll((0..<Self.count).map(String.init), to: topic, with: producer)
        await producer.close()
        return topic
    }

    private func settings(_ topic: String) -> KafkaConsumerSettings {
        var settings = KafkaConsumerSettings(groupId: topic, topics: [topic])
        settings.batchRecordsMaximum = 10
        return settings
    }

    @Test("waits for the handler, commits, and goes on with what comes next")
    func nothingComesTwice() async throws {
        let topic = try await filledTopic()
        let inbox = Inbox()
        let release = OneShotSignal()
        let consumer = try KafkaConsumer(
            configuration: TestBroker.configuration(), settings: settings(topic), logger: quietLogger
        ) { records in
            inbox.add(records)
            await release.wait()
        }
        #expect(!consumer.replaceClient())
        let running = Task { try await consumer.run() }
        #expect(await inbox.wait { !$0.isEmpty })
        #expect(consumer.progress.handlingSince != nil && consumer.progress.waiting.count > 0)
        #expect(consumer.replaceClient())
        // One at a time.
        #expect(!consumer.replaceClient())
        release.set()
        #expect(await inbox.wait { $0.count >= Self.count })
        #expect(Set(inbox.texts).count == Self.count && inbox.records.count == Self.count)
        #expect(consumer.statistics.replacements == 1)
        #expect(await eventually { consumer.statistics.lag == 0 && !consumer.progress.isUncommitted })
        await consumer.close()
        try await running.value
    }

    @Test("leaves behind a handler that lasts too long, whose batch comes again")
    func aSlowHandlersBatchComesAgain() async throws {
        let topic = try await filledTopic()
        var settings = settings(topic)
        settings.drainTimeout = .milliseconds(100)
        let inbox = Inbox()
        let release = OneShotSignal()
        let consumer = try KafkaConsumer(
            configuration: TestBroker.configuration(), settings: settings, logger: quietLogger
        ) { records in
            inbox.add(records)
            await release.wait()
        }
        let running = Task { try await consumer.run() }
        #expect(await inbox.wait { !$0.isEmpty })
        let inHand = inbox.texts
        #expect(consumer.replaceClient())
        #expect(await eventually { consumer.statistics.replacements == 1 })
        #expect(inbox.texts == inHand)
        release.set()
        #expect(await inbox.wait { $0.count >= Self.count + inHand.count })
        #expect(Set(inbox.texts) == Set((0..<Self.count).map(String.init)))
        await consumer.close()
        try await running.value
    }
}

/// What a consumer and a producer say about themselves when the cluster refuses them, from librdkafka's mock cluster.
@Suite("A refused client")
struct RefusedClientTests {
    private enum Request {
        static let produce: Int16 = 0
        static let findCoordinator: Int16 = 10
        static let initProducerId: Int16 = 22
    }

    private func consumer(
        _ cluster: MockCluster, _ handler: @escaping KafkaConsumer.Handler = { _ in }
    ) throws -> KafkaConsumer {
        var settings = KafkaConsumerSettings(groupId: "g", topics: ["t"])
        settings.closeTimeout = .seconds(2)
        return try KafkaConsumer(
            configuration: cluster.configuration, settings: settings, logger: quietLogger, handler: handler)
    }

    @Test("knows that it may not join its group, until it may")
    func groupAuthorization() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 1)
        let refusals = Array(repeating: RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, count: 1_000)
        cluster.fail(Request.findCoordinator, with: refusals)
        let consumer = try consumer(cluster)
        let running = Task { try await consumer.run() }
        #expect(await eventually { consumer.progress.trouble?.error.code == .authorization })
        #expect(consumer.progress.trouble?.stopsWork == true)
        #expect(consumer.progress.trouble?.error.remedy?.contains("ACL") == true)
        cluster.stopFailing(Request.findCoordinator)
        #expect(await eventually { consumer.progress.isAssigned })
        #expect(consumer.progress.trouble == nil)
        await consumer.close()
        try await running.value
    }

    @Test("gets out of a group that rebalances for ever by a new client")
    func endlessRebalance() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 2)
        cluster.rebalanceForEver()
        let consumer = try consumer(cluster)
        let running = Task { try await consumer.run() }
        #expect(await eventually { cluster.requests(MockCluster.syncGroup) > 0 })
        #expect(!consumer.progress.isAssigned && consumer.progress.partitions.isEmpty)
        #expect(consumer.replaceClient())
        #expect(await eventually { consumer.statistics.replacements == 1 })
        cluster.endRebalance()
        #expect(await eventually { consumer.progress.partitions.count == 2 })
        await consumer.close()
        try await running.value
    }

    @Test("knows that it may not send to a topic, until it may")
    func topicAuthorization() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 1)
        let producer = try KafkaProducer(configuration: cluster.configuration, logger: quietLogger)
        try await sendAll(["before"], to: "t", with: producer)
        #expect(producer.trouble == nil)
        cluster.fail(Request.produce, with: [RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED])
        await #expect(throws: KafkaError.self) { try await producer.send(.text("x", topic: "t")) }
        #expect(producer.trouble?.error.code == .authorization && producer.trouble?.stopsWork == true)
        #expect(producer.trouble?.description.hasPrefix("t: ") == true)
        let isOver = await eventually {
            _ = try? await producer.send(.text("after", topic: "t"))
            return producer.trouble == nil
        }
        #expect(isOver)
        await producer.close()
    }

    @Test("knows that it may not see the topic whose tail it reads, until it may")
    func tailAuthorization() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 1)
        cluster.say(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, about: "t")
        let reader = try KafkaTailReader(
            configuration: cluster.configuration, topic: "t", logger: quietLogger
        ) { _ in }
        let running = Task { try await reader.run() }
        #expect(await eventually { reader.trouble?.error.code == .authorization })
        #expect(reader.trouble?.description.hasPrefix("t: ") == true)
        #expect(reader.trouble?.error.remedy?.contains("ACL") == true)
        cluster.say(RD_KAFKA_RESP_ERR_NO_ERROR, about: "t")
        #expect(await eventually { reader.trouble == nil })
        await reader.close()
        try await running.value
    }

    @Test("names what an idempotent producer needs")
    func clusterAuthorization() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 1)
        let refusals = Array(repeating: RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, count: 1_000)
        cluster.fail(Request.initProducerId, with: refusals)
        let producer = try KafkaProducer(configuration: cluster.configuration, logger: quietLogger)
        #expect(await eventually { producer.trouble?.error.nativeName == "CLUSTER_AUTHORIZATION_FAILED" })
        #expect(producer.trouble?.description.contains("IdempotentWrite") == true)
        cluster.stopFailing(Request.initProducerId)
        let works = await eventually {
            _ = try? await producer.send(.text("after", topic: "t"))
            return producer.trouble == nil
        }
        #expect(works)
        await producer.close()
    }
}
