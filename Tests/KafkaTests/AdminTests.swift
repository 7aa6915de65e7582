import Foundation
import Kafka
import KafkaTesting
import Testing

struct AdminTests {
    @Test(.enabled(if: TestBroker.isThere, TestBroker.skipped))
    func createsWhatIsMissingAndLeavesTheRest() async throws {
        let admin = try KafkaAdmin(configuration: TestBroker.configuration(), logger: quietLogger)
        let names = (0..<2).map { _ in "test-\(UUID().uuidString.lowercased())" }
        let first = KafkaTopicSpecification(name: names[0], partitions: 3, settings: ["retention.ms": "3600000"])
        let second = KafkaTopicSpecification(name: names[1], partitions: 1)
        #expect(try await admin.createTopics([first]) == [names[0]])
        #expect(try await admin.createTopics([first, second]) == [names[1]])
        #expect(try await admin.createTopics([]).isEmpty)
        let counts = try await admin.partitionCounts()
        #expect(counts[names[0]] == 3)
        #expect(counts[names[1]] == 1)
        await admin.close()
        await admin.close()
        await #expect(throws: KafkaError.self) { try await admin.partitionCounts() }
    }

    @Test func impossibleTopicsAreRefused() async throws {
        let admin = try KafkaAdmin(configuration: TestBroker.configuration("127.0.0.1:1"), logger: quietLogger)
        for topic in [
            KafkaTopicSpecification(name: "", partitions: 1), KafkaTopicSpecification(name: "x", partitions: -7),
            KafkaTopicSpecification(name: "x", partitions: .max),
        ] {
            let error = await #expect(throws: KafkaError.self) { try await admin.createTopics([topic]) }
            #expect(error?.code == .invalidMessage)
        }
        await admin.close()
    }

    @Test func clusterThatIsDownIsARetriableError() async throws {
        let admin = try KafkaAdmin(configuration: TestBroker.configuration("127.0.0.1:1"), logger: quietLogger)
        let topic = KafkaTopicSpecification(name: "x", partitions: 1)
        let errors = [
            await #expect(throws: KafkaError.self) {
                try await admin.createTopics([topic], timeout: .milliseconds(300))
            },
            await #expect(throws: KafkaError.self) { try await admin.partitionCounts(timeout: .milliseconds(300)) },
        ]
        #expect(errors.allSatisfy { $0?.isRetriable == true })
        await admin.close()
    }

    @Test(.enabled(if: TestBroker.isThere, TestBroker.skipped))
    func tellsWhereAGroupIsAndHowFar() async throws {
        let topic = try await TestBroker.makeTopic(partitions: 2)
        let places = (0..<2).map { KafkaPartition(topic: topic, partition: $0) }
        let admin = try KafkaAdmin(configuration: TestBroker.configuration(), logger: quietLogger)
        let empty = KafkaOffsets(earliest: 0, end: 0)
        #expect(try await admin.offsets(of: places) == [places[0]: empty, places[1]: empty])
        #expect(try await admin.committedOffsets(of: topic, partitions: places).isEmpty)
        #expect(try await admin.groups([topic]).allSatisfy { $0.members.isEmpty })

        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        try await sendAll((0..<40).map(String.init), to: topic, with: producer)
        await producer.close()
        let ends = try await admin.offsets(of: places)
        #expect(ends.values.map(\.end).reduce(0, +) == 40)

        let inbox = Inbox()
        let consumer = try KafkaConsumer(
            configuration: TestBroker.configuration(), settings: KafkaConsumerSettings(groupId: topic, topics: [topic]),
            logger: quietLogger
        ) { inbox.add($0) }
        let run = Task { try await consumer.run() }
        #expect(await inbox.wait { $0.count >= 40 })
        let isCommitted = try await eventually {
            try await admin.committedOffsets(of: topic, partitions: places) == ends.mapValues(\.end)
        }
        #expect(isCommitted)
        let group = try #require(try await admin.groups([topic]).first)
        #expect(group.id == topic)
        #expect(group.members.map(\.clientId) == ["kafka-tests"])
        #expect(group.assigned == Set(places))
        await consumer.close()
        _ = try? await run.value
        #expect(try await eventually { try await admin.groups([topic]).first?.members.isEmpty ?? true })
        await admin.close()
    }

    @Test(.enabled(if: TestBroker.isThere, TestBroker.skipped))
    func tellsWhenARecordWasWrittenWithoutAGroup() async throws {
        let topic = try await TestBroker.makeTopic()
        let place = KafkaPartition(topic: topic, partition: 0)
        let started = Date()
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        try await sendAll(["a", "b"], to: topic, with: producer)
        await producer.close()
        let admin = try KafkaAdmin(configuration: TestBroker.configuration(), logger: quietLogger)
        let written = try #require(try await admin.timestamps(at: [place: 1])[place])
        // A broker keeps milliseconds, and may round them down.
        #expect(written > started.addingTimeInterval(-1))
        let none = try await admin.timestamps(
            at: [KafkaPartition(topic: topic, partition: 9): 0], timeout: .milliseconds(300))
        #expect(none.isEmpty)
        await admin.close()
    }

    @Test(.enabled(if: TestBroker.isThere, TestBroker.skipped))
    func readsWhatStandsBetweenOffsetsWithoutAGroup() async throws {
        let topic = try await TestBroker.makeTopic(partitions: 2)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        // One key, so one partition.
        _ = await producer.send(["a", "b", "c", "d"].map { .text($0, topic: topic, key: "k") })
        await producer.close()
        let admin = try KafkaAdmin(configuration: TestBroker.configuration(), logger: quietLogger)
        let places = [0, 1].map { KafkaPartition(topic: topic, partition: $0) }
        let offsets = try await admin.offsets(of: places)
        let inbox = Inbox()
        try await admin.read(offsets) { inbox.add([$0]) }
        #expect(inbox.texts == ["a", "b", "c", "d"], "the empty partition is waited for by nobody")
        let middle = Inbox()
        let full = try #require(offsets.first { $0.value.end == 4 }?.key)
        try await admin.read([full: KafkaOffsets(earliest: 1, end: 3)]) { middle.add([$0]) }
        #expect(middle.texts == ["b", "c"])
        // Past the end: the broker says that nothing more is there.
        let past = Inbox()
        try await admin.read([full: KafkaOffsets(earliest: 3, end: 99)]) { past.add([$0]) }
        #expect(past.texts == ["d"])
        await admin.close()
    }

    @Test(.enabled(if: TestBroker.isThere, TestBroker.skipped))
    func tellsWhoKeepsATopic() async throws {
        let topic = try await TestBroker.makeTopic(partitions: 3)
        let admin = try KafkaAdmin(configuration: TestBroker.configuration(), logger: quietLogger)
        let cluster = try await admin.cluster()
        #expect(cluster.brokers >= 1)
        let found = try #require(cluster.topics.first { $0.name == topic })
        #expect(found.partitions.map(\.id) == [0, 1, 2])
        #expect(found.partitions.allSatisfy { $0.leader != nil })
        await #expect(throws: KafkaError.self) {
            try await admin.offsets(
                of: [KafkaPartition(topic: "\(topic)-none", partition: 0)], timeout: .seconds(2))
        }
        await admin.close()
    }

    @Test func emptyQuestionsAskNobody() async throws {
        let admin = try KafkaAdmin(configuration: TestBroker.configuration("127.0.0.1:1"), logger: quietLogger)
        #expect(try await admin.groups([]).isEmpty)
        #expect(try await admin.offsets(of: []).isEmpty)
        #expect(try await admin.committedOffsets(of: "x", partitions: []).isEmpty)
        #expect(try await admin.timestamps(at: [:]).isEmpty)
        #expect(try await admin.settings(of: []).isEmpty)
        await admin.close()
    }
}
