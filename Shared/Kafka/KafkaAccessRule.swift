/// One rule of a cluster's access control list: somebody may do something with something.
///
/// It says nothing about hosts (any) and never denies: those are for people to set.
public struct KafkaAccessRule: Sendable, Hashable {
    /// What a rule is about.
    public enum Resource: Sendable, Hashable {
        /// The topic of that name.
        case topic(String)
        /// Every topic whose name begins so.
        case topics(prefix: String)
        /// The consumer group of that name.
        case group(String)
        /// Every consumer group whose name begins so.
        case groups(prefix: String)
        /// The cluster as a whole.
        case cluster
    }

    /// What may be done; the raw value is what `kafka-acls.sh` calls it.
    public enum Operation: String, Sendable, Hashable, CaseIterable {
        case read = "Read"
        case write = "Write"
        case describe = "Describe"
        case describeConfigs = "DescribeConfigs"
        case idempotentWrite = "IdempotentWrite"
        case create = "Create"
        case alter = "Alter"
    }

    /// Who, such as `User:fulfillment`.
    public let principal: String
    /// What it is about.
    public let resource: Resource
    /// What may be done with it.
    public let operation: Operation

    /// Makes a rule; nothing is created yet.
    public init(principal: String, resource: Resource, operation: Operation) {
        self.principal = principal
        self.resource = resource
        self.operation = operation
    }
}
