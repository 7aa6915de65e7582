import Foundation
import Kafka
import Logging
import Synchronization
import Testing

/// What the pipeline needs, with plenty of room: a slow machine may not fail a test, a per-message thread hop must.
@Suite(.enabled(if: TestBroker.isThere, TestBroker.skipped), .serialized)
struct ThroughputTests {
    private static let messages = 40_000
    private static let rateMinimum = 4_000.0

    @Test func batchesOfFiveKilobytesGoThroughBothSides() async throws {
        let topic = try await TestBroker.makeTopic(partitions: 6)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        // Not all alike, so that compression is not for free.
        let value = (0..<5_000).map { _ in UInt8.random(in: 32..<96) }
        let batch = (0..<500).map { KafkaMessage(topic: topic, key: Array("\($0)".utf8), value: value) }
        let sending = ContinuousClock.now
        for _ in 0..<(Self.messages / batch.count) {
            for result in await producer.send(batch) { _ = try result.get() }
        }
        let sent = Double(Self.messages) / sending.duration(to: .now).seconds
        await producer.close()

        let count = Mutex(0)
        let all = Inbox()
        let consumer = try KafkaConsumer(
            configuration: TestBroker.configuration(),
            settings: KafkaConsumerSettings(groupId: topic, topics: [topic]), logger: quietLogger
        ) { records in
            let total = count.withLock { count in
                count += records.count
                return count
            }
            if total == records.count || total >= Self.messages { all.add(Array(records.suffix(1))) }
        }
        let running = Task { try await consumer.run() }
        #expect(await all.wait { $0.count >= 1 })
        let reading = ContinuousClock.now
        #expect(await all.wait { $0.count >= 2 })
        let read = Double(Self.messages) / reading.duration(to: .now).seconds
        await consumer.close()
        try await running.value
        quietLogger.debug("sent \(Int(sent))/s, read \(Int(read))/s")
        #expect(sent > Self.rateMinimum)
        #expect(read > Self.rateMinimum)
    }

    @Test func loneMessageReachesTheHandlerAtOnce() async throws {
        let topic = try await TestBroker.makeTopic(partitions: 3)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        let inbox = Inbox()
        let consumer = try KafkaConsumer(
            configuration: TestBroker.configuration(),
            settings: KafkaConsumerSettings(groupId: topic, topics: [topic]), logger: quietLogger
        ) { inbox.add($0) }
        let running = Task { try await consumer.run() }
        try await sendAll(["first"], to: topic, with: producer)
        #expect(await inbox.wait { $0.count == 1 })
        var times: [Duration] = []
        for number in 2...60 {
            let began = ContinuousClock.now
            try await sendAll(["\(number)"], to: topic, with: producer)
            #expect(await inbox.wait { $0.count == number })
            times.append(began.duration(to: .now))
        }
        let median = times.sorted()[times.count / 2]
        quietLogger.debug("a lone message took \(median), at most \(times.max() ?? .zero)")
        #expect(median < .milliseconds(250))
        await consumer.close()
        try await running.value
        await producer.close()
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
