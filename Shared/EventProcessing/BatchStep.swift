import Foundation
import Kafka
import Logging
import Messages
import Metrics
import Postgres

/// What happens with one batch.
struct BatchStep<Message: EventMessage>: Sendable {
    let accepts: @Sendable (String) -> Bool
    let deadLetters: DeadLetters
    let logger: Logger
    let handler: EventConsumer<Message>.Handler

    func handle(_ records: [KafkaRecord]) async throws {
        var batch: [Received<Message>] = []
        var unreadable: [(record: KafkaRecord, reason: String)] = []
        for record in records {
            guard let event = CloudEvent(record) else {
                unreadable.append((record, "the CloudEvents headers are missing"))
                continue
            }
            guard accepts(event.type) else {
                Counter(label: "countersign_messages_skipped_total", dimensions: [("topic", record.topic)]).increment()
                continue
            }
            do {
                let message = try Message.read(event)
                batch.append(Received(event: event, message: message, record: record))
            } catch {
                unreadable.append((record, "the data is not a \(event.type)"))
            }
        }
        try await deadLetters.keep(unreadable)
        guard !batch.isEmpty else { return }
        do {
            try await handler(batch)
        } catch {
            if isPassing(error) { throw error }
            logger.warning("a batch failed and is handled one by one", metadata: ["error": "\(error)"])
            try await handleOneByOne(batch)
        }
        if let topic = records.first?.topic {
            Counter(label: "countersign_messages_handled_total", dimensions: [("topic", topic)])
                .increment(by: batch.count)
        }
    }

    private func handleOneByOne(_ batch: [Received<Message>]) async throws {
        for received in batch {
            do {
                try await handler([received])
            } catch {
                if isPassing(error) { throw error }
                try await deadLetters.keep([(received.record, "\(error)")])
            }
        }
    }

    /// True for failures that time, or somebody who mends a configuration, may heal; the batch then comes again.
    private func isPassing(_ error: any Error) -> Bool {
        switch error {
        case let error as PostgresError: error.isRetriable
        case let error as KafkaError: error.isRetriable || !error.isAboutTheMessage
        case is CancellationError: true
        default: false
        }
    }
}

extension KafkaError {
    /// Whether the message itself is refused, now and whenever it is sent again; another one may pass.
    var isAboutTheMessage: Bool {
        switch code {
        case .messageTooLarge, .invalidMessage, .rejected: true
        default: isFatal
        }
    }
}
