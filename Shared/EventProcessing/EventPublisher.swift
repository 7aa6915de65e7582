package import Foundation
package import Kafka
package import Messages
import Metrics

/// Sends CloudEvents to topics and knows which of them arrived.
package struct EventPublisher: Sendable {
    private let producer: KafkaProducer
    private let source: String

    /// Sends through a producer.
    ///
    /// - Parameter source: the service's name, the `ce_source` of what it makes.
    package init(producer: KafkaProducer, source: String) {
        self.producer = producer
        self.source = source
    }

    /// An event about to be sent by this service.
    ///
    /// - Parameters:
    ///   - id: the same in every repetition.
    ///   - correlationId: of the request that led to it; the header `traceparent` when it is one.
    ///   - key: what it belongs to; see `CloudEvent.key`.
    ///   - isOrdered: whether the key decides the partition in every topic; see `CloudEvent.isOrdered`.
    package func event(
        id: String, type: String, subject: String? = nil, correlationId: String, key: String, isOrdered: Bool = false,
        data: [UInt8], time: Date = Date()
    ) -> CloudEvent {
        CloudEvent(
            id: id, type: type, source: source, time: time, subject: subject,
            traceParent: TraceContext.traceParent(correlationId), key: key, isOrdered: isOrdered, data: data)
    }

    /// A submission about to be sent to the verification workers.
    ///
    /// - Parameter key: what it belongs to; see `CloudEvent.key`.
    package func event(_ submission: SubmissionMessage, key: String, time: Date = Date()) -> CloudEvent {
        CloudEvent(
            id: submission.submissionId, type: SubmissionMessage.type, source: source, time: time,
            subject: submission.submissionId, traceParent: TraceContext.traceParent(submission.correlationId), key: key,
            contentType: submission.contentType, extensions: submission.extensions, data: Array(submission.proof.utf8))
    }

    /// Sends events and waits until the broker has, or refused, each of them.
    ///
    /// A failure is counted and not thrown: what must not be lost is due in the database and comes again.
    ///
    /// - Returns: how many did not arrive, or may not have, and the first reason; nil when all arrived.
    package func publish(
        _ events: [(topic: String, event: CloudEvent)]
    ) async -> (failures: Int, firstError: KafkaError?) {
        guard !events.isEmpty else { return (0, nil) }
        let results = await producer.send(events.map { Self.message($0.event, topic: $0.topic) })
        var failures = 0
        var firstError: KafkaError?
        // Counted by the batch: a counter is looked up by its labels each time.
        var counts: [String: (delivered: Int, failed: Int)] = [:]
        for (result, entry) in zip(results, events) {
            switch result {
            case .success: counts[entry.topic, default: (0, 0)].delivered += 1
            case .failure(let error):
                counts[entry.topic, default: (0, 0)].failed += 1
                failures += 1
                firstError = firstError ?? error
            }
        }
        for (topic, count) in counts {
            Self.count(count.delivered, topic: topic, result: "delivered")
            Self.count(count.failed, topic: topic, result: "failed")
        }
        return (failures, firstError)
    }

    /// Sends events and waits; throws when one did not arrive.
    ///
    /// - Throws: `KafkaError`, the first; some of the events may have arrived, and are harmless when sent again.
    package func publishOrThrow(_ events: [(topic: String, event: CloudEvent)]) async throws {
        if let error = await publish(events).firstError { throw error }
    }

    private static func count(_ count: Int, topic: String, result: String) {
        guard count > 0 else { return }
        Counter(
            label: "countersign_messages_published_total", dimensions: [("topic", topic), ("result", result)]
        ).increment(by: count)
    }

    /// The message of an event: the one place that decides whether its key is the record's, or a header.
    ///
    /// Without a key librdkafka puts what is sent together into one partition: one request instead of one for each.
    static func message(_ event: CloudEvent, topic: String) -> KafkaMessage {
        let isKeyed = event.isOrdered || Topics.isKeyed(topic)
        return KafkaMessage(
            topic: topic, key: isKeyed ? Array(event.key.utf8) : nil, value: event.data,
            headers: event.headers(carryingKey: !isKeyed).map {
                KafkaHeader(name: $0.name, value: Array($0.value.utf8))
            })
    }
}
