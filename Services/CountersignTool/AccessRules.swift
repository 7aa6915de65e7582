import Kafka
import Messages

/// The access control list of a cluster that knows its users: each service may do what it does, and nothing else.
///
/// A right to read or write a topic, or to read as a group, includes the right to describe it.
enum AccessRules {
    /// The user that the doctor looks with.
    static let tool = "countersign-tool"
    /// The user that sends dead letters again; apart from ``tool``, so that who looks cannot write.
    static let toolOperator = "countersign-operator"

    /// The rules of all, one user after the other.
    ///
    /// - Parameters:
    ///   - prefix: what users' names begin with, such as `User:`.
    ///   - consumers: users of the studio's own that may read the events.
    static func all(prefix: String, consumers: [String] = []) -> [(user: String, rules: [KafkaAccessRule])] {
        let services = TopicUse.all.map { use in
            (use.service, rules(prefix + use.service, grants(of: use)))
        }
        let studios = consumers.map { ($0, rules(prefix + $0, consumerGrants(of: $0))) }
        return services
            + [
                (tool, rules(prefix + tool, doctorGrants + [(.topic(Topics.deadLetters), .read)])),
                (toolOperator, rules(prefix + toolOperator, operatorGrants)),
            ] + studios
    }

    /// It reads the events and nothing else, in groups whose names begin with its own.
    private static func consumerGrants(of user: String) -> [Grant] {
        [(.topic(Topics.events), .read), (.groups(prefix: "\(user)."), .read)]
    }

    private static func rules(_ principal: String, _ grants: [Grant]) -> [KafkaAccessRule] {
        grants.map { KafkaAccessRule(principal: principal, resource: $0, operation: $1) }
    }

    private typealias Grant = (KafkaAccessRule.Resource, KafkaAccessRule.Operation)

    private static func grants(of use: TopicUse) -> [Grant] {
        var grants: [Grant] = use.writes.map { (.topic($0), .write) }
        if !use.writes.isEmpty { grants.append((.cluster, .idempotentWrite)) }
        grants += use.groups.flatMap { [(.topic($0.topic), .read), (.group($0.name), .read)] as [Grant] }
        grants += use.tails.map { (.topic($0), .read) }
        // Never joined, and read without it; but librdkafka asks who coordinates it, and reports an error without it.
        if !use.tails.isEmpty { grants.append((.group(TopicUse.tailGroup(of: use.service)), .describe)) }
        grants += use.watches.flatMap { [(.topic($0.topic), .describe), (.group($0.name), .describe)] as [Grant] }
        return grants
    }

    /// It reads single records, for the sake of their age, and no more; what writes is an administrator's.
    private static var doctorGrants: [Grant] {
        Topics.partitionsByDefault.map { (.topic($0.name), .describe) }
            + Topics.partitionsByDefault.map { (.topic($0.name), .describeConfigs) }
            + TopicUse.groups.flatMap { [(.group($0.name), .describe), (.topic($0.topic), .read)] as [Grant] }
    }

    /// It reads the dead letters, and writes where they came from: what the groups read.
    private static var operatorGrants: [Grant] {
        [(.topic(Topics.deadLetters), .read), (.cluster, .idempotentWrite)]
            + TopicUse.groups.map { (.topic($0.topic), .write) }
    }

    /// The lines of `countersign topics --acls`: arguments of `kafka-acls.sh`, and comments that begin with `#`.
    static func lines(prefix: String, consumers: [String] = []) -> [String] {
        all(prefix: prefix, consumers: consumers).flatMap { user, rules in
            ["# \(user)"]
                + rules.flatMap { rule in
                    let comment = "# brokers before 3.0 ask producers for this; later ones do not"
                    return (rule.operation == .idempotentWrite ? [comment] : []) + [line(rule)]
                }
        }
    }

    /// A rule as arguments of `kafka-acls.sh`.
    static func line(_ rule: KafkaAccessRule) -> String {
        let resource =
            switch rule.resource {
            case .topic(let name): "--topic \(name)"
            case .topics(let prefix): "--topic \(prefix) --resource-pattern-type prefixed"
            case .group(let name): "--group \(name)"
            case .groups(let prefix): "--group \(prefix) --resource-pattern-type prefixed"
            case .cluster: "--cluster"
            }
        return "--add --allow-principal \(rule.principal) --operation \(rule.operation.rawValue) \(resource)"
    }
}
