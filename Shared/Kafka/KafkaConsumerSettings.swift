/// The group, the topics, the limits and the times of a consumer.
public struct KafkaConsumerSettings: Sendable {
    /// The consumer group; its members share the partitions.
    public var groupId: String
    /// The topics to read; they need not exist yet.
    public var topics: [String]
    /// The most records that one call of the handler gets.
    ///
    /// Defaults to 500.
    public var batchRecordsMaximum: Int = 500
    /// How many calls of the handler may be under way at a time.
    ///
    /// More than 1 is for a handler that waits for somebody else, and for records whose order means nothing: batches of
    /// one partition then overlap. An offset is committed once everything before it is handled. Defaults to 1.
    public var batchesMaximum: Int = 1
    /// How long the first record of a batch waits for others, unless they are as many as a batch may have.
    ///
    /// For a handler that need not hurry: what was sent together comes in several fetches when it is in several partitions.
    /// Defaults to none.
    public var gatherTime: Duration = .zero
    /// The most records that wait for the handler; when it is full nothing is taken until it is half empty.
    ///
    /// librdkafka prefetches about as many again. Defaults to 2,000.
    public var bufferRecordsMaximum: Int = 2_000
    /// The most KiB that librdkafka prefetches.
    ///
    /// Defaults to 32,768 (32 MiB).
    public var prefetchKibibytesMaximum: Int = 32_768
    /// After how long without a heartbeat the group gives our partitions to others.
    ///
    /// Brokers refuse less than 6 s by default. Defaults to 10 s.
    public var sessionTimeout: Duration = .seconds(10)
    /// How long one call of the handler may last before we leave the group until it returns.
    ///
    /// Defaults to 5 min.
    public var maxPollInterval: Duration = .seconds(300)
    /// How long a rebalance or a close waits for the handler, so that its work can still be committed.
    ///
    /// Defaults to 10 s.
    public var drainTimeout: Duration = .seconds(10)
    /// How long the commit before partitions are given away may last.
    ///
    /// Defaults to 5 s.
    public var commitTimeout: Duration = .seconds(5)
    /// The least time between two commits; a crash repeats about this much work.
    ///
    /// Defaults to 500 ms.
    public var commitInterval: Duration = .milliseconds(500)
    /// How long leaving the group may last; past it the client is dropped, and the group notices by the session.
    ///
    /// Defaults to 5 s.
    public var closeTimeout: Duration = .seconds(5)
    /// The wait before a batch that failed is given again; it doubles with each failure.
    ///
    /// Defaults to 100 ms.
    public var retryDelayMinimum: Duration = .milliseconds(100)
    /// The longest wait before a batch that failed is given again.
    ///
    /// Defaults to 30 s.
    public var retryDelayMaximum: Duration = .seconds(30)
    /// How long a broker may keep a fetch open while it has nothing.
    ///
    /// Apache Kafka answers as soon as a record comes, so there a longer time costs nothing and saves requests. The
    /// Tansu broker answers after about half the time, record or not, so there it is what a lone record waits: 10 ms
    /// suit it. Defaults to 500 ms.
    public var fetchWaitMaximum: Duration = .milliseconds(500)
    /// How often topics are looked up; a topic that is made later is found within this time.
    ///
    /// Defaults to 3 s.
    public var metadataRefreshInterval: Duration = .seconds(3)

    /// Makes settings with the defaults.
    public init(groupId: String, topics: [String]) {
        self.groupId = groupId
        self.topics = topics
    }
}
