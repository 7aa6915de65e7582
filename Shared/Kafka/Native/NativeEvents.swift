import CLibrdkafka
import Logging

/// Passes librdkafka's log lines on at debug level, a few of each kind at a time.
struct NativeLogRelay {
    /// A refused connection is logged with each attempt; this many lines of one facility are enough per window.
    private static let linesMaximum = 3
    private static let window = Duration.seconds(10)

    private let logger: Logger
    private let configuration: KafkaConfiguration
    private var counts: [String: Int] = [:]
    private var windowStart = ContinuousClock.now

    init(logger: Logger, configuration: KafkaConfiguration) {
        self.logger = logger
        self.configuration = configuration
    }

    /// Takes a log event; the caller destroys it.
    mutating func relay(log event: OpaquePointer) {
        var facility: UnsafePointer<CChar>?
        var text: UnsafePointer<CChar>?
        var level: Int32 = 0
        guard logger.logLevel <= .debug, rd_kafka_event_log(event, &facility, &text, &level) == 0 else { return }
        relay(facility.map { String(cString: $0) } ?? "", text.map { String(cString: $0) } ?? "")
    }

    /// Takes an error event; the caller destroys it.
    mutating func relay(error event: OpaquePointer) {
        guard logger.logLevel <= .debug else { return }
        let name = String(cString: rd_kafka_err2name(rd_kafka_event_error(event)))
        relay(name, String(cString: rd_kafka_event_error_string(event)))
    }

    private mutating func relay(_ facility: String, _ text: String) {
        if windowStart.duration(to: .now) > Self.window {
            windowStart = .now
            counts = [:]
        }
        counts[facility, default: 0] += 1
        guard counts[facility, default: 0] <= Self.linesMaximum else { return }
        logger.debug("librdkafka: \(configuration.redacting(text))", metadata: ["kafka_facility": "\(facility)"])
    }
}

extension KafkaError {
    /// The error that an error event tells, in a sentence where there is one; nil for a fatal one.
    init?(event: OpaquePointer, hiding configuration: KafkaConfiguration) {
        guard rd_kafka_event_error_is_fatal(event) == 0 else { return nil }
        let code = rd_kafka_event_error(event)
        let text = configuration.redacting(rd_kafka_event_error_string(event).map { String(cString: $0) } ?? "")
        self =
            ConnectionTrouble.error(code, text, certificate: nil)
            ?? KafkaError(native: code, detail: text.isEmpty ? nil : text)
    }
}

/// A list of partitions in C, destroyed with its scope.
struct NativePartitionList: ~Copyable {
    typealias Entry = (place: TopicPartition, offset: Int64, error: rd_kafka_resp_err_t)

    let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    /// Makes a list of partitions with an offset each.
    init(_ entries: some Collection<(TopicPartition, Int64)>) {
        pointer = rd_kafka_topic_partition_list_new(Int32(entries.count))
        for (place, offset) in entries {
            rd_kafka_topic_partition_list_add(pointer, place.topic, place.partition).pointee.offset = offset
        }
    }

    /// Makes a list of topics, as a subscription takes it.
    init(topics: [String]) {
        pointer = rd_kafka_topic_partition_list_new(Int32(topics.count))
        // -1 is "no partition": the header's macro for it is a cast that Swift does not import.
        for topic in topics { rd_kafka_topic_partition_list_add(pointer, topic, -1) }
    }

    deinit { rd_kafka_topic_partition_list_destroy(pointer) }

    /// The entries, read from a list that somebody else owns.
    static func entries(of list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?) -> [Entry] {
        guard let list else { return [] }
        return (0..<Int(list.pointee.cnt)).map { index in
            let element = list.pointee.elems[index]
            let place = TopicPartition(topic: String(cString: element.topic), partition: element.partition)
            return (place, element.offset, element.err)
        }
    }
}
