import Foundation
package import Kafka
package import Messages

/// A message that was read: the event around it, what it says, and where it stood.
package struct Received<Message: Sendable>: Sendable {
    /// The CloudEvent.
    package let event: CloudEvent
    /// What it says.
    package let message: Message
    /// Where it stood.
    package let record: KafkaRecord
}

extension CloudEvent {
    /// The event that a record holds; nil when its headers make none.
    package init?(_ record: KafkaRecord) {
        let headers = record.headers.map { header in
            (name: header.name, value: String(decoding: header.value ?? [], as: UTF8.self))
        }
        self.init(
            headers: headers, key: String(decoding: record.key ?? [], as: UTF8.self), data: record.value ?? [])
    }
}
