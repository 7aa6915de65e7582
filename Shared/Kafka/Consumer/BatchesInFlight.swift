/// The batches that were given to the handler, oldest first, until everything before them is handled, too.
///
/// A batch that is done waits for the older ones: an offset says that all before it is handled.
struct BatchesInFlight {
    typealias Instant = ContinuousClock.Instant
    typealias Batch = ConsumerLedger.Batch

    /// Batches that are done and wait for an older one, for each that the handler may have at a time.
    ///
    /// So much work is repeated at most after a crash beside one batch that lasts.
    static let doneFactor = 8

    private enum State {
        case running(since: Instant)
        /// It failed and comes again.
        case waiting(until: Instant)
        /// How far its partitions are with it.
        case done(next: [TopicPartition: Int64])
    }

    private struct Entry {
        var batch: Batch
        var state: State
    }

    /// How many the handler may have at a time, those that wait to come again included.
    let maximum: Int
    private var entries: [Entry] = []
    /// Batches whose partitions were taken away while the handler had them: when each began.
    private var strays: [UInt64: Instant] = [:]
    private var lastNumber: UInt64 = 0

    init(maximum: Int) {
        self.maximum = maximum
    }

    private var unfinished: Int {
        entries.count { if case .done = $0.state { false } else { true } }
    }

    /// Whether the handler may have one more that is new.
    var hasRoom: Bool {
        unfinished + strays.count < maximum && entries.count < maximum * (1 + Self.doneFactor)
    }

    /// Whether the handler may be called once more.
    private var mayRun: Bool { running + strays.count < maximum }

    private var running: Int {
        entries.count { if case .running = $0.state { true } else { false } }
    }

    /// Since when the handler has had the oldest that it has; nil when it has none.
    var since: Instant? {
        let ours = entries.compactMap { entry in if case .running(let since) = entry.state { since } else { nil } }
        return (ours + strays.values).min()
    }

    /// When the next one that failed is due again.
    var retryAt: Instant? {
        guard mayRun else { return nil }
        return entries.compactMap { entry in if case .waiting(let until) = entry.state { until } else { nil } }.min()
    }

    /// How often the one failed that has failed most, of those that wait to come again.
    var failures: Int {
        entries.map { entry in if case .waiting = entry.state { entry.batch.failures } else { 0 } }.max() ?? 0
    }

    /// The partitions that do not go on before the handler does: it has something of them, gets it again, or is done with it and
    /// not with what is older.
    var places: Set<TopicPartition> {
        var places: Set<TopicPartition> = []
        for entry in entries {
            if case .done(let next) = entry.state { places.formUnion(next.keys) }
            for record in entry.batch.records {
                places.insert(TopicPartition(topic: record.topic, partition: record.partition))
            }
        }
        return places
    }

    /// Gives new records to the handler.
    mutating func begin(_ records: [KafkaRecord], epoch: UInt64, at now: Instant) -> Batch {
        lastNumber += 1
        let batch = Batch(records: records, epoch: epoch, failures: 0, number: lastNumber)
        entries.append(Entry(batch: batch, state: .running(since: now)))
        return batch
    }

    /// One that failed and is due, the oldest first.
    mutating func takeDue(at now: Instant) -> Batch? {
        guard mayRun else { return nil }
        for (index, entry) in entries.enumerated() {
            guard case .waiting(let until) = entry.state, until <= now else { continue }
            entries[index].state = .running(since: now)
            return entry.batch
        }
        return nil
    }

    /// The handler returned.
    ///
    /// - Returns: how far each partition is now handled without a gap; empty while an older batch is not done.
    mutating func finish(_ batch: Batch) -> [TopicPartition: Int64] {
        guard let index = index(of: batch) else { return [:] }
        var next: [TopicPartition: Int64] = [:]
        for record in batch.records {
            next[TopicPartition(topic: record.topic, partition: record.partition)] = record.offset + 1
        }
        // Its records are let go, since it may wait for long.
        entries[index].batch = Batch(records: [], epoch: batch.epoch, failures: batch.failures, number: batch.number)
        entries[index].state = .done(next: next)
        var handled: [TopicPartition: Int64] = [:]
        while case .done(let next)? = entries.first?.state {
            handled.merge(next) { _, later in later }
            entries.removeFirst()
        }
        return handled
    }

    /// The handler threw: the same batch comes again at a time.
    mutating func fail(_ batch: Batch, again: Instant) {
        guard let index = index(of: batch) else { return }
        entries[index].batch = Batch(
            records: batch.records, epoch: batch.epoch, failures: batch.failures + 1, number: batch.number)
        entries[index].state = .waiting(until: again)
    }

    /// The partitions are not ours any more: what the handler has goes on, and counts for nothing.
    mutating func abandon() {
        for entry in entries {
            if case .running(let since) = entry.state { strays[entry.batch.number] = since }
        }
        entries = []
    }

    /// Where a batch stands; nil for one whose partitions were taken away, which is forgotten with this.
    private mutating func index(of batch: Batch) -> Int? {
        if strays.removeValue(forKey: batch.number) != nil { return nil }
        return entries.firstIndex { $0.batch.number == batch.number }
    }
}
