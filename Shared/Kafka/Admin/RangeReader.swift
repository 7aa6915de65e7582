import CLibrdkafka

/// A client that reads what stands between two offsets and ends; it is in no group, so it needs no right on one.
enum RangeReader {
    /// The role's properties: at the end of a partition it is told so, whatever is missing before it.
    private static let properties = [
        ("enable.auto.commit", "false"),
        // What was removed by age meanwhile begins later.
        ("auto.offset.reset", "earliest"),
        ("enable.partition.eof", "true"),
        ("queued.max.messages.kbytes", "16384"),
        ("fetch.wait.max.ms", "100"),
    ]

    /// Hands over each record of the ranges; those of one partition come in their order.
    ///
    /// Throws `.timedOut` when nothing came for `patience` before the ends were reached, and what does not pass by itself.
    static func read(
        _ ranges: [KafkaPartition: KafkaOffsets], configuration: KafkaConfiguration, patience: Duration,
        _ body: (KafkaRecord) -> Void
    ) throws(KafkaError) {
        let wanted = ranges.filter { $0.value.earliest < $0.value.end }
        guard !wanted.isEmpty else { return }
        let native = try NativeConfiguration.make(configuration, role: properties)
        native.disableLogging()
        let client = try native.makeClient(RD_KAFKA_CONSUMER, hiding: configuration).pointer
        let queue = rd_kafka_queue_new(client)
        var topics: [String: OpaquePointer] = [:]
        for name in Set(wanted.keys.map(\.topic)) { topics[name] = rd_kafka_topic_new(client, name, nil) }
        for (place, range) in wanted {
            rd_kafka_consume_start_queue(topics[place.topic], place.partition, range.earliest, queue)
        }
        defer {
            for place in wanted.keys { rd_kafka_consume_stop(topics[place.topic], place.partition) }
            for topic in topics.values { rd_kafka_topic_destroy(topic) }
            rd_kafka_queue_destroy(queue)
            rd_kafka_destroy(client)
        }
        try drain(queue, until: wanted.mapValues(\.end), patience: patience, body)
    }

    private static func drain(
        _ queue: OpaquePointer?, until ends: [KafkaPartition: Int64], patience: Duration, _ body: (KafkaRecord) -> Void
    ) throws(KafkaError) {
        var decoder = RecordDecoder()
        var missing = ends
        var deadline = ContinuousClock.now + patience
        while !missing.isEmpty {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero, let message = rd_kafka_consume_queue(queue, left.wholeMilliseconds + 1) else {
                throw KafkaError(
                    .timedOut, isRetriable: true, "\(missing.count) partitions were not read to their ends in time")
            }
            defer { rd_kafka_message_destroy(message) }
            if message.pointee.err == RD_KAFKA_RESP_ERR__PARTITION_EOF {
                let topic = message.pointee.rkt.flatMap(rd_kafka_topic_name).map { String(cString: $0) } ?? ""
                missing[KafkaPartition(topic: topic, partition: message.pointee.partition)] = nil
                continue
            }
            switch decoder.decode(message) {
            case .success(let record):
                deadline = .now + patience
                let place = KafkaPartition(topic: record.topic, partition: record.partition)
                guard let end = missing[place] else { continue }
                if record.offset < end { body(record) }
                if record.offset >= end - 1 { missing[place] = nil }
            case .failure(let error):
                // What passes by itself may still pass before the deadline.
                guard error.isRetriable else { throw error }
            }
        }
    }
}

extension AdminClient {
    func read(
        _ ranges: [KafkaPartition: KafkaOffsets], patience: Duration, _ body: @Sendable (KafkaRecord) -> Void
    ) throws(KafkaError) {
        // Through `call` for the sake of its closed check.
        try call { _ throws(KafkaError) in
            try RangeReader.read(ranges, configuration: configuration, patience: patience, body)
        }
    }
}
