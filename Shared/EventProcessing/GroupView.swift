import Kafka

/// What the cluster says about a consumer group and its topic at one moment.
struct GroupView: Sendable, Equatable {
    /// Where a partition is, by the group's commits.
    struct Place: Sendable, Equatable {
        /// The next record that the group reads; nil when it has committed nothing.
        var committed: Int64?
        var earliest: Int64
        var end: Int64

        /// From where the group reads.
        ///
        /// A place that is not there any more, at either end, is the beginning: the records went, and the reader starts
        /// over (`auto.offset.reset`).
        var position: Int64 {
            guard let committed, committed >= earliest, committed <= end else { return earliest }
            return committed
        }

        /// From where a member reads that has come so far.
        ///
        /// A member may be past an end that was asked for earlier. One that is past the end while the group's commits are
        /// gone or past it, too, has a log that lost its records: it starts over.
        func position(ifReadTo own: Int64) -> Int64 {
            let isLost = own > end && committed.map { $0 > end } ?? true
            return isLost ? position : max(position, own)
        }
    }

    /// False when no broker answered at all: then nobody can make progress, and nothing below is of now.
    var isAnswered = true
    /// All partitions of the topic; empty when there is no such topic, or the cluster does not tell.
    var places: [KafkaPartition: Place] = [:]
    /// How many partitions the topic has; nil when there is none, or it is not known.
    var partitionCount: Int?
    /// The group with its members; nil when the cluster does not tell.
    var group: KafkaGroup?

    /// Records that the group has not committed yet, of all partitions, whoever holds them; nil when not known.
    var lag: Int64? {
        places.isEmpty ? nil : places.values.reduce(0) { $0 + $1.end - $1.position }
    }
}
