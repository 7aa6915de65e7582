import Foundation
public import Kafka
public import Messages

/// A message that was read: the event around it, what it says, and where it stood.
public struct Received<Message: Sendable>: Sendable {
    /// The CloudEvent.
    public let event: CloudEvent
    /// What it says.
    public let message: Message
    /// Where it stood.
    public let record: KafkaRecord
}

extension CloudEvent {
    /// The event that a record holds; nil when its headers make none.
    public init?(_ record: KafkaRecord) {
        let headers = record.headers.map { header in
            (name: header.name, value: String(decoding: header.value ?? [], as: UTF8.self))
        }
        self.init(
            headers: headers, key: String(decoding: record.key ?? [], as: UTF8.self), data: record.value ?? [])
    }
}
