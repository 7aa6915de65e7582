/// The limits and times of a producer.
public struct KafkaProducerSettings: Sendable {
    /// How long a message may wait for its acknowledgement, retries included, before its send fails.
    ///
    /// Defaults to 10 s.
    public var messageTimeout: Duration = .seconds(10)
    /// How long a send waits, at the most, for the acknowledgement of what is on its way, to go with others that come meanwhile.
    ///
    /// While nothing is on its way it goes at once. A broker that acknowledges nothing, as in a failover, holds up the others'
    /// messages for no longer than this. Whole milliseconds. Defaults to 50 ms.
    public var gatherTime: Duration = .milliseconds(50)
    /// How long messages without a key go to one partition of their topic before another is chosen, at random.
    ///
    /// librdkafka makes a request of its own for each partition, so what is sent together is to be in one. Zero spreads
    /// them one by one. Whole milliseconds; librdkafka's default is twice its linger. Defaults to 10 ms.
    public var stickyTime: Duration = .milliseconds(10)
    /// The most messages that wait or are in flight; more fail with `.queueFull`.
    ///
    /// Defaults to 200,000.
    public var queueMessagesMaximum: Int = 200_000
    /// The most KiB that wait or are in flight; more fail with `.queueFull`.
    ///
    /// Defaults to 524,288 (512 MiB).
    public var queueKibibytesMaximum: Int = 524_288
    /// The largest message in bytes; a larger one fails with `.messageTooLarge`.
    ///
    /// Defaults to 1,000,000.
    public var messageBytesMaximum: Int = 1_000_000
    /// `none`, `lz4`, `zstd`, `gzip` or `snappy`.
    ///
    /// Defaults to lz4.
    public var compression: String = "lz4"
    /// How long nothing at all may be acknowledged, while something waits, before the client is suspected.
    ///
    /// Defaults to 5 s.
    public var stallTime: Duration = .seconds(5)
    /// How long the broker must have answered a suspected client's probes before the client is replaced.
    ///
    /// A client that recovers by itself does so within this time. Defaults to 2 s.
    public var recoveryGrace: Duration = .seconds(2)
    /// The wait between two replacements; it doubles up to thirty times this while they do not help.
    ///
    /// Defaults to 1 s.
    public var replacementDelay: Duration = .seconds(1)
    /// How often topics are looked up.
    ///
    /// One that a broker did not know for a while, as after its start, is found again within this time; until then its
    /// messages fail with `.unknownTopic`. Defaults to 3 s.
    public var metadataRefreshInterval: Duration = .seconds(3)
    /// How long `close()` waits for outstanding messages before they fail with `.abandoned`.
    ///
    /// Defaults to 10 s.
    public var flushTimeout: Duration = .seconds(10)
    /// How long `close()` waits, after flushing, for librdkafka's threads to end; they end by themselves later.
    ///
    /// Defaults to 5 s.
    public var closeTimeout: Duration = .seconds(5)

    /// Makes the default settings.
    public init() {}
}
