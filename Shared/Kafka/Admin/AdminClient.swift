import BlockingThreads
import CLibrdkafka
import Foundation
import Logging

/// librdkafka's admin calls, which block, on a thread of their own.
actor AdminClient {
    private let executor = ThreadExecutor(name: "kafka-admin")
    private let handle: ThreadSafeHandle
    private let logger: Logger
    private var isClosed = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(configuration: KafkaConfiguration, logger: Logger) throws(KafkaError) {
        let native = try NativeConfiguration.make(configuration, role: [])
        // Nobody polls between calls, so lines would pile up.
        native.disableLogging()
        handle = try native.makeClient(RD_KAFKA_PRODUCER, hiding: configuration)
        self.logger = logger
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        rd_kafka_destroy(handle.pointer)
        executor.stop()
    }

    func partitionCounts(timeout: Duration) throws(KafkaError) -> [String: Int] {
        guard !isClosed else { throw KafkaError.closedClient }
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let error = rd_kafka_metadata(handle.pointer, 1, nil, &metadata, timeout.wholeMilliseconds)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else { throw KafkaError(native: error) }
        defer { rd_kafka_metadata_destroy(metadata) }
        var counts: [String: Int] = [:]
        for index in 0..<Int(metadata.pointee.topic_cnt) {
            let topic = metadata.pointee.topics[index]
            guard topic.err == RD_KAFKA_RESP_ERR_NO_ERROR, let name = topic.topic else { continue }
            counts[String(cString: name)] = Int(topic.partition_cnt)
        }
        return counts
    }

    func createTopics(_ topics: [KafkaTopicSpecification], timeout: Duration) throws(KafkaError) -> [String] {
        guard !isClosed else { throw KafkaError.closedClient }
        guard !topics.isEmpty else { return [] }
        var requests: [OpaquePointer?] = []
        defer { for request in requests { rd_kafka_NewTopic_destroy(request) } }
        for topic in topics { requests.append(try topic.makeNative()) }

        let options = rd_kafka_AdminOptions_new(handle.pointer, RD_KAFKA_ADMIN_OP_CREATETOPICS)
        defer { rd_kafka_AdminOptions_destroy(options) }
        rd_kafka_AdminOptions_set_request_timeout(options, timeout.wholeMilliseconds, nil, 0)
        rd_kafka_AdminOptions_set_operation_timeout(options, timeout.wholeMilliseconds, nil, 0)
        let answers = rd_kafka_queue_new(handle.pointer)
        defer { rd_kafka_queue_destroy(answers) }
        rd_kafka_CreateTopics(handle.pointer, &requests, requests.count, options, answers)
        guard let event = rd_kafka_queue_poll(answers, timeout.wholeMilliseconds) else {
            throw KafkaError(.timedOut, isRetriable: true, "topics were not created in time")
        }
        defer { rd_kafka_event_destroy(event) }
        return try created(in: event)
    }

    /// The created topics of an answer; throws the first error that is not "exists already".
    private func created(in event: OpaquePointer) throws(KafkaError) -> [String] {
        let error = rd_kafka_event_error(event)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(native: error) }
        guard let result = rd_kafka_event_CreateTopics_result(event) else {
            throw KafkaError(.native, "the answer is not the one to creating topics")
        }
        var count = 0
        let topics = rd_kafka_CreateTopics_result_topics(result, &count)
        var created: [String] = []
        var failure: KafkaError?
        for index in 0..<count {
            guard let topic = topics?[index], let text = rd_kafka_topic_result_name(topic) else { continue }
            let name = String(cString: text)
            switch rd_kafka_topic_result_error(topic) {
            case RD_KAFKA_RESP_ERR_NO_ERROR: created.append(name)
            case RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS: logger.debug("the topic \(name) exists already")
            case let error:
                let detail = rd_kafka_topic_result_error_string(topic).map { String(cString: $0) }
                failure = failure ?? KafkaError(native: error, detail: "\(name): \(detail ?? "refused")")
            }
        }
        if let failure { throw failure }
        return created
    }
}

extension KafkaTopicSpecification {
    /// librdkafka's form, which the caller destroys; throws `.invalidMessage` for what it does not take.
    fileprivate func makeNative() throws(KafkaError) -> OpaquePointer {
        let numbers = (Int32(exactly: partitions), Int32(exactly: replicationFactor))
        // Kafka's own limit for names; librdkafka would send any and wait for the refusal.
        guard !name.isEmpty, name.utf8.count <= 249, let partitions = numbers.0, let replicationFactor = numbers.1,
            let native = rd_kafka_NewTopic_new(name, partitions, replicationFactor, nil, 0)
        else {
            throw KafkaError(.invalidMessage, "the topic's name, partitions or replication factor cannot be")
        }
        for (key, value) in settings {
            let error = rd_kafka_NewTopic_set_config(native, key, value)
            if error == RD_KAFKA_RESP_ERR_NO_ERROR { continue }
            rd_kafka_NewTopic_destroy(native)
            throw KafkaError(.invalidMessage, "the topic's setting \(key) cannot be")
        }
        return native
    }
}
