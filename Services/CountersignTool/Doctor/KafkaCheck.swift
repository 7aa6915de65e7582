import Kafka
import Messages

/// Looks at the broker and the topics.
struct KafkaCheck: Sendable {
    /// The findings from what a broker tells.
    ///
    /// - Parameter counts: the partitions of each topic that is there.
    static func judge(counts: [String: Int]) -> [Finding] {
        var findings = [Finding.good("Kafka", "reachable, librdkafka \(librdkafkaVersion)")]
        let missing = Topics.partitionsByDefault.map(\.name).filter { counts[$0] == nil }
        guard missing.isEmpty else {
            findings.append(
                .wrong("topics", "missing: \(missing.joined(separator: ", "))", remedy: "run `countersign topics`"))
            return findings
        }
        let list = Topics.partitionsByDefault.map { "\($0.name) \(counts[$0.name] ?? 0)" }
        findings.append(.good("topics", "partitions: \(list.joined(separator: ", "))"))
        return findings
    }
}
