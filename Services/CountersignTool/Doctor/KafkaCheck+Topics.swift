import Kafka
import Messages

extension KafkaCheck {
    /// The copies that a topic has in production.
    private static let replicationInProduction = 3
    /// How many partitions a finding names.
    private static let namesMaximum = 5

    /// The findings from what a broker tells.
    ///
    /// - Parameter counts: the partitions of each topic that is there.
    static func judge(counts: [String: Int]) -> [Finding] {
        var findings = [Finding.good("Kafka", "reachable, librdkafka \(librdkafkaVersion)")]
        let missing = Topics.partitionsByDefault.map(\.name).filter { counts[$0] == nil }
        guard missing.isEmpty else {
            findings.append(
                .wrong(
                    "topics", "missing: \(missing.joined(separator: ", "))",
                    remedy: "run `countersign topics`; where users have rights, ours needs Describe on them"))
            return findings
        }
        let list = Topics.partitionsByDefault.map { "\($0.name) \(counts[$0.name] ?? 0)" }
        findings.append(.good("topics", "partitions: \(list.joined(separator: ", "))"))
        return findings
    }

    /// The findings about who keeps our topics.
    static func judge(copies cluster: KafkaCluster) -> [Finding] {
        let topics = ours(cluster)
        guard !topics.isEmpty else { return [] }
        let partitions = topics.flatMap { topic in
            topic.partitions.map { (place: KafkaPartition(topic: topic.name, partition: $0.id), of: $0) }
        }
        var findings: [Finding] = []
        let leaderless = partitions.filter { $0.of.leader == nil }.map(\.place)
        if !leaderless.isEmpty {
            findings.append(
                .wrong(
                    "leaders", "no broker leads \(names(leaderless)): nothing is written to or read from there",
                    remedy: "start the brokers that keep them"))
        }
        let behind = partitions.filter { $0.of.inSyncReplicas < $0.of.replicas }.map(\.place)
        if !behind.isEmpty {
            findings.append(
                .warning(
                    "copies", "not all copies are in sync of \(names(behind))",
                    remedy: "start the broker that is missing, and let it catch up"))
        }
        let fewest = partitions.map(\.of.replicas).min() ?? 0
        if isDevelopment(cluster) {
            findings.append(.good("copies", "a single broker keeps everything: for development only"))
        } else if fewest < replicationInProduction {
            let thin = topics.filter { topic in topic.partitions.contains { $0.replicas < replicationInProduction } }
            findings.append(
                .warning(
                    "copies", "fewer than \(replicationInProduction) copies of \(list(thin.map(\.name)))",
                    remedy: "on three brokers, reassign the partitions with `kafka-reassign-partitions.sh`"))
        } else if behind.isEmpty, leaderless.isEmpty {
            findings.append(.good("copies", "\(fewest) of every partition, all in sync, on \(cluster.brokers) brokers"))
        }
        return findings
    }

    /// The findings about settings on which it depends whether a broker may be lost.
    ///
    /// - Parameter settings: of each topic, by name.
    static func judge(settings: [String: [String: String]], cluster: KafkaCluster) -> [Finding] {
        let safe = ours(cluster).filter { topic in
            topic.partitions.allSatisfy { $0.replicas >= replicationInProduction }
        }
        let weak = safe.map(\.name).filter { name in
            settings[name]?["min.insync.replicas"].flatMap { Int($0) }.map { $0 < 2 } ?? false
        }
        guard !weak.isEmpty else { return [] }
        return [
            .warning(
                "copies",
                "min.insync.replicas is below 2 for \(list(weak)): what one broker alone has counts as written",
                remedy: "set it to 2 with `kafka-configs.sh --alter --add-config min.insync.replicas=2`")
        ]
    }

    /// The finding about a cluster that cannot be reached at all.
    static func judge(unreachable error: KafkaError) -> Finding {
        let fallback = "is it running, and is COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS right?"
        guard let remedy = error.remedy else { return .wrong("Kafka", "\(error)", remedy: fallback) }
        return .wrong(
            "Kafka", "\(error)", remedy: "\(remedy) (properties are in the file of COUNTERSIGN_KAFKA_PROPERTIES_FILE)")
    }

    /// The finding about something that the broker would not tell.
    static func judge(notSeen what: String, _ error: KafkaError) -> Finding {
        let remedy =
            error.code == .authorization
            ? "give the doctor's user the rights that `countersign topics --acls` lists"
            : error.remedy ?? "look with the broker's own tools: not every broker answers this"
        return .warning("not looked at", "\(what): \(error)", remedy: remedy)
    }

    /// Whether one broker is all there is, and all that is meant to be.
    private static func isDevelopment(_ cluster: KafkaCluster) -> Bool {
        cluster.brokers == 1 && ours(cluster).allSatisfy { topic in topic.partitions.allSatisfy { $0.replicas <= 1 } }
    }

    private static func names(_ places: [KafkaPartition]) -> String {
        list(places.map(\.description))
    }

    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(namesMaximum).joined(separator: ", ")
        return names.count > namesMaximum ? "\(shown) and \(names.count - namesMaximum) more" : shown
    }
}
