import Kafka

/// How a consumer is doing.
enum ConsumerStanding: Equatable, Sendable {
    /// Why a consumer that should read does not.
    enum Stall: Equatable, Sendable {
        /// We have no partition, and what is unread in these is nobody's.
        case nobodyReads([KafkaPartition], records: Int64)
        /// The group never lets us in.
        case notJoining
        /// These are ours, have something to read, and do not go on.
        case notReading([KafkaPartition])
        /// What is handled cannot be committed.
        case notCommitting
    }

    /// `run()` has not begun, or is over.
    case starting
    case waiting(isAnswered: Bool)
    /// For the moment without partitions, after it had some.
    case rebalancing
    /// The others have all partitions.
    case spare(members: Int?, partitions: Int?)
    case consuming(Int, isAnswered: Bool)
    case paused(Int)
    /// The batch failed so often, and waits to be given again.
    case failing(Int)
    case handlingTooLong(Duration)
    case troubled(KafkaTrouble)
    case stalled(Stall)

    var isStalled: Bool {
        if case .stalled = self { true } else { false }
    }

    var isReady: Bool {
        switch self {
        case .starting, .waiting, .handlingTooLong, .troubled, .stalled: false
        // What a batch fails for (a database that is down, say) has a check of its own.
        case .rebalancing, .spare, .consuming, .paused, .failing: true
        }
    }

    /// A sentence for `/readyz` and the log, without secrets.
    var sentence: String {
        switch self {
        case .starting: "starting"
        case .waiting(true): "waiting for the group"
        case .waiting(false): "waiting for the group: no broker answers"
        case .rebalancing: "the group is being rebalanced"
        case .spare(let members?, let partitions?): "spare: \(members) members for \(partitions) partitions"
        case .spare: "spare: the group has given it no partition"
        case .consuming(let count, true): "consuming \(count) partition\(count == 1 ? "" : "s")"
        case .consuming(let count, false):
            "consuming \(count) partition\(count == 1 ? "" : "s"), but no broker answers"
        case .paused: "paused"
        case .failing(let failures): "the batch in hand failed \(failures) times and comes again"
        case .handlingTooLong(let limit):
            "the handler has lasted longer than \(limit), and the group goes on without us"
        case .troubled(let trouble): "\(trouble)"
        case .stalled(let stall): "stalled: \(stall.sentence)"
        }
    }
}

extension ConsumerStanding.Stall {
    /// The most partitions that a sentence names.
    private static let namesMaximum = 5

    fileprivate var sentence: String {
        switch self {
        case .nobodyReads(let partitions, let records):
            "the group has given us no partition, and nobody reads \(records) records in \(Self.names(partitions))"
        case .notJoining: "the group has not let us in"
        case .notReading(let partitions): "there is something to read in \(Self.names(partitions)), and nothing comes"
        case .notCommitting: "what is handled cannot be committed"
        }
    }

    private static func names(_ partitions: [KafkaPartition]) -> String {
        let names = partitions.prefix(namesMaximum).map(\.description).joined(separator: ", ")
        return partitions.count > namesMaximum ? "\(names) and \(partitions.count - namesMaximum) more" : names
    }
}
