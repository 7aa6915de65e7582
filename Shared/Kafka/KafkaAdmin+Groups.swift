public import Foundation

extension KafkaAdmin {
    /// Consumer groups as their coordinators describe them; one that never was is `.dead`, without members.
    ///
    /// Throws `.authorization` without the right to `Describe` one of them, `.timedOut` or `.transport` when the
    /// cluster does not answer within `timeout`, and `.closed`.
    public func groups(
        _ ids: [String], timeout: Duration = .seconds(10)
    ) async throws(KafkaError) -> [KafkaGroup] {
        try await client.groups(ids, timeout: timeout)
    }

    /// The offset that a group reads next, by partition; no entry where it has committed nothing.
    ///
    /// The first question about a group makes a client that asks for it, which lives as long as this one. Throws as
    /// `groups`, and `.unknownTopic` or `.authorization` for a partition.
    public func committedOffsets(
        of group: String, partitions: [KafkaPartition], timeout: Duration = .seconds(10)
    ) async throws(KafkaError) -> [KafkaPartition: Int64] {
        try await client.committedOffsets(of: group, partitions: partitions, timeout: timeout)
    }

    /// Where partitions begin and end.
    ///
    /// Throws the error of the first partition that has one, such as `.unknownTopic`, or one that is retriable when
    /// nobody leads it; `.timedOut` or `.transport` when the cluster does not answer within `timeout`, and `.closed`.
    public func offsets(
        of partitions: [KafkaPartition], timeout: Duration = .seconds(10)
    ) async throws(KafkaError) -> [KafkaPartition: KafkaOffsets] {
        try await client.offsets(of: partitions, timeout: timeout)
    }

    /// When the first record at or after an offset was written, for many partitions at once.
    ///
    /// Reads a record of each without joining a group; takes the whole of `timeout` when one of them has none or is not
    /// there, and leaves that one out. Throws `.authorization` without the right to `Read` a topic, and `.closed`.
    public func timestamps(
        at places: [KafkaPartition: Int64], timeout: Duration = .seconds(10)
    ) async throws(KafkaError) -> [KafkaPartition: Date] {
        try await client.timestamps(at: places, timeout: timeout)
    }

    /// Hands over the records that stand between offsets, without joining a group; those of one partition in their order.
    ///
    /// What was removed by age meanwhile is left out. `body` runs on the admin's thread, and must not wait.
    ///
    /// Throws `.timedOut` when nothing came for `patience` before all was read, `.authorization` without the right to `Read`
    /// a topic, and `.closed`.
    public func read(
        _ ranges: [KafkaPartition: KafkaOffsets], patience: Duration = .seconds(10),
        _ body: @Sendable (KafkaRecord) -> Void
    ) async throws(KafkaError) {
        try await client.read(ranges, patience: patience, body)
    }
}
