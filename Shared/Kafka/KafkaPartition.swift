/// One partition of a topic.
public struct KafkaPartition: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The topic's name.
    public let topic: String
    /// The number of the partition; the first is 0.
    public let partition: Int32

    /// Makes the name of a partition, whether it exists or not.
    public init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    /// By topic, then by number.
    public static func < (left: KafkaPartition, right: KafkaPartition) -> Bool {
        (left.topic, left.partition) < (right.topic, right.partition)
    }

    /// As Kafka's own tools write it: `topic-3`.
    public var description: String { "\(topic)-\(partition)" }
}

/// Where a partition begins and ends.
public struct KafkaOffsets: Sendable, Hashable {
    /// The offset of the oldest record that is still kept.
    public let earliest: Int64
    /// The offset that the next record will get.
    public let end: Int64

    /// Makes a pair of offsets; for tests, too.
    public init(earliest: Int64, end: Int64) {
        self.earliest = earliest
        self.end = end
    }
}
