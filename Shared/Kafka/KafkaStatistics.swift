/// A producer's numbers, for metrics.
public struct KafkaProducerStatistics: Sendable, Hashable {
    /// Messages that wait for an acknowledgement now.
    public let outstanding: Int
    /// Messages acknowledged since the producer was made.
    public let delivered: Int
    /// Messages that failed since the producer was made.
    public let failed: Int
    /// How often the supervisor replaced the client.
    public let replacements: Int
}

/// A consumer's numbers, for metrics.
public struct KafkaConsumerStatistics: Sendable, Hashable {
    /// Partitions that are ours now.
    public var assignedPartitions: Int = 0
    /// Partitions that are held back now because the buffer is full: all of ours or none.
    public var pausedPartitions: Int = 0
    /// Whether `pause()` was called and `resume()` not yet.
    public var isPaused: Bool = false
    /// Records that wait for the handler now.
    public var bufferedRecords: Int = 0
    /// Records whose handler returned.
    public var handledRecords: Int = 0
    /// Batches whose handler returned.
    public var handledBatches: Int = 0
    /// Times that the handler threw.
    public var failedBatches: Int = 0
    /// Commits that the broker confirmed.
    public var commits: Int = 0
    /// Commits that failed; they are tried again as long as the partition is ours.
    public var failedCommits: Int = 0
    /// Times that partitions were given or taken.
    public var rebalances: Int = 0
    /// Times that a handler lasted longer than `maxPollInterval`.
    public var stuckHandlers: Int = 0
    /// How often the client was replaced, see `replaceClient()`.
    public var replacements: Int = 0
    /// Records between the newest and the last handled of our partitions, at most two seconds old; nil while unknown.
    public var lag: Int64?
}
