import CLibrdkafka
import Foundation
import Logging

/// librdkafka's consumer and its queues, used by one thread only.
///
/// A member of a group gets its records through a queue of their own. Not polling that one holds the records back, while
/// events (rebalances, commits, errors) keep coming through the other; pausing partitions instead would throw away what
/// was prefetched. A client without a group has one queue for both: librdkafka undoes the forwarding of a partition
/// whenever it stops, at a time of its own, and only a rebalance waits for that.
struct ConsumerClient {
    let client: ThreadSafeHandle
    private let events: ThreadSafeHandle
    private let records: ThreadSafeHandle?

    init(
        configuration: KafkaConfiguration, role: [(String, String)], separatesRecords: Bool, wakes pipe: WakePipe
    ) throws(KafkaError) {
        let native = try NativeConfiguration.make(configuration, role: role)
        native.enable(
            events: RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_OFFSET_COMMIT | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG
                | RD_KAFKA_EVENT_FETCH)
        client = try native.makeClient(RD_KAFKA_CONSUMER, hiding: configuration)
        rd_kafka_poll_set_consumer(client.pointer)
        rd_kafka_set_log_queue(client.pointer, nil)
        events = ThreadSafeHandle(pointer: rd_kafka_queue_get_consumer(client.pointer))
        records = separatesRecords ? ThreadSafeHandle(pointer: rd_kafka_queue_new(client.pointer)) : nil
        for queue in [events, records].compactMap({ $0 }) {
            rd_kafka_queue_io_event_enable(queue.pointer, pipe.writeEnd, "w", 1)
        }
    }

    /// The next event, which the caller destroys; nil when there is none now.
    func nextEvent() -> OpaquePointer? {
        rd_kafka_queue_poll(events.pointer, 0)
    }

    /// Takes up to `limit` messages from the queue for records without waiting, and destroys them when `body` has copied what it needs.
    ///
    /// - Returns: how many there were.
    func takeMessages(_ limit: Int, _ body: (UnsafePointer<rd_kafka_message_t>) -> Void) -> Int {
        guard let records else { return 0 }
        let messages = UnsafeMutableBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>.allocate(capacity: limit)
        messages.initialize(repeating: nil)
        defer { messages.deallocate() }
        let count = max(0, rd_kafka_consume_batch_queue(records.pointer, 0, messages.baseAddress, limit))
        for message in messages.prefix(count) {
            guard let message else { continue }
            body(message)
            rd_kafka_message_destroy(message)
        }
        return count
    }

    /// Reads these partitions from these offsets, through the queue for records if there is one.
    func assign(_ entries: [(TopicPartition, Int64)]) throws(KafkaError) {
        for (place, _) in entries {
            guard let records,
                let queue = rd_kafka_queue_get_partition(client.pointer, place.topic, place.partition)
            else { continue }
            rd_kafka_queue_forward(queue, records.pointer)
            rd_kafka_queue_destroy(queue)
        }
        let list = NativePartitionList(entries)
        let error = rd_kafka_assign(client.pointer, list.pointer)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(native: error) }
    }

    func unassign() {
        rd_kafka_assign(client.pointer, nil)
    }

    func subscribe(_ topics: [String]) throws(KafkaError) {
        let list = NativePartitionList(topics: topics)
        let error = rd_kafka_subscribe(client.pointer, list.pointer)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(native: error) }
    }

    func unsubscribe() {
        rd_kafka_unsubscribe(client.pointer)
    }

    /// Sends a commit, whose outcome comes as an event; false when it could not even be sent.
    func commit(_ offsets: [(TopicPartition, Int64)]) -> Bool {
        let list = NativePartitionList(offsets)
        let error = rd_kafka_commit_queue(client.pointer, list.pointer, events.pointer, nil, nil)
        return error == RD_KAFKA_RESP_ERR_NO_ERROR
    }

    /// Commits and waits for the outcome, at most for `limit`.
    func commit(_ offsets: [(TopicPartition, Int64)], within limit: Duration) -> Bool {
        // A queue of its own, since librdkafka's blocking commit knows no time limit.
        let answers = rd_kafka_queue_new(client.pointer)
        defer { rd_kafka_queue_destroy(answers) }
        let list = NativePartitionList(offsets)
        guard rd_kafka_commit_queue(client.pointer, list.pointer, answers, nil, nil) == RD_KAFKA_RESP_ERR_NO_ERROR,
            let event = rd_kafka_queue_poll(answers, limit.wholeMilliseconds)
        else { return false }
        defer { rd_kafka_event_destroy(event) }
        guard rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR else { return false }
        return NativePartitionList.entries(of: rd_kafka_event_topic_partition_list(event)).allSatisfy {
            $0.error == RD_KAFKA_RESP_ERR_NO_ERROR
        }
    }

    /// The end of a partition as the last fetch saw it; nil when nothing was fetched yet.
    ///
    /// Asks nobody.
    func newestOffset(_ place: TopicPartition) -> Int64? {
        var low: Int64 = -1
        var high: Int64 = -1
        let error = rd_kafka_get_watermark_offsets(client.pointer, place.topic, place.partition, &low, &high)
        return error == RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0 ? high : nil
    }

    /// Leaves the group, at most for `limit`, and destroys queues and client in the order that librdkafka asks for.
    func close(within limit: Duration) {
        let deadline = ContinuousClock.now + limit
        if let records { rd_kafka_queue_destroy(records.pointer) }
        rd_kafka_queue_destroy(events.pointer)
        let closing = rd_kafka_queue_new(client.pointer)
        if let error = rd_kafka_consumer_close_queue(client.pointer, closing) {
            rd_kafka_error_destroy(error)
        } else {
            while rd_kafka_consumer_closed(client.pointer) == 0, ContinuousClock.now < deadline {
                guard let event = rd_kafka_queue_poll(closing, 50) else { continue }
                // Everything was committed before; giving the partitions back is all that is left.
                if rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE { unassign() }
                rd_kafka_event_destroy(event)
            }
        }
        rd_kafka_queue_destroy(closing)
        let isClosed = rd_kafka_consumer_closed(client.pointer) != 0
        rd_kafka_destroy_flags(client.pointer, isClosed ? 0 : RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    }
}
