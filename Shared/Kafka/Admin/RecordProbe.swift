import CLibrdkafka
import Foundation

/// A client that looks at single records and ends; it is in no group, so it needs no right on one.
enum RecordProbe {
    /// The role's properties: as little as brokers send for one record.
    private static let properties = [
        ("enable.auto.commit", "false"),
        // What was removed by age begins later; that is the oldest then.
        ("auto.offset.reset", "earliest"),
        ("queued.min.messages", "1"),
        ("queued.max.messages.kbytes", "1024"),
        ("fetch.wait.max.ms", "100"),
        ("fetch.message.max.bytes", "65536"),
    ]

    /// When the first record at or after each offset was written; no entry where none came within `timeout`.
    static func timestamps(
        at places: [KafkaPartition: Int64], configuration: KafkaConfiguration, timeout: Duration
    ) throws(KafkaError) -> [KafkaPartition: Date] {
        guard !places.isEmpty else { return [:] }
        let deadline = ContinuousClock.now + timeout
        let native = try NativeConfiguration.make(configuration, role: properties)
        native.disableLogging()
        let client = try native.makeClient(RD_KAFKA_CONSUMER, hiding: configuration).pointer
        let queue = rd_kafka_queue_new(client)
        var topics: [String: OpaquePointer] = [:]
        for name in Set(places.keys.map(\.topic)) { topics[name] = rd_kafka_topic_new(client, name, nil) }
        for (place, offset) in places {
            rd_kafka_consume_start_queue(topics[place.topic], place.partition, offset, queue)
        }
        defer {
            for place in places.keys { rd_kafka_consume_stop(topics[place.topic], place.partition) }
            for topic in topics.values { rd_kafka_topic_destroy(topic) }
            rd_kafka_queue_destroy(queue)
            rd_kafka_destroy(client)
        }
        return try firstTimestamps(of: Set(places.keys), from: queue, until: deadline)
    }

    private static func firstTimestamps(
        of places: Set<KafkaPartition>, from queue: OpaquePointer?, until deadline: ContinuousClock.Instant
    ) throws(KafkaError) -> [KafkaPartition: Date] {
        var decoder = RecordDecoder()
        var wanted = places
        var timestamps: [KafkaPartition: Date] = [:]
        while !wanted.isEmpty {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero, let message = rd_kafka_consume_queue(queue, left.wholeMilliseconds + 1) else { break }
            defer { rd_kafka_message_destroy(message) }
            switch decoder.decode(message) {
            case .success(let record):
                let place = KafkaPartition(topic: record.topic, partition: record.partition)
                if wanted.remove(place) != nil { timestamps[place] = record.timestamp }
            case .failure(let error):
                // What passes by itself may still pass before the deadline.
                guard error.isRetriable else { throw error }
            }
        }
        return timestamps
    }
}

extension AdminClient {
    func timestamps(
        at places: [KafkaPartition: Int64], timeout: Duration
    ) throws(KafkaError) -> [KafkaPartition: Date] {
        // Through `call` for the sake of its closed check.
        try call { _ throws(KafkaError) in
            try RecordProbe.timestamps(at: places, configuration: configuration, timeout: timeout)
        }
    }
}
