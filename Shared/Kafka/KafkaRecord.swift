public import Foundation

/// A header of a record: a name, and bytes or nothing.
public struct KafkaHeader: Sendable, Hashable {
    /// The name; Kafka allows the same name more than once.
    public var name: String
    /// The value; nil is Kafka's null.
    public var value: [UInt8]?

    /// Makes a header of bytes.
    public init(name: String, value: [UInt8]?) {
        self.name = name
        self.value = value
    }

    /// Makes a header of text, as UTF-8.
    public init(name: String, text: String) {
        self.init(name: name, value: Array(text.utf8))
    }
}

/// A record that was read.
public struct KafkaRecord: Sendable, Hashable {
    /// The topic that it was read from.
    public var topic: String
    /// The partition of the topic.
    public var partition: Int32
    /// The place in the partition.
    public var offset: Int64
    /// The key; nil when it has none.
    public var key: [UInt8]?
    /// The payload; nil is a tombstone.
    public var value: [UInt8]?
    /// The headers in their order.
    public var headers: [KafkaHeader]
    /// When it was made or appended, by the topic's setting; nil when the broker did not say.
    public var timestamp: Date?

    /// Makes a record, for tests of handlers.
    public init(
        topic: String, partition: Int32, offset: Int64, key: [UInt8]? = nil, value: [UInt8]?,
        headers: [KafkaHeader] = [], timestamp: Date? = nil
    ) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.key = key
        self.value = value
        self.headers = headers
        self.timestamp = timestamp
    }
}

/// A message to send.
public struct KafkaMessage: Sendable, Hashable {
    /// The topic to send to; it must exist.
    public var topic: String
    /// The key, which decides the partition; without one messages go to the same partition for a while, then to another:
    /// ``KafkaProducerSettings/stickyTime``.
    public var key: [UInt8]?
    /// The payload; nil is a tombstone.
    public var value: [UInt8]?
    /// The headers, sent in this order.
    public var headers: [KafkaHeader]

    /// Makes a message.
    public init(topic: String, key: [UInt8]? = nil, value: [UInt8]?, headers: [KafkaHeader] = []) {
        self.topic = topic
        self.key = key
        self.value = value
        self.headers = headers
    }
}

/// Where a message ended up, as acknowledged by all in-sync replicas.
public struct KafkaDelivery: Sendable, Hashable {
    /// The partition of the topic.
    public let partition: Int32
    /// The place in the partition.
    public let offset: Int64
}

/// The public name came later than most of what uses this one.
typealias TopicPartition = KafkaPartition
