import Foundation
import KafkaTesting
import Logging
import Synchronization
import Testing

@testable import Kafka

@Suite(.enabled(if: TestBroker.isThere, TestBroker.skipped))
struct ConsumerTests {
    private func settings(_ topic: String) -> KafkaConsumerSettings {
        var settings = KafkaConsumerSettings(groupId: topic, topics: [topic])
        settings.retryDelayMinimum = .milliseconds(10)
        return settings
    }

    private func consumer(
        _ settings: KafkaConsumerSettings, _ handler: @escaping KafkaConsumer.Handler
    ) throws -> KafkaConsumer {
        try KafkaConsumer(
            configuration: TestBroker.configuration(), settings: settings, logger: quietLogger, handler: handler)
    }

    /// Makes a topic with records `0…count-1`.
    private func filledTopic(_ count: Int, partitions: Int = 1) async throws -> String {
        let topic = try await TestBroker.makeTopic(partitions: partitions)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        try await sendAll((0..<count).map(String.init), to: topic, with: producer)
        await producer.close()
        return topic
    }

    @Test func recordsWhoseHandlerDidNotReturnComeAgain() async throws {
        let topic = try await filledTopic(30)
        var settings = settings(topic)
        settings.batchRecordsMaximum = 10
        settings.drainTimeout = .milliseconds(200)
        let first = Inbox()
        let release = OneShotSignal()
        let stuck = try consumer(settings) { records in
            first.add(records)
            // The first batch is done, the second never within the drain.
            if records.contains(where: { $0.offset == 10 }) { await release.wait() }
        }
        let stuckRun = Task { try await stuck.run() }
        #expect(await first.wait { $0.contains { $0.offset == 10 } })
        await stuck.close()

        let second = Inbox()
        let next = try consumer(settings) { second.add($0) }
        let nextRun = Task { try await next.run() }
        #expect(await second.wait { $0.contains { $0.offset == 29 } })
        let handled = first.records.filter { $0.offset < 10 }.map(\.offset)
        #expect(handled == Array(0..<Int64(handled.count)))
        #expect(second.records.map(\.offset) == Array(Int64(handled.count)..<30))
        await next.close()
        release.set()
        _ = try await (stuckRun.value, nextRun.value)
    }

    @Test func handlerThatThrowsGetsTheSameBatchAgain() async throws {
        struct Refusal: Error {}
        let topic = try await filledTopic(20)
        let inbox = Inbox()
        let calls = Mutex<[[Int64]]>([])
        let consumer = try consumer(settings(topic)) { records in
            let call = calls.withLock { calls in
                calls.append(records.map(\.offset))
                return calls.count
            }
            if call <= 3 { throw Refusal() }
            inbox.add(records)
        }
        let running = Task { try await consumer.run() }
        #expect(await inbox.wait { $0.count >= 20 })
        await consumer.close()
        try await running.value
        let seen = calls.withLock { $0 }
        #expect(seen[0] == seen[1] && seen[1] == seen[2] && seen[2] == seen[3])
        #expect(inbox.records.map(\.offset) == Array(0..<20))
        #expect(consumer.statistics.failedBatches == 3)
    }

    @Test func leavingMemberCommitsFirstSoThatNothingIsLostOrRepeated() async throws {
        let topic = try await filledTopic(2_000, partitions: 6)
        var settings = settings(topic)
        settings.batchRecordsMaximum = 50
        let inbox = Inbox()
        let handler: KafkaConsumer.Handler = { records in
            // Slow on purpose, so that a rebalance finds it at work.
            try await Task.sleep(for: .milliseconds(10))
            inbox.add(records)
        }
        let leaver = try consumer(settings, handler)
        let leaverRun = Task { try await leaver.run() }
        #expect(await inbox.wait { $0.count >= 200 })
        let stayer = try consumer(settings, handler)
        let stayerRun = Task { try await stayer.run() }
        #expect(
            await eventually {
                [leaver, stayer].allSatisfy { $0.statistics.assignedPartitions == 3 }
            })

        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        try await sendAll((2_000..<4_000).map(String.init), to: topic, with: producer)
        let soFar = inbox.records.count
        #expect(await inbox.wait { $0.count >= soFar + 200 })
        await leaver.close()
        try await leaverRun.value
        #expect(await inbox.wait(forAll: Set((0..<4_000).map(String.init))))
        #expect(await eventually { stayer.statistics.assignedPartitions == 6 })
        // Both rebalances waited for the handlers and committed, so nothing came twice.
        #expect(inbox.records.count == 4_000)
        for (_, records) in Dictionary(grouping: inbox.records, by: \.partition) {
            #expect(records.map(\.offset) == Array(0..<Int64(records.count)))
        }
        await stayer.close()
        try await stayerRun.value
        await producer.close()
    }

    @Test func slowHandlerKeepsTheBufferBoundedAndGetsEverythingInTheEnd() async throws {
        let topic = try await filledTopic(5_000, partitions: 2)
        var settings = settings(topic)
        settings.batchRecordsMaximum = 100
        settings.bufferRecordsMaximum = 200
        let release = OneShotSignal()
        let inbox = Inbox()
        let consumer = try consumer(settings) { records in
            await release.wait()
            inbox.add(records)
        }
        let running = Task { try await consumer.run() }
        #expect(await eventually { consumer.statistics.pausedPartitions == 2 })
        #expect(consumer.statistics.bufferedRecords == 200)
        release.set()
        #expect(await inbox.wait { $0.count >= 5_000 })
        #expect(inbox.records.count == 5_000)
        #expect(await eventually { consumer.statistics.lag == 0 && consumer.statistics.pausedPartitions == 0 })
        #expect(consumer.statistics.bufferedRecords == 0)
        await consumer.close()
        try await running.value
    }

    @Test func committedRecordsDoNotComeAgainAfterARestart() async throws {
        let topic = try await filledTopic(100)
        for _ in 0..<2 {
            let inbox = Inbox()
            let consumer = try consumer(settings(topic)) { inbox.add($0) }
            let running = Task { try await consumer.run() }
            if consumer.statistics.handledRecords == 0 { #expect(await eventually { consumer.isAssigned }) }
            let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
            try await sendAll(["end"], to: topic, with: producer)
            #expect(await inbox.wait { $0.last?.text == "end" && ($0.last?.offset ?? 0) >= 100 })
            await consumer.close()
            try await running.value
            await producer.close()
            let offsets = inbox.records.map(\.offset)
            #expect(offsets == Array(0...100) || offsets == [101])
        }
    }

    @Test func topicThatIsMadeLaterIsFound() async throws {
        let topic = "test-\(UUID().uuidString.lowercased())"
        let inbox = Inbox()
        let consumer = try consumer(settings(topic)) { inbox.add($0) }
        let running = Task { try await consumer.run() }
        #expect(await eventually { consumer.statistics.assignedPartitions == 0 })
        try await TestBroker.create(topic)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        try await sendAll(["late"], to: topic, with: producer)
        #expect(await inbox.wait { $0.map(\.text) == ["late"] })
        await consumer.close()
        try await running.value
        await producer.close()
    }

    @Test func stuckHandlerLosesItsPartitionsUntilItReturns() async throws {
        let topic = try await filledTopic(10)
        var settings = settings(topic)
        settings.drainTimeout = .milliseconds(100)
        settings.maxPollInterval = .seconds(1)
        let release = OneShotSignal()
        let stuckInbox = Inbox()
        let stuck = try consumer(settings) { records in
            await release.wait()
            stuckInbox.add(records)
        }
        let stuckRun = Task { try await stuck.run() }
        #expect(await eventually { stuck.statistics.stuckHandlers == 1 && !stuck.isAssigned })
        let inbox = Inbox()
        let other = try consumer(settings) { inbox.add($0) }
        let otherRun = Task { try await other.run() }
        #expect(await inbox.wait { $0.map(\.offset) == Array(0..<10) })
        await other.close()
        try await otherRun.value
        release.set()
        #expect(await eventually { stuck.isAssigned })
        await stuck.close()
        try await stuckRun.value
        #expect(stuckInbox.records.count == 10)
    }
}
