import Foundation
package import Kafka
import Logging
import Messages
import Metrics
import Postgres
import ServiceLifecycle
package import ServiceRuntime

/// Consumes one topic in a group: decodes, hands batches to a handler, and commits what the handler made durable.
///
/// A message that cannot be read goes to the dead letters; a type that the service does not know is counted and
/// skipped. When the handler fails for a passing reason (database, broker), the batch comes again with back-off; when
/// it fails for another, the batch is handled message by message, so that one poison message cannot hold up the rest.
package struct EventConsumer<Message: Decodable & Sendable>: Service {
    private let consumer: KafkaConsumer
    private let health: HealthCheck

    /// Handles a batch: returns when everything that follows from it is durable.
    package typealias Handler = @Sendable ([Received<Message>]) async throws -> Void

    /// Makes a consumer; it starts with `run()`.
    ///
    /// - Parameters:
    ///   - settings: the group and the topic with their limits.
    ///   - accepts: whether the service handles a type.
    /// - Throws: `KafkaError`, for a configuration that librdkafka refuses.
    package init(
        kafka: KafkaConfiguration, settings: KafkaConsumerSettings, accepts: @escaping @Sendable (String) -> Bool,
        deadLetters: DeadLetters, context: ServiceContext, handler: @escaping Handler
    ) throws {
        let logger = context.logger
        let step = BatchStep(accepts: accepts, deadLetters: deadLetters, logger: logger, handler: handler)
        let topic = settings.topics.joined(separator: ",")
        consumer = try KafkaConsumer(configuration: kafka, settings: settings, logger: logger) { records in
            try await step.handle(records)
        }
        health = context.health.register("consumer \(topic)")
        context.metrics.onScrape { [consumer] in Self.samples(consumer.statistics, topic: topic) }
    }

    /// Hands no more batches to the handler until `resume()`; the batch in hand is finished and committed as always.
    ///
    /// Readiness stays as it is: a process that waits for somebody else is not to be restarted. Rebalances, heartbeats
    /// and commits go on, and stopping ends a pause. It may be called before `run()`, and again.
    package func pause() { consumer.pause() }

    /// Goes on after a pause with the record after the last one that was handed over; no effect without a pause.
    package func resume() { consumer.resume() }

    /// Whether `pause()` was called and `resume()` not yet.
    package var isPaused: Bool { consumer.isPaused }

    /// How many of the topic's partitions are ours now; 0 before the group has given us any.
    package var assignedPartitions: Int { consumer.statistics.assignedPartitions }

    private static func samples(_ statistics: KafkaConsumerStatistics, topic: String) -> [GaugeSample] {
        let labels = [("topic", topic)]
        return [
            GaugeSample(
                "countersign_consumer_assigned_partitions", labels: labels, Double(statistics.assignedPartitions)),
            GaugeSample("countersign_consumer_paused", labels: labels, statistics.isPaused ? 1 : 0),
            GaugeSample("countersign_consumer_buffered_records", labels: labels, Double(statistics.bufferedRecords)),
            GaugeSample("countersign_consumer_lag_records", labels: labels, Double(statistics.lag ?? 0)),
            .counter(
                "countersign_consumer_failed_batches_total", labels: labels, Double(statistics.failedBatches)),
        ]
    }

    /// Consumes until graceful shutdown; what is in hand is finished and committed first.
    ///
    /// - Throws: `KafkaError` for a configuration that librdkafka refuses.
    package func run() async throws {
        health.set(ready: true, detail: "consuming")
        defer { health.set(ready: false, detail: "stopped") }
        try await consumer.run()
    }
}

/// What happens with one batch.
private struct BatchStep<Message: Decodable & Sendable>: Sendable {
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
                let message = try MessageCoding.decode(Message.self, from: event.data)
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

    /// True for failures that time may heal; the batch then comes again.
    private func isPassing(_ error: any Error) -> Bool {
        switch error {
        case let error as PostgresError: error.isRetriable
        case let error as KafkaError: error.isRetriable || !error.isFatal
        case is CancellationError: true
        default: false
        }
    }
}
