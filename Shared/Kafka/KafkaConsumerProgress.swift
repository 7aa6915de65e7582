/// How far a consumer is and what it is doing at one moment, for whoever judges whether it goes on.
public struct KafkaConsumerProgress: Sendable {
    /// Whether `run()` began, and nobody has stopped it.
    public var isRunning: Bool = false
    /// Whether the group has given us our partitions, which may be none.
    public var isAssigned: Bool = false
    /// The partitions that are ours.
    public var partitions: Set<KafkaPartition> = []
    /// The next record to handle, of the partitions of which something has come.
    public var positions: [KafkaPartition: Int64] = [:]
    /// The partitions of which records wait for the handler, or are with it.
    public var waiting: Set<KafkaPartition> = []
    /// Whether `pause()` was called and `resume()` not yet.
    public var isPaused: Bool = false
    /// Whether the buffer is full, so that nothing is taken from librdkafka.
    public var isHeldBack: Bool = false
    /// How often the batch failed that waits to be given again; 0 when none does.
    public var failures: Int = 0
    /// Since when the handler has had the batch in hand; nil when it has none.
    public var handlingSince: ContinuousClock.Instant?
    /// Commits that the broker confirmed.
    public var commits: Int = 0
    /// Whether something was handled that no commit was confirmed for yet.
    public var isUncommitted: Bool = false
    /// The worst error that lasts and does not pass by itself.
    public var trouble: KafkaTrouble?

    /// Makes one of a consumer that has not begun; for tests, too.
    public init() {}
}
