import CLibrdkafka

/// A client that asks how far a group is; it names the group and never joins it.
///
/// The admin request for that would be shorter. But librdkafka ends the process when the coordinator comes back after
/// such a request ran out of time (its issue 4605, open in 2.14.2), and when another broker has become it.
struct GroupReader {
    /// The role's properties beside the group.
    private static let properties = [("enable.auto.commit", "false")]
    /// librdkafka's `RD_KAFKA_OFFSET_INVALID`, a macro that Swift does not import.
    private static let noOffset: Int64 = -1001

    private let client: ThreadSafeHandle

    init(_ group: String, configuration: KafkaConfiguration) throws(KafkaError) {
        let native = try NativeConfiguration.make(configuration, role: Self.properties + [("group.id", group)])
        native.disableLogging()
        native.enable(events: RD_KAFKA_EVENT_ERROR)
        client = try native.makeClient(RD_KAFKA_CONSUMER, hiding: configuration)
        rd_kafka_poll_set_consumer(client.pointer)
    }

    /// What the group has committed of these partitions, each with its own error.
    func committed(
        _ partitions: [KafkaPartition], timeout: Duration
    ) throws(KafkaError) -> [NativePartitionList.Entry] {
        try committed(NativePartitionList(partitions.map { ($0, Self.noOffset) }), timeout: timeout)
    }

    private func committed(
        _ list: borrowing NativePartitionList, timeout: Duration
    ) throws(KafkaError) -> [NativePartitionList.Entry] {
        let error = rd_kafka_committed(client.pointer, list.pointer, timeout.wholeMilliseconds)
        // Taken off the queue in any case, or they would pile up.
        let refusal = refusal()
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR else { throw refusal ?? KafkaError(native: error) }
        return NativePartitionList.entries(of: list.pointer)
    }

    /// Why the coordinator does not talk to us: a call just runs out of time then.
    private func refusal() -> KafkaError? {
        var refusal: KafkaError?
        let queue = rd_kafka_queue_get_consumer(client.pointer)
        defer { rd_kafka_queue_destroy(queue) }
        while let event = rd_kafka_queue_poll(queue, 0) {
            if rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR {
                let error = KafkaError(native: rd_kafka_event_error(event))
                if error.code == .authorization { refusal = error }
            }
            rd_kafka_event_destroy(event)
        }
        return refusal
    }

    func close() {
        // It is in no group, so there is none to leave.
        rd_kafka_destroy_flags(client.pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    }
}
