import Kafka

/// Decides whether a consumer works, waits or stalls: what is seen goes in, a verdict comes out, no clock and no I/O.
///
/// A consumer may be alive, answer everybody, and read nothing for ever: a group whose rebalance never ends, a partition
/// whose fetches never come back. It stalls when there is something to read that nobody reads, and nothing that explains
/// it: not a handler at work, not a pause, not a batch that waits to be given again, not a broker that is away.
struct ConsumerHealth {
    typealias Instant = ContinuousClock.Instant

    /// When a wait is too long.
    struct Limits {
        /// How long there may be something to read and no progress.
        var stallTime = Duration.seconds(15)
        /// How long joining the group may last when nothing is known to be unread.
        var joinTime = Duration.seconds(25)
        /// How long after the stall was seen the client is replaced; it doubles while replacing does not help.
        var replacementTime = Duration.seconds(20)
        /// By how much that may grow.
        var replacementFactorMaximum = 10
        /// How long the handler may last, see `KafkaConsumerSettings`.
        var maxPollInterval = Duration.seconds(300)
    }

    struct Verdict: Equatable {
        var standing: ConsumerStanding
        /// Whether to replace the client now.
        var replaces = false
    }

    private let limits: Limits
    private var partitions: Set<KafkaPartition> = []
    /// Partitions with something to read, how far they are, and since when they have not gone on without a reason.
    private var still: [KafkaPartition: (position: Int64, since: Instant)] = [:]
    private var joiningSince: Instant?
    private var wasAssigned = false
    private var commits = 0
    /// Since when nothing was confirmed although something was handled.
    private var uncommittedSince: Instant?
    private var last = ConsumerStanding.starting
    private var replaceAt: Instant?
    private var replacementFactor = 1

    init(limits: Limits) {
        self.limits = limits
    }

    /// How things are now.
    ///
    /// - Parameter view: what the cluster said last; nil before it was asked.
    mutating func judge(_ progress: KafkaConsumerProgress, view: GroupView?, at now: Instant) -> Verdict {
        let view = view ?? GroupView(isAnswered: false)
        guard progress.isRunning else {
            self = ConsumerHealth(limits: limits)
            return Verdict(standing: .starting)
        }
        let isSamePartitions = partitions == progress.partitions
        if !isSamePartitions { still = [:] }
        partitions = progress.partitions
        // A stall outlasts a broker that does not answer for a moment; otherwise all clocks stand still meanwhile.
        guard view.isAnswered || !(isSamePartitions && last.isStalled) else {
            return Verdict(standing: last, replaces: isReplacementDue(at: now))
        }
        noteStill(progress, view, at: now)
        noteJoining(progress, view, at: now)
        noteCommits(progress, view, at: now)
        last = standing(progress, view, at: now)
        return Verdict(standing: last, replaces: isReplacementDue(at: now))
    }

    // MARK: Clocks

    private mutating func noteStill(_ progress: KafkaConsumerProgress, _ view: GroupView, at now: Instant) {
        var next: [KafkaPartition: (position: Int64, since: Instant)] = [:]
        if view.isAnswered, view.places.isEmpty, view.partitionCount != nil {
            // Not told this time: what was known holds as long as it may.
            still = still.filter { partition, known in
                progress.positions[partition] ?? 0 <= known.position
                    && (progress.partitions.isEmpty || !progress.explainsSilence(of: partition))
            }
            return
        }
        let held = view.group?.assigned ?? []
        for (partition, place) in view.places where view.isAnswered {
            if progress.partitions.isEmpty {
                // Somebody else has it, and answers for it.
                if held.contains(partition) { continue }
            } else if !progress.partitions.contains(partition) || progress.explainsSilence(of: partition) {
                continue
            }
            let position = place.position(ifReadTo: progress.positions[partition] ?? 0)
            guard position < place.end else { continue }
            let known = still[partition].flatMap { $0.position == position ? $0 : nil }
            next[partition] = known ?? (position, now)
        }
        still = next
    }

    private mutating func noteJoining(_ progress: KafkaConsumerProgress, _ view: GroupView, at now: Instant) {
        if progress.isAssigned {
            wasAssigned = true
            joiningSince = nil
        } else {
            joiningSince = view.isAnswered ? joiningSince ?? now : now
        }
    }

    private mutating func noteCommits(_ progress: KafkaConsumerProgress, _ view: GroupView, at now: Instant) {
        let isProgress = progress.commits > commits
        commits = progress.commits
        uncommittedSince = view.isAnswered && progress.isUncommitted && !isProgress ? uncommittedSince ?? now : nil
    }

    // MARK: Verdict

    private func standing(_ progress: KafkaConsumerProgress, _ view: GroupView, at now: Instant) -> ConsumerStanding {
        if let trouble = progress.trouble, trouble.stopsWork,
            // The cluster has the topic after all: a client that does not find it is no matter for a person.
            trouble.error.code != .unknownTopic || view.partitionCount == nil
        {
            return .troubled(trouble)
        }
        if let since = progress.handlingSince, since.duration(to: now) > limits.maxPollInterval {
            return .handlingTooLong(limits.maxPollInterval)
        }
        return progress.partitions.isEmpty
            ? withoutPartitions(progress, view, at: now) : withPartitions(progress, view, at: now)
    }

    private func withPartitions(
        _ progress: KafkaConsumerProgress, _ view: GroupView, at now: Instant
    ) -> ConsumerStanding {
        let count = progress.partitions.count
        if progress.isPaused { return .paused(count) }
        let stuck = stuck(at: now)
        if !stuck.isEmpty { return .stalled(.notReading(stuck)) }
        if let uncommittedSince, uncommittedSince.duration(to: now) >= limits.stallTime {
            return .stalled(.notCommitting)
        }
        if progress.failures > 0 { return .failing(progress.failures) }
        return .consuming(count, isAnswered: view.isAnswered)
    }

    private func withoutPartitions(
        _ progress: KafkaConsumerProgress, _ view: GroupView, at now: Instant
    ) -> ConsumerStanding {
        let stuck = stuck(at: now)
        if !stuck.isEmpty {
            let records = stuck.reduce(Int64(0)) { sum, partition in
                sum + (view.places[partition].map { $0.end - $0.position } ?? 0)
            }
            return .stalled(.nobodyReads(stuck, records: records))
        }
        if progress.isAssigned {
            return .spare(members: view.group?.members.count, partitions: view.partitionCount)
        }
        let waited = joiningSince?.duration(to: now) ?? .zero
        if view.partitionCount != nil, waited >= limits.joinTime { return .stalled(.notJoining) }
        if wasAssigned, waited < limits.stallTime { return .rebalancing }
        return .waiting(isAnswered: view.isAnswered)
    }

    private func stuck(at now: Instant) -> [KafkaPartition] {
        still.filter { $0.value.since.duration(to: now) >= limits.stallTime }.keys.sorted()
    }

    private mutating func isReplacementDue(at now: Instant) -> Bool {
        guard last.isStalled else {
            replaceAt = nil
            replacementFactor = 1
            return false
        }
        guard let due = replaceAt else {
            replaceAt = now + limits.replacementTime
            return false
        }
        guard due <= now else { return false }
        replacementFactor = min(replacementFactor * 2, limits.replacementFactorMaximum)
        replaceAt = now + limits.replacementTime * replacementFactor
        return true
    }
}

extension KafkaConsumerProgress {
    /// Whether there is a reason that a partition of ours does not go on: its turn will come by itself.
    fileprivate func explainsSilence(of partition: KafkaPartition) -> Bool {
        // A full buffer keeps back what may be of any partition.
        if isPaused || failures > 0 || isHeldBack { return true }
        return handlingSince != nil && waiting.contains(partition)
    }
}
