import CLibrdkafka
import Foundation

extension AdminClient {
    func groups(_ ids: [String], timeout: Duration) throws(KafkaError) -> [KafkaGroup] {
        guard !ids.isEmpty else { return [] }
        let deadline = ContinuousClock.now + timeout
        let brokers = try brokers(timeout: timeout)
        var groups: [KafkaGroup] = []
        for id in ids { groups.append(try group(id, brokers: brokers, until: deadline)) }
        return groups
    }

    private func group(
        _ id: String, brokers: [Int32], until deadline: ContinuousClock.Instant
    ) throws(KafkaError) -> KafkaGroup {
        let known = coordinators.candidates(for: id, of: brokers)
        if known.count < brokers.count {
            // Half of the time: it may be away, and another have its place.
            let half = ContinuousClock.now + ContinuousClock.now.duration(to: deadline) / 2
            if let group = try? described(id, by: known, until: half) { return group }
            coordinators.forget(id)
        }
        return try described(id, by: brokers, until: deadline)
    }

    private func described(
        _ id: String, by brokers: [Int32], until deadline: ContinuousClock.Instant
    ) throws(KafkaError) -> KafkaGroup {
        let copy = strdup(id)
        defer { free(copy) }
        var names = [copy.map { UnsafePointer<CChar>($0) }]
        let operation = RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS
        let (group, coordinator) = try callAny(
            of: brokers, operation, until: deadline, "the group \(id) was not described"
        ) {
            rd_kafka_DescribeConsumerGroups($0, &names, names.count, $1, $2)
        } read: { event throws(KafkaError) in
            var count = 0
            guard let result = rd_kafka_event_DescribeConsumerGroups_result(event),
                let group = nativeArray(rd_kafka_DescribeConsumerGroups_result_groups(result, &count), count).first
            else { throw KafkaError.wrongAnswer }
            if let error = KafkaError(rd_kafka_ConsumerGroupDescription_error(group)) { throw error.about(id) }
            return (KafkaGroup(group), rd_kafka_ConsumerGroupDescription_coordinator(group).map(rd_kafka_Node_id))
        }
        if let coordinator { coordinators.note(coordinator, of: id) }
        return group
    }

    func committedOffsets(
        of group: String, partitions: [KafkaPartition], timeout: Duration
    ) throws(KafkaError) -> [KafkaPartition: Int64] {
        guard !partitions.isEmpty else { return [:] }
        guard !group.isEmpty else { throw KafkaError(.invalidMessage, "the group has no name") }
        // Through `call` for its closed check, and for what it knows when nobody answers.
        return try call { _ throws(KafkaError) in
            try Self.known(try groupReader(for: group).committed(partitions, timeout: timeout))
        }
    }

    func offsets(
        of partitions: [KafkaPartition], timeout: Duration
    ) throws(KafkaError) -> [KafkaPartition: KafkaOffsets] {
        guard !partitions.isEmpty else { return [:] }
        let deadline = ContinuousClock.now + timeout
        let earliest = try offsets(of: partitions, at: Self.beginning, timeout: timeout)
        let left = max(.zero, ContinuousClock.now.duration(to: deadline))
        let ends = try offsets(of: partitions, at: Self.end, timeout: left)
        return ends.reduce(into: [:]) { offsets, end in
            offsets[end.key] = earliest[end.key].map { KafkaOffsets(earliest: $0, end: end.value) }
        }
    }

    /// Where a moment lies in partitions.
    ///
    /// By librdkafka's older call: its admin request for it (2.14.2) reads memory that it freed when the time runs out
    /// while it is made.
    private func offsets(
        of partitions: [KafkaPartition], at moment: Int64, timeout: Duration
    ) throws(KafkaError) -> [KafkaPartition: Int64] {
        let list = NativePartitionList(partitions.map { ($0, moment) })
        return try Self.known(try read(list, within: timeout))
    }

    /// The offsets that are known; below zero is "nothing committed", or "nothing there".
    private static func known(_ entries: [NativePartitionList.Entry]) throws(KafkaError) -> [KafkaPartition: Int64] {
        var offsets: [KafkaPartition: Int64] = [:]
        for entry in entries {
            guard entry.error == RD_KAFKA_RESP_ERR_NO_ERROR else {
                throw KafkaError(native: entry.error).about("\(entry.place)")
            }
            if entry.offset >= 0 { offsets[entry.place] = entry.offset }
        }
        return offsets
    }

    private func read(
        _ list: borrowing NativePartitionList, within timeout: Duration
    ) throws(KafkaError) -> [NativePartitionList.Entry] {
        let partitions = list.pointer
        return try call { client throws(KafkaError) in
            let error = rd_kafka_offsets_for_times(client, partitions, timeout.wholeMilliseconds)
            guard error == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(native: error) }
            return NativePartitionList.entries(of: partitions)
        }
    }

    /// Kafka's moments for where a partition begins and ends (ListOffsets).
    private static let beginning: Int64 = -2
    private static let end: Int64 = -1
}

/// A copy of a C string; empty for none.
private func text(_ pointer: UnsafePointer<CChar>?) -> String {
    pointer.map { String(cString: $0) } ?? ""
}

extension KafkaError {
    /// The same with what it is about before its sentence.
    fileprivate func about(_ subject: String) -> KafkaError {
        KafkaError(
            code, nativeName: nativeName, isRetriable: isRetriable, isFatal: isFatal, "\(subject): \(detail)",
            remedy: remedy)
    }
}

extension KafkaGroup {
    fileprivate init(_ group: OpaquePointer) {
        let members = (0..<rd_kafka_ConsumerGroupDescription_member_count(group)).compactMap {
            rd_kafka_ConsumerGroupDescription_member(group, $0).map(Member.init)
        }
        self.init(
            id: text(rd_kafka_ConsumerGroupDescription_group_id(group)),
            state: State(rd_kafka_ConsumerGroupDescription_state(group)), members: members)
    }
}

extension KafkaGroup.State {
    fileprivate init(_ state: rd_kafka_consumer_group_state_t) {
        switch state {
        case RD_KAFKA_CONSUMER_GROUP_STATE_STABLE: self = .stable
        case RD_KAFKA_CONSUMER_GROUP_STATE_PREPARING_REBALANCE: self = .preparingRebalance
        case RD_KAFKA_CONSUMER_GROUP_STATE_COMPLETING_REBALANCE: self = .completingRebalance
        case RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY: self = .empty
        case RD_KAFKA_CONSUMER_GROUP_STATE_DEAD: self = .dead
        default: self = .unknown
        }
    }
}

extension KafkaGroup.Member {
    fileprivate init(_ member: OpaquePointer) {
        let assignment = rd_kafka_MemberDescription_assignment(member)
        let list = assignment.flatMap { rd_kafka_MemberAssignment_partitions($0) }
        let partitions = NativePartitionList.entries(of: list.map { UnsafeMutablePointer(mutating: $0) }).map(\.place)
        self.init(
            clientId: text(rd_kafka_MemberDescription_client_id(member)),
            host: text(rd_kafka_MemberDescription_host(member)),
            consumerId: text(rd_kafka_MemberDescription_consumer_id(member)), partitions: Set(partitions))
    }
}
