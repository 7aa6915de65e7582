public import Logging

/// A topic to create.
public struct KafkaTopicSpecification: Sendable, Hashable {
    /// The name.
    public var name: String
    /// How many partitions; at least 1.
    public var partitions: Int
    /// How many brokers keep a copy; -1 leaves it to the broker.
    public var replicationFactor: Int
    /// The topic's settings, such as `retention.ms`.
    public var settings: [String: String]

    /// Makes a specification.
    public init(name: String, partitions: Int, replicationFactor: Int = 1, settings: [String: String] = [:]) {
        self.name = name
        self.partitions = partitions
        self.replicationFactor = replicationFactor
        self.settings = settings
    }
}

/// Asks the cluster about itself, and changes it: topics, consumer groups, offsets, access rules.
///
/// Calls run one after the other on a thread of the admin's own. A call that gets no answer says why where librdkafka
/// knows it: the error is then `.authentication` and has a `remedy`.
public final class KafkaAdmin: Sendable {
    let client: AdminClient

    /// Makes the client; throws `.configuration` and `.unsupportedLibrary`.
    public init(configuration: KafkaConfiguration, logger: Logger) throws(KafkaError) {
        client = try AdminClient(configuration: configuration, logger: logger)
    }

    deinit {
        // Nothing blocks here: the client's own thread ends it.
        let client = self.client
        Task { await client.close() }
    }

    /// Creates topics; those that exist already are left as they are.
    ///
    /// It asks again every few seconds until the cluster answers, so that a cluster that starts, or elects, is no error.
    /// What an attempt without an answer made is not among the names that are returned.
    ///
    /// Throws the error of the first topic that could not be created, `.timedOut` or `.transport` when the cluster
    /// does not answer within `timeout`, and `.closed`.
    ///
    /// - Returns: the names of the topics that this call created.
    public func createTopics(
        _ topics: [KafkaTopicSpecification], timeout: Duration = .seconds(10)
    ) async throws(KafkaError) -> [String] {
        try await client.createTopics(topics, timeout: timeout)
    }

    /// Gives a topic more partitions, up to `total`; records that are there stay where they are.
    ///
    /// Throws `.rejected` when it has that many or more, `.authorization`, `.unknownTopic`, `.timedOut`, `.transport`
    /// and `.closed`.
    public func createPartitions(
        of topic: String, total: Int, timeout: Duration = .seconds(10)
    ) async throws(KafkaError) {
        try await client.createPartitions(of: topic, total: total, timeout: timeout)
    }

    /// The number of partitions of every topic that we may see.
    ///
    /// Throws `.timedOut` or `.transport` when the cluster does not answer within `timeout`, and `.closed`.
    public func partitionCounts(timeout: Duration = .seconds(10)) async throws(KafkaError) -> [String: Int] {
        let topics = try await topics(timeout: timeout)
        return Dictionary(topics.map { ($0.name, $0.partitions.count) }, uniquingKeysWith: { first, _ in first })
    }

    /// The topics that we may see, by name, and who keeps their partitions.
    ///
    /// Throws as `cluster`.
    public func topics(timeout: Duration = .seconds(10)) async throws(KafkaError) -> [KafkaTopic] {
        try await client.cluster(timeout: timeout).topics
    }

    /// The brokers that are up, and the topics that we may see.
    ///
    /// Throws `.timedOut` or `.transport` when the cluster does not answer within `timeout`, `.authentication` where
    /// the reason is known to be that, and `.closed`.
    public func cluster(timeout: Duration = .seconds(10)) async throws(KafkaError) -> KafkaCluster {
        try await client.cluster(timeout: timeout)
    }

    /// The settings of topics by name, with the values that hold, whether they were set or are the broker's.
    ///
    /// Throws `.authorization` without the right to `DescribeConfigs`, `.unknownTopic`, and as `cluster`.
    public func settings(
        of topics: [String], timeout: Duration = .seconds(10)
    ) async throws(KafkaError) -> [String: [String: String]] {
        try await client.settings(of: topics, timeout: timeout)
    }

    /// Ends the client after the call in hand; calling it again is fine.
    public func close() async {
        await client.close()
    }
}
