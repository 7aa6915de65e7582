import Kafka

/// Until when a group has read what was sent to its topic: what is seen goes in, a lag comes out, no clock and no I/O.
///
/// A lag is a time, since that is what a lease is: how long ago the newest record was sent that the group has read. The cluster
/// tells numbers of records; so each look is remembered until the group is past the end that it saw.
struct ReadProgress {
    typealias Instant = ContinuousClock.Instant

    /// The looks that are remembered of a partition; beyond it every second one is forgotten.
    static let looksMaximum = 512
    /// What was unread at the first look may be of any age: it is taken for older by this than the look.
    static let ageAtFirstLook = Duration.seconds(600)

    private struct Partition {
        let firstLook: Instant
        /// The newest look whose end the group has read to.
        var readTo: Instant?
        /// The looks whose ends it has not, the oldest first.
        var unread: [(end: Int64, at: Instant)] = []
    }

    private var partitions: [KafkaPartition: Partition] = [:]

    /// Notes where the group is.
    mutating func see(_ places: [KafkaPartition: GroupView.Place], at now: Instant) {
        for (key, place) in places {
            var partition = partitions[key] ?? Partition(firstLook: now)
            // A log that has lost its records: nobody will ever be past the ends that it had.
            if let last = partition.unread.last, last.end > place.end { partition.unread = [] }
            partition.unread.append((place.end, now))
            let read = partition.unread.prefix { $0.end <= place.position }
            partition.readTo = read.last?.at ?? partition.readTo
            partition.unread.removeFirst(read.count)
            if partition.unread.count > Self.looksMaximum {
                partition.unread = partition.unread.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
            }
            partitions[key] = partition
        }
        partitions = partitions.filter { places[$0.key] != nil }
    }

    /// The lag that at least half of the partitions have; nil when nothing is known.
    ///
    /// A single partition that nobody reads is no congestion: what is sent again goes to another one, and is handled.
    func lag(at now: Instant) -> Duration? {
        guard !partitions.isEmpty else { return nil }
        let lags = partitions.values.map { partition in
            guard !partition.unread.isEmpty else { return Duration.zero }
            return partition.readTo.map { $0.duration(to: now) }
                ?? partition.firstLook.duration(to: now) + Self.ageAtFirstLook
        }
        return lags.sorted(by: >)[(lags.count + 1) / 2 - 1]
    }
}
