/// What a consumer has in hand: its partitions, the records that wait, the batches at the handler, and how far each
/// partition may be committed.
///
/// Events in, decisions out, no I/O.
///
/// An *epoch* is the time between two assignments. A batch remembers its epoch, so what a handler finishes after its
/// partitions were taken away is never committed.
struct ConsumerLedger {
    typealias Instant = ContinuousClock.Instant

    /// Records for one call of the handler.
    struct Batch: Sendable {
        let records: [KafkaRecord]
        let epoch: UInt64
        /// How often it failed before.
        let failures: Int
        /// Which batch of this consumer it is; the same when it comes again.
        let number: UInt64
    }

    /// How far one partition is; offsets are the next record's.
    private struct Progress {
        var next: Int64?
        var handled: Int64?
        var sent: Int64?
    }

    private let limits: KafkaConsumerSettings
    private(set) var epoch: UInt64 = 0
    private(set) var isAssigned = false
    private var inFlight: BatchesInFlight
    private(set) var statistics = KafkaConsumerStatistics()
    /// Partitions are about to be given away: no new batch begins.
    var isDraining = false
    /// Somebody asked for a pause: no new batch begins until it ends, whatever partitions come and go meanwhile.
    ///
    /// The buffer fills up and then holds back what comes after, as with a handler that lasts long.
    var isPaused = false
    private var partitions: [TopicPartition: Progress] = [:]
    private var buffer: [KafkaRecord] = []
    private var bufferStart = 0
    private var isHeldBack = false
    /// When the records that wait begin, however few they are; nil where none wait for company.
    private var gatheredAt: Instant?

    init(limits: KafkaConsumerSettings) {
        self.limits = limits
        inFlight = BatchesInFlight(maximum: limits.batchesMaximum)
    }

    /// Since when the handler has had the oldest batch that it has; nil when it has none.
    var inFlightSince: Instant? { inFlight.since }

    // MARK: Partitions

    mutating func assign(_ places: [TopicPartition]) {
        epoch += 1
        isAssigned = true
        isDraining = false
        inFlight.abandon()
        partitions = Dictionary(places.map { ($0, Progress()) }, uniquingKeysWith: { first, _ in first })
        statistics.rebalances += 1
        statistics.lag = nil
    }

    /// Forgets the partitions and everything that belongs to them.
    mutating func revoke() {
        epoch += 1
        isAssigned = false
        isDraining = false
        partitions = [:]
        buffer = []
        bufferStart = 0
        isHeldBack = false
        inFlight.abandon()
        statistics.rebalances += 1
        statistics.lag = nil
    }

    // MARK: Records

    private var buffered: Int { buffer.count - bufferStart }

    /// How many records may be taken from librdkafka: none from when the buffer is full until it is half empty.
    mutating func room() -> Int {
        if buffered >= limits.bufferRecordsMaximum { isHeldBack = true }
        if isHeldBack && buffered * 2 <= limits.bufferRecordsMaximum { isHeldBack = false }
        return isHeldBack || isDraining ? 0 : limits.bufferRecordsMaximum - buffered
    }

    /// Keeps records for the handler; those of partitions that are not ours any more are dropped.
    mutating func append(_ records: [KafkaRecord], at now: Instant = .now) {
        if buffered == 0 { gatheredAt = limits.gatherTime > .zero ? now + limits.gatherTime : nil }
        for record in records {
            let place = TopicPartition(topic: record.topic, partition: record.partition)
            guard let progress = partitions[place] else { continue }
            if progress.next == nil { partitions[place]?.next = record.offset }
            buffer.append(record)
        }
    }

    private var mayBegin: Bool { !isDraining && !isPaused }

    /// The next batch for the handler, if there is one and it may begin; one that failed before goes first.
    mutating func take(at now: Instant) -> Batch? {
        guard mayBegin else { return nil }
        if let batch = inFlight.takeDue(at: now) { return batch }
        let count = min(buffered, limits.batchRecordsMaximum)
        guard count > 0, inFlight.hasRoom, isGathered(at: now) else { return nil }
        let records = Array(buffer[bufferStart..<bufferStart + count])
        bufferStart += count
        // Moving the rest to the front now and then, and not each time, keeps the cost per record constant.
        if bufferStart * 2 >= buffer.count {
            buffer.removeFirst(bufferStart)
            bufferStart = 0
        }
        return inFlight.begin(records, epoch: epoch, at: now)
    }

    /// The handler returned: everything up to the first batch that is not done may be committed, if it is still ours.
    mutating func finish(_ batch: Batch) {
        statistics.handledBatches += 1
        statistics.handledRecords += batch.records.count
        for (place, next) in inFlight.finish(batch) {
            partitions[place]?.handled = next
            partitions[place]?.next = next
        }
    }

    /// The handler threw: the same batch comes again, later each time, as long as its partitions are ours.
    mutating func fail(_ batch: Batch, at now: Instant) {
        statistics.failedBatches += 1
        let factor = 1 << min(batch.failures, 20)
        let delay = min(limits.retryDelayMinimum * factor, limits.retryDelayMaximum)
        inFlight.fail(batch, again: now + delay)
    }

    private func isGathered(at now: Instant) -> Bool {
        guard buffered < limits.batchRecordsMaximum, let gatheredAt else { return true }
        return gatheredAt <= now
    }

    /// When a batch that failed is due again, or one has waited for company; nil while none may begin, since nobody need wake
    /// for it then.
    var dueAt: Instant? {
        guard mayBegin else { return nil }
        let gatheredAt = buffered > 0 && inFlight.hasRoom ? gatheredAt : nil
        return [inFlight.retryAt, gatheredAt].compactMap { $0 }.min()
    }

    // MARK: Commits

    /// What is handled and was not sent to the broker yet; with `includingSent`, also what it has not confirmed.
    func uncommitted(includingSent: Bool) -> [(TopicPartition, Int64)] {
        partitions.compactMap { place, progress in
            guard let handled = progress.handled, includingSent || progress.sent != handled else { return nil }
            return (place, handled)
        }
    }

    mutating func sent(_ offsets: [(TopicPartition, Int64)]) {
        for (place, offset) in offsets { partitions[place]?.sent = offset }
    }

    /// A commit came back.
    ///
    /// What failed is sent again, unless more was handled since, which then goes instead.
    mutating func committed(_ offsets: [(TopicPartition, Int64)], failed: [(TopicPartition, Int64)]) {
        if failed.isEmpty { statistics.commits += 1 } else { statistics.failedCommits += 1 }
        for (place, offset) in failed where partitions[place]?.sent == offset { partitions[place]?.sent = nil }
        for (place, offset) in offsets where partitions[place]?.handled == offset {
            // Confirmed, so that a later rebalance need not send it again.
            partitions[place]?.handled = nil
            partitions[place]?.sent = nil
        }
    }

    // MARK: Numbers

    mutating func noteStuckHandler() { statistics.stuckHandlers += 1 }

    mutating func noteReplacement() { statistics.replacements += 1 }

    /// The sum of what is behind, given the newest offset of each partition.
    mutating func noteLag(newest: (TopicPartition) -> Int64?) {
        var lag: Int64?
        for (place, progress) in partitions {
            guard let next = progress.next, let end = newest(place), end >= 0 else { continue }
            lag = (lag ?? 0) + max(0, end - next)
        }
        statistics.lag = lag
    }

    var currentStatistics: KafkaConsumerStatistics {
        var result = statistics
        result.assignedPartitions = partitions.count
        result.pausedPartitions = isHeldBack ? partitions.count : 0
        result.isPaused = isPaused
        result.bufferedRecords = buffered
        return result
    }

    /// What is ours, how far each is, and what stands between it and the handler.
    var progress: KafkaConsumerProgress {
        var result = KafkaConsumerProgress()
        result.isAssigned = isAssigned
        result.partitions = Set(partitions.keys)
        result.positions = partitions.compactMapValues(\.next)
        result.waiting = inFlight.places
        for record in buffer[bufferStart...] {
            result.waiting.insert(TopicPartition(topic: record.topic, partition: record.partition))
        }
        result.isPaused = isPaused
        result.isHeldBack = isHeldBack
        result.failures = inFlight.failures
        result.handlingSince = inFlightSince
        result.commits = statistics.commits
        result.isUncommitted = partitions.values.contains { $0.handled != nil }
        return result
    }
}
