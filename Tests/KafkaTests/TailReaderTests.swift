import Foundation
import Kafka
import Testing

@Suite(.enabled(if: TestBroker.isThere, TestBroker.skipped))
struct TailReaderTests {
    @Test func onlyNewRecordsOfAllPartitionsAreSeen() async throws {
        let topic = try await TestBroker.makeTopic(partitions: 4)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        try await sendAll((0..<100).map { "old \($0)" }, to: topic, with: producer)
        let inboxes = [Inbox(), Inbox()]
        let readers = try inboxes.map { inbox in
            try KafkaTailReader(
                configuration: TestBroker.configuration(), topic: topic, logger: quietLogger
            ) { inbox.add($0) }
        }
        let running = readers.map { reader in Task { try await reader.run() } }
        for reader in readers { await reader.waitUntilReady() }
        let new = Set((0..<100).map { "new \($0)" })
        try await sendAll(new, to: topic, with: producer)
        // Each reader sees every record: there is no group.
        for inbox in inboxes {
            #expect(await inbox.wait(forAll: new))
            #expect(inbox.records.count == 100)
        }
        for reader in readers { await reader.close() }
        for run in running { try await run.value }
        await producer.close()
    }

    @Test func topicThatIsMadeLaterIsFound() async throws {
        let topic = "test-\(UUID().uuidString.lowercased())"
        let inbox = Inbox()
        let reader = try KafkaTailReader(
            configuration: TestBroker.configuration(), topic: topic, logger: quietLogger
        ) { inbox.add($0) }
        let running = Task { try await reader.run() }
        try await TestBroker.create(topic, partitions: 2)
        await reader.waitUntilReady()
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        try await sendAll(["late"], to: topic, with: producer)
        #expect(await inbox.wait { $0.map(\.text) == ["late"] })
        await reader.close()
        try await running.value
        await producer.close()
    }

    @Test func closingLetsThoseGoWhoWaitForReadiness() async throws {
        let reader = try KafkaTailReader(
            configuration: TestBroker.configuration(), topic: "never-\(UUID().uuidString)", logger: quietLogger
        ) { _ in }
        let waiting = Task { await reader.waitUntilReady() }
        await reader.close()
        await waiting.value
        await #expect(throws: KafkaError.self) { try await reader.run() }
    }
}
