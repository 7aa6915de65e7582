import ArgumentParser
import Kafka
import Messages

/// `countersign topics`: makes the topics that are missing, and says or sets who may use them.
struct TopicsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topics", abstract: "Creates missing Kafka topics; can be repeated.",
        discussion: """
            With --acls or --apply-acls it leaves the topics alone and is about access rules: each service may use \
            its own topics and groups, the user countersign-tool may look, and countersign-operator may send dead letters again. Making topics and \
            rules needs an administrator's user.
            """)

    /// How long the broker may be given for an answer, in seconds.
    private static let timeouts = 1...600
    /// From how many copies on a write must be in two of them.
    private static let safeReplicationFactor = 3

    @Option(
        help: """
            Partitions of the topics that processes share out; the default is 6, and 12 of lookups and events. The others \
            keep 3.
            """)
    var partitions: Int?

    @Option(help: "Copies of each partition; at most the number of brokers, and 3 in production.")
    var replicationFactor = 1

    @Flag(help: "Gives topics that have fewer partitions more; keys of lookups and events then move to others.")
    var grow = false

    @Flag(help: "Prints the access rules as arguments of kafka-acls.sh, a line each, and asks no broker.")
    var acls = false

    @Flag(help: "Creates the access rules that are missing.")
    var applyAcls = false

    @Option(help: "What users' names begin with in access rules.")
    var principalPrefix = "User:"

    @Option(help: "A user of your own that may read countersign.events, in groups USER.anything; may be repeated.")
    var consumer: [String] = []

    @Option(help: "Seconds that the broker has for each answer: a cluster that has just started makes topics slowly.")
    var timeout = 30

    @OptionGroup var printing: PrintingOptions

    func validate() throws {
        guard (1...10_000).contains(partitions ?? 1) else { throw ValidationError("--partitions is from 1 to 10000") }
        guard (1...100).contains(replicationFactor) else {
            throw ValidationError("--replication-factor is from 1 to 100")
        }
        guard !(acls && applyAcls) else { throw ValidationError("either --acls or --apply-acls") }
        guard consumer.isEmpty || acls || applyAcls else { throw ValidationError("--consumer is about access rules") }
        guard consumer.allSatisfy({ !$0.isEmpty && !$0.contains(where: \.isWhitespace) }) else {
            throw ValidationError("--consumer is the name of a user")
        }
        guard !(grow && (acls || applyAcls)) else { throw ValidationError("--grow is about topics, not access rules") }
        guard Self.timeouts.contains(timeout) else {
            throw ValidationError("--timeout is from \(Self.timeouts.lowerBound) to \(Self.timeouts.upperBound)")
        }
        guard principalPrefix.contains(":"), !principalPrefix.contains(where: \.isWhitespace) else {
            throw ValidationError("--principal-prefix is a kind and a colon, such as User:")
        }
    }

    func run() async throws {
        try await failingPlainly {
            if acls {
                let rules = AccessRules.all(prefix: principalPrefix, consumers: consumer).flatMap { user, rules in
                    rules.map { RuleLine(user: user, rule: AccessRules.line($0), isNew: nil) }
                }
                try printing.answer(
                    rules,
                    AccessRules.lines(prefix: principalPrefix, consumers: consumer).joined(separator: "\n"))
            } else if applyAcls {
                try await applyRules()
            } else {
                try await makeTopics()
            }
        }
    }

    private func makeTopics() async throws {
        let timeout = Duration.seconds(timeout)
        let wanted = Self.wanted(partitions: partitions)
        let lines = try await ToolSettings.load().withKafka { admin in
            let created = try await admin.createTopics(
                wanted.map {
                    KafkaTopicSpecification(
                        name: $0.name, partitions: $0.partitions, replicationFactor: replicationFactor,
                        settings: Self.settings(replicationFactor: replicationFactor))
                }, timeout: timeout)
            let counts = try await admin.partitionCounts(timeout: timeout)
            var lines: [TopicLine] = []
            for topic in wanted {
                let isCreated = created.contains(topic.name)
                if grow, let found = counts[topic.name], found < topic.partitions, !isCreated {
                    try await admin.createPartitions(of: topic.name, total: topic.partitions, timeout: timeout)
                    lines.append(
                        TopicLine(
                            topic: topic.name, partitions: topic.partitions, wanted: topic.partitions, outcome: .grown,
                            text: Self.grownLine(topic, from: found)))
                } else {
                    let partitions = isCreated ? topic.partitions : counts[topic.name] ?? topic.partitions
                    lines.append(
                        TopicLine(
                            topic: topic.name, partitions: partitions, wanted: topic.partitions,
                            outcome: isCreated ? .created : partitions < topic.partitions ? .fewer : .present,
                            text: Self.line(topic, created: isCreated, counts: counts)))
                }
            }
            return lines
        }
        try printing.answer(lines, lines.map(\.text).joined(separator: "\n"))
    }

    /// What became of a topic.
    struct TopicLine: Encodable, Sendable {
        enum Outcome: String, Encodable, Sendable {
            case created, grown, present, fewer
        }

        let topic: String
        /// Those that it has.
        let partitions: Int
        let wanted: Int
        let outcome: Outcome
        let text: String

        enum CodingKeys: String, CodingKey {
            case topic, partitions, wanted, outcome
        }
    }

    /// An access rule.
    struct RuleLine: Encodable, Sendable {
        let user: String
        /// As arguments of `kafka-acls.sh`.
        let rule: String
        /// Whether it was made now; nil where no broker was asked.
        let isNew: Bool?

        enum CodingKeys: String, CodingKey {
            case user, rule
            case isNew = "new"
        }
    }

    private func applyRules() async throws {
        let timeout = Duration.seconds(timeout)
        let users = AccessRules.all(prefix: principalPrefix, consumers: consumer)
        let rules = users.flatMap(\.rules)
        let created = try await ToolSettings.load().withKafka { admin in
            Set(try await admin.createAccessRules(rules, timeout: timeout))
        }
        let lines = users.flatMap { user, rules in
            rules.map { RuleLine(user: user, rule: AccessRules.line($0), isNew: created.contains($0)) }
        }
        let texts = lines.map { "\($0.isNew == true ? "new  " : "there") \($0.rule)" }
        try printing.answer(
            lines, (texts + ["\(created.count) new of \(rules.count)"]).joined(separator: "\n"))
    }

    /// The topics with the partitions that they are to be made with.
    static func wanted(partitions: Int?) -> [(name: String, partitions: Int)] {
        Topics.partitionsByDefault.map { topic in
            let keepsFew = Topics.withFewPartitions.contains(topic.name)
            return (topic.name, keepsFew ? topic.partitions : partitions ?? topic.partitions)
        }
    }

    /// The settings that a new topic gets: with three copies a write counts when two have it, so a broker may go away.
    static func settings(replicationFactor: Int) -> [String: String] {
        replicationFactor >= safeReplicationFactor ? ["min.insync.replicas": "2"] : [:]
    }

    /// What is to be said about one topic.
    static func line(_ topic: (name: String, partitions: Int), created: Bool, counts: [String: Int]) -> String {
        let found = counts[topic.name]
        if created { return "created \(topic.name) with \(topic.partitions) partitions" }
        guard let found, found < topic.partitions else {
            return "\(topic.name) is there with \(found ?? topic.partitions) partitions"
        }
        // More could move keys to other partitions while messages of the same key still wait in the old ones.
        return "warning: \(topic.name) has \(found) partitions, not \(topic.partitions); it is left as it is"
    }

    /// What is to be said about a topic that got more partitions.
    static func grownLine(_ topic: (name: String, partitions: Int), from found: Int) -> String {
        let text = "\(topic.name) has \(topic.partitions) partitions now, it had \(found)"
        guard Topics.isKeyed(topic.name) else { return text }
        return text + "; warning: keys moved to other partitions, so messages of one key are out of order until what "
            + "waits in the old ones is handled"
    }
}
