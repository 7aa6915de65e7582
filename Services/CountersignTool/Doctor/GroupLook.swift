import Kafka
import Messages

/// What was seen of one consumer group and its topic.
struct GroupLook: Sendable {
    let group: TopicUse.Group
    /// The state at a look some seconds before; nil when this is the first.
    let stateBefore: KafkaGroup.State?
    let described: KafkaGroup
    /// Every partition of the topic.
    let partitions: [KafkaPartition]
    let committed: [KafkaPartition: Int64]
    let offsets: [KafkaPartition: KafkaOffsets]
    /// Seconds since the first unread record of a partition was written; no entry where that is not known.
    var oldest: [KafkaPartition: Double] = [:]
    /// Why ages could not be looked at.
    var ageNotSeen: KafkaError?

    /// The first unread offset of each partition that has unread records.
    var unread: [KafkaPartition: Int64] {
        offsets.reduce(into: [:]) { unread, entry in
            let first = firstUnread(entry.key, entry.value)
            if first < entry.value.end { unread[entry.key] = first }
        }
    }

    /// How many records nobody has handled, over these partitions or all.
    func lag(of places: some Collection<KafkaPartition>) -> Int64 {
        places.reduce(0) { sum, place in
            guard let offsets = offsets[place] else { return sum }
            return sum + max(0, offsets.end - firstUnread(place, offsets))
        }
    }

    /// Seconds since the oldest unread record of these partitions was written; nil when there is none, or unknown.
    func age(of places: some Collection<KafkaPartition>) -> Double? {
        places.compactMap { oldest[$0] }.max()
    }

    var assigned: [KafkaPartition] { partitions.filter(described.assigned.contains) }
    var unassigned: [KafkaPartition] { partitions.filter { !described.assigned.contains($0) } }
    var isRebalancing: Bool {
        described.state == .preparingRebalance || described.state == .completingRebalance
    }
    /// Whether nothing was ever written to the topic, nor committed.
    var isUntouched: Bool { committed.isEmpty && offsets.values.allSatisfy { $0.end == 0 } }
    /// Whether another look would show the same, as far as one can tell.
    var isAtRest: Bool { isUntouched || (described.state == .stable && unassigned.isEmpty) }

    /// Where the group goes on: what it committed, unless that is gone or was never there.
    ///
    /// A broker that lost its data ends before what was committed; the group then begins at its start.
    private func firstUnread(_ place: KafkaPartition, _ offsets: KafkaOffsets) -> Int64 {
        guard let committed = committed[place], committed <= offsets.end else { return offsets.earliest }
        return max(committed, offsets.earliest)
    }
}
