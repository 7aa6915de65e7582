import Foundation
import Kafka
import Testing

struct AdminTests {
    @Test(.enabled(if: TestBroker.isThere, TestBroker.skipped))
    func createsWhatIsMissingAndLeavesTheRest() async throws {
        let admin = try KafkaAdmin(configuration: TestBroker.configuration(), logger: quietLogger)
        let names = (0..<2).map { _ in "test-\(UUID().uuidString.lowercased())" }
        let first = KafkaTopicSpecification(name: names[0], partitions: 3, settings: ["retention.ms": "3600000"])
        let second = KafkaTopicSpecification(name: names[1], partitions: 1)
        #expect(try await admin.createTopics([first]) == [names[0]])
        #expect(try await admin.createTopics([first, second]) == [names[1]])
        #expect(try await admin.createTopics([]).isEmpty)
        let counts = try await admin.partitionCounts()
        #expect(counts[names[0]] == 3)
        #expect(counts[names[1]] == 1)
        await admin.close()
        await admin.close()
        await #expect(throws: KafkaError.self) { try await admin.partitionCounts() }
    }

    @Test func impossibleTopicsAreRefused() async throws {
        let admin = try KafkaAdmin(configuration: TestBroker.configuration("127.0.0.1:1"), logger: quietLogger)
        for topic in [
            KafkaTopicSpecification(name: "", partitions: 1), KafkaTopicSpecification(name: "x", partitions: -7),
            KafkaTopicSpecification(name: "x", partitions: .max),
        ] {
            let error = await #expect(throws: KafkaError.self) { try await admin.createTopics([topic]) }
            #expect(error?.code == .invalidMessage)
        }
        await admin.close()
    }

    @Test func clusterThatIsDownIsARetriableError() async throws {
        let admin = try KafkaAdmin(configuration: TestBroker.configuration("127.0.0.1:1"), logger: quietLogger)
        let topic = KafkaTopicSpecification(name: "x", partitions: 1)
        let errors = [
            await #expect(throws: KafkaError.self) {
                try await admin.createTopics([topic], timeout: .milliseconds(300))
            },
            await #expect(throws: KafkaError.self) { try await admin.partitionCounts(timeout: .milliseconds(300)) },
        ]
        #expect(errors.allSatisfy { $0?.isRetriable == true })
        await admin.close()
    }
}
