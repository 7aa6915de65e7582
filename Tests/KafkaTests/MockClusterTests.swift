import CLibrdkafka
import Foundation
import Kafka
import KafkaTesting
import Testing

/// Errors that no broker gives on demand, from librdkafka's mock cluster.
///
/// The mock proves what our side does with an answer; it is no proof of how a real cluster rebalances or stores.
struct MockClusterTests {
    private static let produceRequest: Int16 = 0
    private static let offsetCommitRequest: Int16 = 8

    @Test func transientRefusalsAreRetriedWithoutTheCallerNoticing() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 1)
        let producer = try KafkaProducer(configuration: cluster.configuration, logger: quietLogger)
        cluster.fail(
            Self.produceRequest,
            with: [RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT])
        try await sendAll((0..<100).map(String.init), to: "t", with: producer)
        #expect(producer.statistics.failed == 0)
        #expect(producer.replacements == 0)
        await producer.close()
    }

    @Test func messagesWithoutAKeyShareAPartitionAndRequests() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 12)
        var settings = KafkaProducerSettings()
        // Longer than the test lasts, so that no change of the partition falls into it.
        settings.stickyTime = .seconds(600)
        let producer = try KafkaProducer(configuration: cluster.configuration, settings: settings, logger: quietLogger)
        // Afterwards the client knows a broker for every partition; before, it takes another partition for each message.
        let keyed = await producer.send((0..<200).map { .text("\($0)", topic: "t", key: "\($0)") })
        #expect(Set(try keyed.map { try $0.get().partition }).count == 12)
        let before = cluster.requests(Self.produceRequest)
        let together = await producer.send((0..<20).map { .text("\($0)", topic: "t") })
        #expect(Set(try together.map { try $0.get().partition }).count == 1)
        #expect(cluster.requests(Self.produceRequest) - before < 12, "not one for each partition")
        await producer.close()

        settings.stickyTime = .zero
        let spreading = try KafkaProducer(
            configuration: cluster.configuration, settings: settings, logger: quietLogger)
        let apart = await spreading.send((0..<200).map { .text("\($0)", topic: "t") })
        #expect(Set(try apart.map { try $0.get().partition }).count > 1)
        await spreading.close()
    }

    @Test func permanentRefusalIsTheSendersError() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 1)
        let producer = try KafkaProducer(configuration: cluster.configuration, logger: quietLogger)
        cluster.fail(Self.produceRequest, with: [RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED])
        let error = await #expect(throws: KafkaError.self) { try await producer.send(.text("x", topic: "t")) }
        #expect(error?.code == .authorization)
        #expect(error?.isRetriable == false)
        #expect(error?.nativeName == "TOPIC_AUTHORIZATION_FAILED")
        await producer.close()
    }

    /// A broker that was just started may not know its topics yet.
    @Test func topicThatWasUnknownForAWhileIsFoundAgain() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 1)
        let producer = try KafkaProducer(configuration: cluster.configuration, logger: quietLogger)
        try await sendAll(["before"], to: "t", with: producer)
        cluster.say(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, about: "t")
        // Makes the client look the topic up.
        cluster.fail(Self.produceRequest, with: [RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION])
        let isUnknown = await eventually {
            do throws(KafkaError) {
                _ = try await producer.send(.text("during", topic: "t"))
                return false
            } catch {
                return error.code == .unknownTopic
            }
        }
        #expect(isUnknown)
        cluster.say(RD_KAFKA_RESP_ERR_NO_ERROR, about: "t")
        #expect(await eventually { (try? await producer.send(.text("after", topic: "t"))) != nil })
        await producer.close()
    }

    /// librdkafka's own request for offsets ends the process here (its issue 4605).
    @Test func offsetsOfAGroupAreToldAgainWhenItsCoordinatorIsBack() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 1)
        let place = KafkaPartition(topic: "t", partition: 0)
        let admin = try KafkaAdmin(configuration: cluster.configuration, logger: quietLogger)
        #expect(try await admin.committedOffsets(of: "g", partitions: [place]).isEmpty)
        cluster.stopBroker()
        for _ in 0..<2 {
            await #expect(throws: KafkaError.self) {
                try await admin.committedOffsets(of: "g", partitions: [place], timeout: .milliseconds(300))
            }
        }
        cluster.startBroker()
        #expect(await eventually { (try? await admin.committedOffsets(of: "g", partitions: [place])) == [:] })
        await admin.close()
    }

    @Test func clientWithAFatalErrorIsReplaced() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 1)
        let producer = try KafkaProducer(configuration: cluster.configuration, logger: quietLogger)
        try await sendAll(["before"], to: "t", with: producer)
        cluster.fail(Self.produceRequest, with: [RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER])
        let error = await #expect(throws: KafkaError.self) { try await producer.send(.text("during", topic: "t")) }
        // The client is beyond help, the message is not.
        #expect(error?.isRetriable == true)
        let works = await eventually { (try? await producer.send(.text("after", topic: "t"))) != nil }
        #expect(works)
        #expect(producer.replacements >= 1)
        await producer.close()
    }

    @Test func commitThatFailsIsSentAgain() async throws {
        let cluster = try MockCluster()
        cluster.makeTopic("t", partitions: 2)
        let producer = try KafkaProducer(configuration: cluster.configuration, logger: quietLogger)
        try await sendAll((0..<50).map(String.init), to: "t", with: producer)
        await producer.close()
        let settings = KafkaConsumerSettings(groupId: "g", topics: ["t"])
        cluster.fail(Self.offsetCommitRequest, with: [RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED])
        let inbox = Inbox()
        let first = try KafkaConsumer(
            configuration: cluster.configuration, settings: settings, logger: quietLogger
        ) { inbox.add($0) }
        let firstRun = Task { try await first.run() }
        #expect(await inbox.wait { $0.count == 50 })
        #expect(await eventually { first.statistics.failedCommits >= 1 && first.statistics.commits >= 1 })
        await first.close()
        try await firstRun.value

        let again = Inbox()
        let second = try KafkaConsumer(
            configuration: cluster.configuration, settings: settings, logger: quietLogger
        ) { again.add($0) }
        let secondRun = Task { try await second.run() }
        #expect(await eventually { second.statistics.assignedPartitions == 2 })
        let late = try KafkaProducer(configuration: cluster.configuration, logger: quietLogger)
        try await sendAll(["late"], to: "t", with: late)
        #expect(await again.wait { $0.contains { $0.text == "late" } })
        #expect(again.texts == ["late"])
        await second.close()
        try await secondRun.value
        await late.close()
    }
}
