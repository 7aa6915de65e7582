package import Foundation
package import Kafka
import Messages

/// A message of `countersign.dead-letters`, as it is read back.
package struct DeadLetter: Sendable {
    /// The headers that `DeadLetters` adds; a message that is sent again goes without them.
    enum Header {
        static let prefix = "dead-letter-"
        static let reason = "dead-letter-reason"
        static let topic = "dead-letter-topic"
        static let partition = "dead-letter-partition"
        static let offset = "dead-letter-offset"
        static let consumer = "dead-letter-consumer"
        static let time = "dead-letter-time"
        /// How large the value was of a letter that is kept without it.
        static let valueBytes = "dead-letter-value-bytes"
    }

    /// Its place among the dead letters.
    package let partition: Int32
    /// Its place in the partition.
    package let offset: Int64
    /// When it became one; nil where neither a header nor the broker says.
    package let time: Date?
    /// Why nobody could read or handle it.
    package let reason: String
    /// The consumer group that could not.
    package let consumer: String
    /// The topic that it came from; nil where no header says.
    package let topic: String?
    /// Where it stood there: `3/4711`.
    package let origin: String
    /// The message's own CloudEvents type and subject; nil where it has no such header.
    package let type: String?
    package let subject: String?
    /// Bytes that the message has, or had before it was kept without them.
    package let valueBytes: Int
    /// Whether it was too large, and is kept without its value and headers.
    package let isShortened: Bool
    /// The message as it came: the same key, headers and value.
    ///
    /// Nil where that is gone, or where it came from no topic that a group of ours reads.
    package let message: KafkaMessage?

    /// Reads a record of `countersign.dead-letters`; whatever is there is a letter.
    package init(_ record: KafkaRecord) {
        func text(_ name: String) -> String? {
            // Those that were added stand behind the message's own.
            record.headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
        }
        (partition, offset) = (record.partition, record.offset)
        time = text(Header.time).flatMap(MessageCoding.date) ?? record.timestamp
        reason = text(Header.reason) ?? ""
        consumer = text(Header.consumer) ?? ""
        let topic = text(Header.topic)
        self.topic = topic
        origin = "\(text(Header.partition) ?? "?")/\(text(Header.offset) ?? "?")"
        (type, subject) = (text("ce_type"), text("ce_subject"))
        let bytesBefore = text(Header.valueBytes).flatMap { Int($0) }
        isShortened = bytesBefore != nil
        valueBytes = bytesBefore ?? record.value?.count ?? 0
        if let topic, bytesBefore == nil, TopicUse.groups.contains(where: { $0.topic == topic }) {
            message = KafkaMessage(
                topic: topic, key: record.key, value: record.value,
                headers: record.headers.filter { !$0.name.hasPrefix(Header.prefix) })
        } else {
            message = nil
        }
    }
}
