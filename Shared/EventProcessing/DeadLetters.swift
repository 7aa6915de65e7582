import Foundation
package import Kafka
package import Logging
import Messages
import Metrics

/// The last resort of a message that cannot be read or handled: it is kept as it came, with the reason.
///
/// Whatever it stood for is not lost by it: an unsettled row stays due in the database.
package struct DeadLetters: Sendable {
    private let producer: KafkaProducer
    private let consumer: String
    private let logger: Logger

    /// The most of an error's text that a header carries.
    private static let reasonCharactersMaximum = 500

    /// Writes to `countersign.dead-letters` in the name of a consumer group.
    package init(producer: KafkaProducer, consumer: String, logger: Logger) {
        self.producer = producer
        self.consumer = consumer
        self.logger = logger
    }

    /// Keeps records, each with the reason it could not be handled.
    ///
    /// - Throws: `KafkaError`, when one could not be kept; the batch must then come again.
    package func keep(_ letters: [(record: KafkaRecord, reason: String)]) async throws {
        guard !letters.isEmpty else { return }
        for letter in letters {
            logger.warning(
                "a message went to the dead letters",
                metadata: [
                    "topic": "\(letter.record.topic)", "partition": "\(letter.record.partition)",
                    "offset": "\(letter.record.offset)", "reason": "\(letter.reason)",
                ])
            Counter(label: "countersign_dead_letters_total", dimensions: [("topic", letter.record.topic)]).increment()
        }
        for result in await producer.send(letters.map(message)) {
            _ = try result.get()
        }
    }

    private func message(_ letter: (record: KafkaRecord, reason: String)) -> KafkaMessage {
        let record = letter.record
        let added = [
            ("dead-letter-reason", String(letter.reason.prefix(Self.reasonCharactersMaximum))),
            ("dead-letter-topic", record.topic), ("dead-letter-partition", "\(record.partition)"),
            ("dead-letter-offset", "\(record.offset)"), ("dead-letter-consumer", consumer),
            ("dead-letter-time", MessageCoding.text(Date())),
        ]
        return KafkaMessage(
            topic: Topics.deadLetters, key: record.key, value: record.value,
            headers: record.headers + added.map { KafkaHeader(name: $0.0, value: Array($0.1.utf8)) })
    }
}
