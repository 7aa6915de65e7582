import Foundation
package import Kafka
import Logging
package import Messages
import ServiceLifecycle
package import ServiceRuntime

/// Consumes one topic in a group: decodes, hands batches to a handler, and commits what the handler made durable.
///
/// A message that cannot be read goes to the dead letters; a type that the service does not know is counted and
/// skipped. When the handler fails for a passing reason (database, broker), the batch comes again with back-off; when
/// it fails for another, the batch is handled message by message, so that one poison message cannot hold up the rest.
/// The monitor says whether it is ready, and has its client replaced when it stalls.
package struct EventConsumer<Message: EventMessage>: Service {
    private let consumer: KafkaConsumer
    private let watched: WatchedConsumer
    private let health: HealthCheck

    /// Handles a batch: returns when everything that follows from it is durable.
    package typealias Handler = @Sendable ([Received<Message>]) async throws -> Void

    /// Makes a consumer; it starts with `run()`.
    ///
    /// - Parameters:
    ///   - settings: the group and the topic with their limits.
    ///   - accepts: whether the service handles a type.
    ///   - monitor: watches it; must run as well.
    /// - Throws: `KafkaError`, for a configuration that librdkafka refuses.
    package init(
        kafka: KafkaConfiguration, settings: KafkaConsumerSettings, accepts: @escaping @Sendable (String) -> Bool,
        deadLetters: DeadLetters, monitor: KafkaMonitor, context: ServiceContext, handler: @escaping Handler
    ) throws {
        let logger = context.logger
        let step = BatchStep(accepts: accepts, deadLetters: deadLetters, logger: logger, handler: handler)
        let topic = settings.topics.joined(separator: ",")
        consumer = try KafkaConsumer(configuration: kafka, settings: settings, logger: logger) { records in
            try await step.handle(records)
        }
        health = context.health.register("consumer \(topic)")
        watched = monitor.watch(consumer, settings: settings, topic: topic)
        context.metrics.onScrape { [watched] in Self.samples(of: watched) }
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

    private static func samples(of watched: WatchedConsumer) -> [GaugeSample] {
        let labels = [("topic", watched.topic)]
        let statistics = watched.consumer.statistics
        // Where the cluster does not tell about the group, only our own partitions are known.
        let lag = watched.view?.lag ?? statistics.lag ?? 0
        return [
            GaugeSample(
                "countersign_consumer_assigned_partitions", labels: labels, Double(statistics.assignedPartitions)),
            GaugeSample("countersign_consumer_paused", labels: labels, statistics.isPaused ? 1 : 0),
            GaugeSample("countersign_consumer_buffered_records", labels: labels, Double(statistics.bufferedRecords)),
            GaugeSample("countersign_consumer_lag_records", labels: labels, Double(lag)),
            GaugeSample("countersign_consumer_stalled", labels: labels, watched.standing.isStalled ? 1 : 0),
            .counter(
                "countersign_consumer_failed_batches_total", labels: labels, Double(statistics.failedBatches)),
            .counter(
                "countersign_consumer_replacements_total", labels: labels, Double(statistics.replacements)),
        ]
    }

    /// Consumes until graceful shutdown; what is in hand is finished and committed first.
    ///
    /// - Throws: `KafkaError` for a configuration that librdkafka refuses.
    package func run() async throws {
        health.set(ready: false, detail: "waiting for the group")
        defer { health.set(ready: false, detail: "stopped") }
        try await consumer.run()
    }
}
