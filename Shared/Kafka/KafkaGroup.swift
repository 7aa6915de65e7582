/// A consumer group, as its coordinator describes it.
public struct KafkaGroup: Sendable, Hashable {
    /// Where a group is in its life.
    public enum State: String, Sendable {
        /// Every partition is assigned, and the members read.
        case stable
        /// The members are being collected; nobody reads.
        case preparingRebalance
        /// The members are there and wait for their partitions; nobody reads.
        case completingRebalance
        /// Nobody is in it; what it committed is kept.
        case empty
        /// The coordinator knows nothing of it: it never was, or was removed.
        case dead
        /// A state that librdkafka has no name for.
        case unknown
    }

    /// One process, or one client in it, that reads for the group.
    public struct Member: Sendable, Hashable {
        /// The name that the client gave itself.
        public let clientId: String
        /// From where it came, as the broker saw it.
        public let host: String
        /// The name that the coordinator gave it.
        public let consumerId: String
        /// What it reads now.
        public let partitions: Set<KafkaPartition>

        /// Makes a member; for tests, too.
        public init(clientId: String, host: String, consumerId: String, partitions: Set<KafkaPartition>) {
            self.clientId = clientId
            self.host = host
            self.consumerId = consumerId
            self.partitions = partitions
        }
    }

    /// The group's name.
    public let id: String
    /// Where it is in its life.
    public let state: State
    /// Who is in it, in no order.
    public let members: [Member]

    /// Makes a description; for tests, too.
    public init(id: String, state: State, members: [Member]) {
        self.id = id
        self.state = state
        self.members = members
    }

    /// What any of the members reads.
    public var assigned: Set<KafkaPartition> {
        members.reduce(into: []) { $0.formUnion($1.partitions) }
    }
}
