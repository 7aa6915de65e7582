import ArgumentParser
import Kafka
import Messages

/// `countersign topics`: makes the topics that are missing.
struct TopicsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topics", abstract: "Makes the Kafka topics that are missing; harmless to repeat.")

    /// How long the broker has for an answer.
    static let timeout = Duration.seconds(15)

    @Option(help: "Partitions of the four main topics; the default is 12. The dead letters keep 3.")
    var partitions: Int?

    @Option(help: "Copies of each partition; at most the number of brokers, and 3 in production.")
    var replicationFactor = 1

    func validate() throws {
        guard (1...10_000).contains(partitions ?? 1) else { throw ValidationError("--partitions is from 1 to 10000") }
        guard (1...100).contains(replicationFactor) else {
            throw ValidationError("--replication-factor is from 1 to 100")
        }
    }

    func run() async throws {
        try await failingPlainly {
            let wanted = Self.wanted(partitions: partitions)
            try await ToolSettings.load().withKafka { admin in
                let created = try await admin.createTopics(
                    wanted.map {
                        KafkaTopicSpecification(
                            name: $0.name, partitions: $0.partitions, replicationFactor: replicationFactor)
                    }, timeout: Self.timeout)
                let counts = try await admin.partitionCounts(timeout: Self.timeout)
                for topic in wanted { print(Self.line(topic, created: created.contains(topic.name), counts: counts)) }
            }
        }
    }

    /// The topics with the partitions that they are to be made with.
    static func wanted(partitions: Int?) -> [(name: String, partitions: Int)] {
        Topics.partitionsByDefault.map { topic in
            (topic.name, topic.name == Topics.deadLetters ? topic.partitions : partitions ?? topic.partitions)
        }
    }

    /// What is to be said about one topic.
    static func line(_ topic: (name: String, partitions: Int), created: Bool, counts: [String: Int]) -> String {
        let found = counts[topic.name]
        if created { return "created \(topic.name) with \(topic.partitions) partitions" }
        guard let found, found != topic.partitions else {
            return "\(topic.name) is there with \(found ?? topic.partitions) partitions"
        }
        // More would move keys to other partitions while messages of the same key still wait in the old ones.
        return "warning: \(topic.name) has \(found) partitions, not \(topic.partitions); it is left as it is"
    }
}
