import Foundation
import Kafka
import Testing

@Suite(.enabled(if: TestBroker.isThere, TestBroker.skipped))
struct ProducerTests {
    @Test func roundTripKeepsKeyHeadersTombstoneAndEmptyValue() async throws {
        let topic = try await TestBroker.makeTopic()
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        let headers = [
            KafkaHeader(name: "ce_type", text: "a.v1"), KafkaHeader(name: "ce_type", text: "again"),
            KafkaHeader(name: "null", value: nil), KafkaHeader(name: "empty", value: []),
        ]
        let messages = [
            KafkaMessage(topic: topic, key: [1, 0, 2], value: [0, 255, 7], headers: headers),
            KafkaMessage(topic: topic, key: [1, 0, 2], value: nil),
            KafkaMessage(topic: topic, key: nil, value: []),
        ]
        let before = Date()
        let deliveries = try await producer.send(messages).map { try $0.get() }
        #expect(deliveries.map(\.offset) == [0, 1, 2])
        #expect(deliveries.allSatisfy { $0.partition == 0 })

        let inbox = Inbox()
        let consumer = try KafkaConsumer(
            configuration: TestBroker.configuration(),
            settings: KafkaConsumerSettings(groupId: topic, topics: [topic]), logger: quietLogger
        ) { inbox.add($0) }
        let running = Task { try await consumer.run() }
        #expect(await inbox.wait { $0.count == 3 })
        await consumer.close()
        try await running.value
        await producer.close()

        let records = inbox.records
        try #require(records.count == 3)
        #expect(records[0].key == [1, 0, 2])
        #expect(records[0].value == [0, 255, 7])
        #expect(records[0].headers == headers)
        #expect(records[0].topic == topic)
        #expect(abs((records[0].timestamp ?? .distantPast).timeIntervalSince(before)) < 60)
        #expect(records[1].value == nil)
        #expect(records[1].headers.isEmpty)
        #expect(records[2].key == nil)
        #expect(records[2].value == [])
        #expect(records.map(\.offset) == [0, 1, 2])
    }

    @Test func sendOfTenThousandWaitsForAllAndKeepsTheirOrder() async throws {
        let topic = try await TestBroker.makeTopic(partitions: 6)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        let value = [UInt8](repeating: 65, count: 1_000)
        let results = await producer.send(
            (0..<10_000).map { KafkaMessage(topic: topic, key: Array("key \($0 % 100)".utf8), value: value) })
        let deliveries = try results.map { try $0.get() }
        #expect(deliveries.count == 10_000)
        #expect(Set(deliveries).count == 10_000)
        for partition in Set(deliveries.map(\.partition)) {
            let offsets = deliveries.filter { $0.partition == partition }.map(\.offset)
            #expect(offsets == Array(0..<Int64(offsets.count)))
        }
        #expect(producer.statistics.outstanding == 0)
        #expect(producer.statistics.delivered == 10_000)
        #expect(producer.statistics.replacements == 0)
        await producer.close()
    }

    @Test func aSendAloneDoesNotWait() async throws {
        let topic = try await TestBroker.makeTopic()
        var settings = KafkaProducerSettings()
        settings.gatherTime = .seconds(2)
        let producer = try KafkaProducer(
            configuration: TestBroker.configuration(), settings: settings, logger: quietLogger)
        // The first one waits for the connection, and any for a machine that is busy with something else.
        var times: [Duration] = []
        for number in 0..<5 {
            let begun = ContinuousClock.now
            #expect(try await producer.send(.text("\(number)", topic: topic)).offset == Int64(number))
            times.append(ContinuousClock.now - begun)
        }
        #expect(times.contains { $0 < settings.gatherTime }, "\(times)")
        await producer.close()
    }

    @Test func unknownTopicFailsWithoutReplacingTheClient() async throws {
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        let error = await #expect(throws: KafkaError.self) {
            try await producer.send(.text("x", topic: "does-not-exist-\(UUID().uuidString)"))
        }
        #expect(error?.code == .unknownTopic)
        #expect(error?.isRetriable == true)
        #expect(producer.replacements == 0)
        await producer.close()
    }

    @Test func messagesThatCannotBeSentFailAloneInTheirPlaces() async throws {
        let topic = try await TestBroker.makeTopic()
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        let results = await producer.send([
            .text("first", topic: topic),
            KafkaMessage(topic: topic, value: [UInt8](repeating: 0, count: 3_000_000)),
            .text("no topic", topic: ""),
            .text("no topic's name", topic: String(repeating: "x", count: 300)),
            .text("last", topic: topic),
        ])
        #expect(try results[0].get().offset == 0)
        #expect(throws: KafkaError.self) { try results[1].get() }
        #expect(throws: KafkaError.self) { try results[2].get() }
        #expect(throws: KafkaError.self) { try results[3].get() }
        #expect(try results[4].get().offset == 1)
        if case .failure(let error) = results[1] { #expect(error.code == .messageTooLarge) }
        await producer.close()
    }

    @Test func fullQueueRefusesTheRestAndSendsWhatItTook() async throws {
        let topic = try await TestBroker.makeTopic()
        var settings = KafkaProducerSettings()
        settings.queueMessagesMaximum = 100
        let producer = try KafkaProducer(
            configuration: TestBroker.configuration(), settings: settings, logger: quietLogger)
        let results = await producer.send((0..<1_000).map { .text("\($0)", topic: topic) })
        let failures = results.compactMap { result -> KafkaError? in
            if case .failure(let error) = result { error } else { nil }
        }
        #expect(!failures.isEmpty)
        #expect(failures.count <= 900)
        #expect(failures.allSatisfy { $0.code == .queueFull && $0.isRetriable })
        #expect(try results[0].get().offset == 0)
        await producer.close()
    }

    @Test func manyTasksSendAtOnce() async throws {
        let topic = try await TestBroker.makeTopic(partitions: 3)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        let places = try await withThrowingTaskGroup(of: [KafkaDelivery].self) { group in
            for task in 0..<50 {
                group.addTask {
                    try await producer.send((0..<20).map { .text("\(task) \($0)", topic: topic) })
                        .map { try $0.get() }
                }
            }
            return try await group.reduce(into: Set<KafkaDelivery>()) { $0.formUnion($1) }
        }
        #expect(places.count == 1_000)
        await producer.close()
    }
}
