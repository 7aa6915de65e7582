import Foundation
import Kafka
import Logging
import Synchronization
import Testing

/// Many messages at once, beyond every buffer: all of them arrive.
///
/// How fast is a matter of benchmarks.
@Suite(.enabled(if: TestBroker.isThere, TestBroker.skipped), .serialized)
struct ThroughputTests {
    private static let messages = 40_000

    @Test func fortyThousandOfFiveKilobytesGoThroughBothSides() async throws {
        let topic = try await TestBroker.makeTopic(partitions: 6)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        // Not all alike, so that compression is not for free.
        let value = (0..<5_000).map { _ in UInt8.random(in: 32..<96) }
        let batch = (0..<500).map { KafkaMessage(topic: topic, key: Array("\($0)".utf8), value: value) }
        for _ in 0..<(Self.messages / batch.count) {
            for result in await producer.send(batch) { _ = try result.get() }
        }
        await producer.close()

        let offsets = Mutex<[Int32: [Int64]]>([:])
        let all = Inbox()
        let consumer = try KafkaConsumer(
            configuration: TestBroker.configuration(),
            settings: KafkaConsumerSettings(groupId: topic, topics: [topic]), logger: quietLogger
        ) { records in
            let total = offsets.withLock { offsets in
                for record in records { offsets[record.partition, default: []].append(record.offset) }
                return offsets.values.reduce(0) { $0 + $1.count }
            }
            if total >= Self.messages { all.add(Array(records.suffix(1))) }
        }
        let running = Task { try await consumer.run() }
        #expect(await all.wait { $0.count >= 1 })
        await consumer.close()
        try await running.value
        let read = offsets.withLock { $0 }
        #expect(read.values.reduce(0) { $0 + $1.count } == Self.messages)
        for offsets in read.values { #expect(offsets == Array(0..<Int64(offsets.count))) }
    }
}
