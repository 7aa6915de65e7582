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

/// Creates topics and looks them up.
///
/// Calls run one after the other on a thread of the admin's own.
public final class KafkaAdmin: Sendable {
    private let client: AdminClient

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
    /// Throws the error of the first topic that could not be created, `.timedOut` or `.transport` when the cluster
    /// does not answer within `timeout`, and `.closed`.
    ///
    /// - Returns: the names of the topics that this call created.
    public func createTopics(
        _ topics: [KafkaTopicSpecification], timeout: Duration = .seconds(10)
    ) async throws(KafkaError) -> [String] {
        try await client.createTopics(topics, timeout: timeout)
    }

    /// The number of partitions of every topic that we may see.
    ///
    /// Throws `.timedOut` or `.transport` when the cluster does not answer within `timeout`, and `.closed`.
    public func partitionCounts(timeout: Duration = .seconds(10)) async throws(KafkaError) -> [String: Int] {
        try await client.partitionCounts(timeout: timeout)
    }

    /// Ends the client after the call in hand; calling it again is fine.
    public func close() async {
        await client.close()
    }
}
