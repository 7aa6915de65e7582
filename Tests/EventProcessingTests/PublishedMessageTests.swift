import Foundation
import Kafka
import Messages
import Testing

@testable import EventProcessing

/// Where the key of an event goes, and that whoever reads the message finds it.
@Suite("A published message")
struct PublishedMessageTests {
    private static let originalTransactionId = "2000000123456789"

    private func event(isOrdered: Bool = false) -> CloudEvent {
        CloudEvent(
            id: "sub_1", type: "t.v1", source: "test", time: Date(timeIntervalSince1970: 5), subject: "sub_1",
            key: Self.originalTransactionId, isOrdered: isOrdered, data: [1])
    }

    private func headerKey(_ message: KafkaMessage) -> String? {
        let header = message.headers.first { $0.name == CloudEvent.partitionKeyHeader }
        return header?.value.map { String(decoding: $0, as: UTF8.self) }
    }

    /// What comes out at the other end.
    private func read(_ message: KafkaMessage) -> CloudEvent? {
        CloudEvent(
            KafkaRecord(
                topic: message.topic, partition: 0, offset: 0, key: message.key, value: message.value,
                headers: message.headers))
    }

    @Test(
        "has no key but a header where the order counts for nothing",
        arguments: [Topics.submissions, Topics.verdicts, Topics.settlements])
    func withoutKey(topic: String) {
        let message = EventPublisher.message(event(), topic: topic)
        #expect(message.key == nil)
        #expect(headerKey(message) == Self.originalTransactionId)
        #expect(read(message) == event())
    }

    @Test("has its key where the partition counts", arguments: [Topics.events, Topics.lookups])
    func withKey(topic: String) {
        let message = EventPublisher.message(event(), topic: topic)
        #expect(message.key == Array(Self.originalTransactionId.utf8))
        #expect(headerKey(message) == nil)
        #expect(read(message) == event())
    }

    @Test("has its key everywhere when it must stay in its order")
    func ordered() {
        let message = EventPublisher.message(event(isOrdered: true), topic: Topics.verdicts)
        #expect(message.key == Array(Self.originalTransactionId.utf8))
        #expect(headerKey(message) == nil)
        #expect(read(message)?.key == Self.originalTransactionId)
    }
}
