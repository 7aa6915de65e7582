import CLibrdkafka
import Logging

extension AdminClient {
    func cluster(timeout: Duration) throws(KafkaError) -> KafkaCluster {
        try metadata(ofAllTopics: true, timeout: timeout) { all in
            let topics = (0..<Int(all.topic_cnt)).compactMap { KafkaTopic(all.topics[$0]) }
            return KafkaCluster(brokers: Int(all.broker_cnt), topics: topics.sorted { $0.name < $1.name })
        }
    }

    /// The numbers of the brokers that are up.
    func brokers(timeout: Duration) throws(KafkaError) -> [Int32] {
        try metadata(ofAllTopics: false, timeout: timeout) { all in
            (0..<Int(all.broker_cnt)).map { all.brokers[$0].id }
        }
    }

    private func metadata<Result>(
        ofAllTopics all: Bool, timeout: Duration, _ read: (rd_kafka_metadata) -> Result
    ) throws(KafkaError) -> Result {
        try call { client throws(KafkaError) in
            var metadata: UnsafePointer<rd_kafka_metadata>?
            let error = rd_kafka_metadata(client, all ? 1 : 0, nil, &metadata, timeout.wholeMilliseconds)
            guard error == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else { throw KafkaError(native: error) }
            defer { rd_kafka_metadata_destroy(metadata) }
            return read(metadata.pointee)
        }
    }

    func createTopics(_ topics: [KafkaTopicSpecification], timeout: Duration) throws(KafkaError) -> [String] {
        try repeating(within: timeout) { timeout throws(KafkaError) in
            try createTopicsOnce(topics, timeout: timeout)
        }
    }

    private func createTopicsOnce(
        _ topics: [KafkaTopicSpecification], timeout: Duration
    ) throws(KafkaError) -> [String] {
        guard !topics.isEmpty else { return [] }
        var requests: [OpaquePointer?] = []
        defer { for request in requests { rd_kafka_NewTopic_destroy(request) } }
        for topic in topics { requests.append(try topic.makeNative()) }
        return try call(RD_KAFKA_ADMIN_OP_CREATETOPICS, within: timeout, "topics were not created") {
            rd_kafka_CreateTopics($0, &requests, requests.count, $1, $2)
        } read: { event throws(KafkaError) in
            guard let result = rd_kafka_event_CreateTopics_result(event) else { throw KafkaError.wrongAnswer }
            var count = 0
            let topics = rd_kafka_CreateTopics_result_topics(result, &count)
            return try accepted(topics, count, passingOver: RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
        }
    }

    func createPartitions(of topic: String, total: Int, timeout: Duration) throws(KafkaError) {
        guard !topic.isEmpty, total > 0, Int32(exactly: total) != nil,
            let request = rd_kafka_NewPartitions_new(topic, total, nil, 0)
        else {
            throw KafkaError(.invalidMessage, "the topic's name or number of partitions cannot be")
        }
        defer { rd_kafka_NewPartitions_destroy(request) }
        var requests: [OpaquePointer?] = [request]
        try call(RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, within: timeout, "partitions were not created") {
            rd_kafka_CreatePartitions($0, &requests, requests.count, $1, $2)
        } read: { event throws(KafkaError) in
            guard let result = rd_kafka_event_CreatePartitions_result(event) else { throw KafkaError.wrongAnswer }
            var count = 0
            let topics = rd_kafka_CreatePartitions_result_topics(result, &count)
            _ = try accepted(topics, count, passingOver: RD_KAFKA_RESP_ERR_NO_ERROR)
        }
    }

    func settings(of topics: [String], timeout: Duration) throws(KafkaError) -> [String: [String: String]] {
        guard !topics.isEmpty else { return [:] }
        var requests: [OpaquePointer?] = topics.map { rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) }
        defer { for request in requests { request.map(rd_kafka_ConfigResource_destroy) } }
        guard requests.allSatisfy({ $0 != nil }) else {
            throw KafkaError(.invalidMessage, "a topic's name cannot be")
        }
        return try call(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, within: timeout, "topics' settings were not told") {
            rd_kafka_DescribeConfigs($0, &requests, requests.count, $1, $2)
        } read: { event throws(KafkaError) in
            guard let result = rd_kafka_event_DescribeConfigs_result(event) else { throw KafkaError.wrongAnswer }
            var count = 0
            let resources = nativeArray(rd_kafka_DescribeConfigs_result_resources(result, &count), count)
            var settings: [String: [String: String]] = [:]
            for resource in resources {
                let error = rd_kafka_ConfigResource_error(resource)
                guard let name = rd_kafka_ConfigResource_name(resource).map({ String(cString: $0) }) else { continue }
                guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
                    throw KafkaError(native: error, detail: "\(name): \(KafkaError(native: error).detail)")
                }
                settings[name] = Self.entries(of: resource)
            }
            return settings
        }
    }

    /// The settings of one answer; those that the broker keeps secret have no value, and are left out.
    private static func entries(of resource: OpaquePointer) -> [String: String] {
        var count = 0
        var entries: [String: String] = [:]
        for entry in nativeArray(rd_kafka_ConfigResource_configs(resource, &count), count) {
            guard let name = rd_kafka_ConfigEntry_name(entry), let value = rd_kafka_ConfigEntry_value(entry) else {
                continue
            }
            entries[String(cString: name)] = String(cString: value)
        }
        return entries
    }

    /// The topics of an answer that it says were done; throws the first error that is not to be passed over.
    private func accepted(
        _ topics: UnsafeMutablePointer<OpaquePointer?>?, _ count: Int, passingOver harmless: rd_kafka_resp_err_t
    ) throws(KafkaError) -> [String] {
        var accepted: [String] = []
        var failure: KafkaError?
        for topic in nativeArray(topics, count) {
            guard let text = rd_kafka_topic_result_name(topic) else { continue }
            let name = String(cString: text)
            switch rd_kafka_topic_result_error(topic) {
            case RD_KAFKA_RESP_ERR_NO_ERROR: accepted.append(name)
            case harmless: logger.debug("the topic \(name) exists already")
            case let error:
                let detail = rd_kafka_topic_result_error_string(topic).map { String(cString: $0) }
                failure = failure ?? KafkaError(native: error, detail: "\(name): \(detail ?? "refused")")
            }
        }
        if let failure { throw failure }
        return accepted
    }
}

extension KafkaTopic {
    /// What metadata says of a topic; nil for one with an error instead.
    fileprivate init?(_ topic: rd_kafka_metadata_topic) {
        guard topic.err == RD_KAFKA_RESP_ERR_NO_ERROR, let name = topic.topic else { return nil }
        let partitions = (0..<Int(topic.partition_cnt)).map { index in
            let partition = topic.partitions[index]
            return Partition(
                id: partition.id, leader: partition.leader < 0 ? nil : partition.leader,
                replicas: Int(partition.replica_cnt), inSyncReplicas: Int(partition.isr_cnt))
        }
        self.init(name: String(cString: name), partitions: partitions.sorted { $0.id < $1.id })
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
