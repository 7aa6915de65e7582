/// The brokers and the topics that we may see.
public struct KafkaCluster: Sendable, Hashable {
    /// How many brokers are up.
    public let brokers: Int
    /// The topics that we may see, by name.
    public let topics: [KafkaTopic]

    /// Makes a description; for tests, too.
    public init(brokers: Int, topics: [KafkaTopic]) {
        self.brokers = brokers
        self.topics = topics
    }
}

/// A topic and who keeps it.
public struct KafkaTopic: Sendable, Hashable {
    /// One partition and who keeps it.
    public struct Partition: Sendable, Hashable {
        /// The number of the partition.
        public let id: Int32
        /// The broker that reads and writes go to; nil when there is none.
        public let leader: Int32?
        /// How many brokers should keep a copy.
        public let replicas: Int
        /// How many of them have everything.
        public let inSyncReplicas: Int

        /// Makes a description; for tests, too.
        public init(id: Int32, leader: Int32?, replicas: Int, inSyncReplicas: Int) {
            self.id = id
            self.leader = leader
            self.replicas = replicas
            self.inSyncReplicas = inSyncReplicas
        }
    }

    /// The name.
    public let name: String
    /// The partitions, by number.
    public let partitions: [Partition]

    /// Makes a description; for tests, too.
    public init(name: String, partitions: [Partition]) {
        self.name = name
        self.partitions = partitions
    }

    /// The names of the partitions, by number.
    public var places: [KafkaPartition] {
        partitions.map { KafkaPartition(topic: name, partition: $0.id) }
    }
}
