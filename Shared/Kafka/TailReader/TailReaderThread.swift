import CLibrdkafka
import Foundation
import Logging

/// The life of a tail reader's thread: find the partitions and their ends, take records, notice a broker that lost its
/// data, and end the client.
///
/// Where a partition ends is asked for, and then taken from the first fetch: some brokers name an end that lies before
/// the true one, and none lies about it in a fetch. For the same reason a partition that became shorter is noticed
/// here, and not only by the error that Apache Kafka answers.
struct TailReaderThread {
    /// How often the topic is looked up until it is there.
    private static let firstLookInterval = Duration.milliseconds(250)
    /// How often partitions are looked up afterwards.
    private static let lookInterval = Duration.seconds(3)
    /// How often the first fetch is looked for; it takes a tenth of a second at the most.
    private static let settleInterval = Duration.milliseconds(20)
    /// How often partitions are checked for having become shorter.
    private static let checkInterval = Duration.seconds(1)
    /// How long one look may block the thread; without an answer there are no records either.
    private static let lookTime = Duration.seconds(1)
    private static let recordsMaximum = 500

    private let client: ConsumerClient
    private let hub: ConsumerHub
    private let topic: String
    private let ready: OneShotSignal
    private let configuration: KafkaConfiguration
    private let logger: Logger
    private var logs: NativeLogRelay
    private var decoder = RecordDecoder()
    /// The next offset of each partition that is read.
    private var positions: [TopicPartition: Int64] = [:]
    /// Partitions whose end no fetch has told yet.
    private var unsettled: Set<TopicPartition> = []
    /// What lies before is old.
    private var starts: [TopicPartition: Int64] = [:]
    private var lookNotBefore = ContinuousClock.now

    init(
        client: ConsumerClient, hub: ConsumerHub, topic: String, ready: OneShotSignal,
        configuration: KafkaConfiguration, logger: Logger
    ) {
        self.client = client
        self.hub = hub
        self.topic = topic
        self.ready = ready
        self.configuration = configuration
        self.logger = logger
        logs = NativeLogRelay(logger: logger, configuration: configuration)
    }

    consuming func run(closeTimeout: Duration) {
        var hasMore = false
        while !isStopped() {
            hub.pipe.sleep(atMost: hasMore ? .zero : timeToNextDeadline())
            settle()
            hasMore = handleEvents()
            guard hub.isRunning, hub.stopBy == nil else { continue }
            restartShortened()
            if lookNotBefore <= .now { look() }
        }
        client.unassign()
        client.close(within: closeTimeout)
        hub.pipe.close()
    }

    private func isStopped() -> Bool {
        guard let stopBy = hub.stopBy else { return false }
        return stopBy <= .now || hub.withLedger { $0.inFlightSince == nil }
    }

    private func timeToNextDeadline() -> Duration {
        let untilLook = max(.zero, ContinuousClock.now.duration(to: lookNotBefore))
        return min(untilLook, unsettled.isEmpty ? Self.checkInterval : Self.settleInterval)
    }

    /// Takes what is there as far as records fit into the buffer; true when there may be more at once.
    private mutating func handleEvents() -> Bool {
        let limit = min(hub.withLedger { $0.room() }, Self.recordsMaximum)
        var records: [KafkaRecord] = []
        while records.count < limit, let event = client.nextEvent() {
            switch rd_kafka_event_type(event) {
            case RD_KAFKA_EVENT_FETCH: records += decoder.decode(event: event, refused: hub.note)
            case RD_KAFKA_EVENT_LOG: logs.relay(log: event)
            case RD_KAFKA_EVENT_ERROR:
                logs.relay(error: event)
                if let error = KafkaError(event: event, hiding: configuration) { hub.note(error) }
                // Something happened to the broker: look soon whether it still has what was read.
                lookNotBefore = min(lookNotBefore, .now + Self.firstLookInterval)
            default: break
            }
            rd_kafka_event_destroy(event)
        }
        // A fetch tells the end before its records come, so what is old is known by now.
        settle()
        let new = records.filter { record in
            let place = TopicPartition(topic: record.topic, partition: record.partition)
            positions[place] = record.offset + 1
            return record.offset >= starts[place] ?? 0
        }
        if !new.isEmpty {
            hub.withLedger { $0.append(new) }
            hub.works()
        }
        return limit > 0 && records.count >= limit
    }

    /// Notes the ends that the first fetches told; the reader is ready when it has all.
    private mutating func settle() {
        guard !unsettled.isEmpty else { return }
        for place in unsettled {
            guard let end = client.newestOffset(place) else { continue }
            starts[place] = end
            unsettled.remove(place)
        }
        if unsettled.isEmpty { ready.set() }
    }

    /// Reads from its start a partition that ends before what was read of it: its broker lost the data.
    private mutating func restartShortened() {
        let shortened = positions.filter { place, position in
            !unsettled.contains(place) && client.newestOffset(place).map { $0 < position } ?? false
        }
        guard !shortened.isEmpty else { return }
        for place in shortened.keys {
            positions[place] = 0
            starts[place] = 0
        }
        assign()
    }

    /// Looks up the partitions.
    ///
    /// At first all are read from the end; one that is new afterwards, from its start.
    private mutating func look() {
        lookNotBefore = .now + Self.firstLookInterval
        do throws(KafkaError) {
            if positions.isEmpty { try findEnds() } else { try findAdded() }
        } catch {
            hub.note(error)
        }
    }

    private mutating func findEnds() throws(KafkaError) {
        guard let ends = try client.ends(of: topic, within: Self.lookTime) else { return }
        positions = Dictionary(ends, uniquingKeysWith: { first, _ in first })
        unsettled = Set(positions.keys)
        // Whatever kept the topic from us is over.
        hub.forgetErrors()
        assign()
    }

    private mutating func findAdded() throws(KafkaError) {
        guard let count = try client.partitionCount(of: topic, within: Self.lookTime) else { return }
        let places = (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
        let added = places.filter { positions[$0] == nil }
        for place in added { positions[place] = 0 }
        if !added.isEmpty { assign() }
        lookNotBefore = .now + Self.lookInterval
    }

    private mutating func assign() {
        let entries = positions.map { ($0.key, $0.value) }
        hub.withLedger { $0.assign(entries.map(\.0)) }
        do throws(KafkaError) {
            try client.assign(entries)
        } catch {
            logger.debug("the tail reader could not begin: \(error)")
            positions = [:]
        }
    }
}

extension ConsumerClient {
    /// The partitions of a topic and the offset after the last record of each; nil when there is no whole answer.
    fileprivate func ends(
        of topic: String, within limit: Duration
    ) throws(KafkaError) -> [(TopicPartition, Int64)]? {
        guard let count = try partitionCount(of: topic, within: limit) else { return nil }
        // -1 stands for the end, as a time to search for.
        let list = NativePartitionList((0..<Int32(count)).map { (TopicPartition(topic: topic, partition: $0), -1) })
        let error = rd_kafka_offsets_for_times(client.pointer, list.pointer, limit.wholeMilliseconds)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        let entries = NativePartitionList.entries(of: list.pointer)
        guard entries.allSatisfy({ $0.error == RD_KAFKA_RESP_ERR_NO_ERROR && $0.offset >= 0 }) else { return nil }
        return entries.map { ($0.place, $0.offset) }
    }

    /// How many partitions a topic has; nil when nobody answers, and an error when the answer is one.
    fileprivate func partitionCount(of topic: String, within limit: Duration) throws(KafkaError) -> Int? {
        guard let handle = rd_kafka_topic_new(client.pointer, topic, nil) else { return nil }
        defer { rd_kafka_topic_destroy(handle) }
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let error = rd_kafka_metadata(client.pointer, 0, handle, &metadata, limit.wholeMilliseconds)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else { return nil }
        defer { rd_kafka_metadata_destroy(metadata) }
        guard metadata.pointee.topic_cnt == 1 else { return nil }
        let refusal = metadata.pointee.topics[0].err
        guard refusal == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw KafkaError(native: refusal, detail: "\(topic): \(String(cString: rd_kafka_err2str(refusal)))")
        }
        let count = Int(metadata.pointee.topics[0].partition_cnt)
        return count > 0 ? count : nil
    }
}
