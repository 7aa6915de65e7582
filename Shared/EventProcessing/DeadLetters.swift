import Foundation
package import Kafka
package import Logging
import Messages
import Metrics

/// The last resort of a message that cannot be read or handled: it is kept as it came, with the reason.
///
/// Whatever it stood for is not lost by it: an unsettled row stays due in the database.
package struct DeadLetters: Sendable {
    /// Sends messages, and answers for each in their order.
    typealias Send = @Sendable ([KafkaMessage]) async -> [Result<KafkaDelivery, KafkaError>]

    private let send: Send
    private let consumer: String
    private let logger: Logger

    /// The most of an error's text that a header carries.
    private static let reasonCharactersMaximum = 500
    /// The most bytes of a key that a letter without its value keeps.
    private static let keyBytesMaximum = 1_024

    /// Writes to `countersign.dead-letters` in the name of a consumer group.
    package init(producer: KafkaProducer, consumer: String, logger: Logger) {
        self.init(consumer: consumer, logger: logger) { await producer.send($0) }
    }

    init(consumer: String, logger: Logger, send: @escaping Send) {
        self.send = send
        self.consumer = consumer
        self.logger = logger
    }

    /// Keeps records, each with the reason it could not be handled.
    ///
    /// One that is itself refused, being too large with its headers, is kept without its value and the headers that it
    /// came with; its place says where the rest is, for as long as its topic keeps it.
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
        var refused: [(record: KafkaRecord, reason: String)] = []
        for (letter, result) in zip(letters, await send(letters.map { message($0) })) {
            guard case .failure(let error) = result else { continue }
            guard !error.isRetriable, error.isAboutTheMessage else { throw error }
            refused.append(letter)
            Counter(label: "countersign_dead_letters_shortened_total", dimensions: [("topic", letter.record.topic)])
                .increment()
            logger.error(
                "a dead letter was refused, and is kept without its value",
                metadata: ["topic": "\(letter.record.topic)", "error": "\(error)"])
        }
        guard !refused.isEmpty else { return }
        for result in await send(refused.map { message($0, isShortened: true) }) { _ = try result.get() }
    }

    private func message(_ letter: (record: KafkaRecord, reason: String), isShortened: Bool = false) -> KafkaMessage {
        let record = letter.record
        var added = [
            (DeadLetter.Header.reason, String(letter.reason.prefix(Self.reasonCharactersMaximum))),
            (DeadLetter.Header.topic, record.topic), (DeadLetter.Header.partition, "\(record.partition)"),
            (DeadLetter.Header.offset, "\(record.offset)"), (DeadLetter.Header.consumer, consumer),
            (DeadLetter.Header.time, MessageCoding.text(Date())),
        ]
        if isShortened { added.append((DeadLetter.Header.valueBytes, "\(record.value?.count ?? 0)")) }
        // A shortened letter has none of the record's headers, one of which may be its key.
        let key =
            isShortened
            ? (record.key ?? record.keyInHeader).flatMap { $0.count > Self.keyBytesMaximum ? nil : $0 } : record.key
        return KafkaMessage(
            topic: Topics.deadLetters, key: key, value: isShortened ? nil : record.value,
            headers: (isShortened ? [] : record.headers)
                + added.map { KafkaHeader(name: $0.0, value: Array($0.1.utf8)) })
    }
}

extension KafkaRecord {
    /// The key of an event whose record has none.
    fileprivate var keyInHeader: [UInt8]? { headers.first { $0.name == CloudEvent.partitionKeyHeader }?.value }
}
