import Foundation
import KafkaTesting
import Synchronization
import Testing

@testable import Kafka

/// Pausing, as the ledger decides it: values in, values out.
@Suite("A pause in the ledger")
struct PauseLedgerTests {
    private let now = ContinuousClock.now
    private let place = TopicPartition(topic: "t", partition: 0)

    private func ledger() -> ConsumerLedger {
        var limits = KafkaConsumerSettings(groupId: "g", topics: ["t"])
        limits.batchRecordsMaximum = 4
        limits.bufferRecordsMaximum = 8
        var ledger = ConsumerLedger(limits: limits)
        ledger.assign([place])
        return ledger
    }

    private func records(_ offsets: Range<Int64>) -> [KafkaRecord] {
        offsets.map { KafkaRecord(topic: "t", partition: 0, offset: $0, value: nil) }
    }

    private func offsets(takenFrom ledger: inout ConsumerLedger, at time: ContinuousClock.Instant) -> [Int64]? {
        ledger.take(at: time)?.records.map(\.offset)
    }

    @Test("hands nothing over, and goes on with the next record after it")
    func nothingIsHandedOver() {
        var ledger = ledger()
        ledger.append(records(0..<6))
        ledger.isPaused = true
        #expect(offsets(takenFrom: &ledger, at: now) == nil)
        #expect(ledger.currentStatistics.isPaused)
        #expect(ledger.currentStatistics.bufferedRecords == 6)
        ledger.isPaused = false
        #expect(offsets(takenFrom: &ledger, at: now) == [0, 1, 2, 3])
        #expect(!ledger.currentStatistics.isPaused)
    }

    @Test("lets the batch in hand finish and be committed")
    func theBatchInHandFinishes() throws {
        var ledger = ledger()
        ledger.append(records(0..<6))
        let taken = ledger.take(at: now)
        let batch = try #require(taken)
        ledger.isPaused = true
        #expect(ledger.inFlightSince != nil)
        ledger.finish(batch)
        #expect(ledger.uncommitted(includingSent: false).map(\.1) == [4])
        #expect(offsets(takenFrom: &ledger, at: now) == nil)
        ledger.isPaused = false
        #expect(offsets(takenFrom: &ledger, at: now) == [4, 5])
    }

    @Test("fills the buffer, and holds back what comes after")
    func theBufferFillsUp() {
        var ledger = ledger()
        ledger.isPaused = true
        let room = ledger.room()
        #expect(room == 8)
        ledger.append(records(0..<8))
        let none = ledger.room()
        #expect(none == 0)
        #expect(ledger.currentStatistics.pausedPartitions == 1)
        ledger.noteLag { _ in 100 }
        #expect(ledger.currentStatistics.lag == 100)
    }

    @Test("outlasts partitions that go and come")
    func itOutlastsARebalance() {
        var ledger = ledger()
        ledger.append(records(0..<6))
        ledger.isPaused = true
        ledger.isDraining = true
        ledger.revoke()
        ledger.assign([place])
        ledger.append(records(2..<6))
        #expect(ledger.isPaused)
        #expect(offsets(takenFrom: &ledger, at: now) == nil)
        ledger.isPaused = false
        #expect(offsets(takenFrom: &ledger, at: now) == [2, 3, 4, 5])
    }

    @Test("wakes nobody for a batch that failed, and gives it first afterwards")
    func aFailedBatchWaitsToo() throws {
        var ledger = ledger()
        ledger.append(records(0..<8))
        let taken = ledger.take(at: now)
        let batch = try #require(taken)
        ledger.isPaused = true
        ledger.fail(batch, at: now)
        // A deadline in the past would keep the thread awake for as long as the pause lasts.
        #expect(ledger.dueAt == nil)
        let later = now + .seconds(60)
        #expect(offsets(takenFrom: &ledger, at: later) == nil)
        ledger.isPaused = false
        #expect(try #require(ledger.dueAt) <= later)
        #expect(offsets(takenFrom: &ledger, at: later) == [0, 1, 2, 3])
    }
}

/// Pausing, against a broker.
@Suite("A paused consumer", .enabled(if: TestBroker.isThere, TestBroker.skipped))
struct PauseTests {
    private func settings(_ topic: String) -> KafkaConsumerSettings {
        var settings = KafkaConsumerSettings(groupId: topic, topics: [topic])
        settings.batchRecordsMaximum = 50
        settings.bufferRecordsMaximum = 200
        return settings
    }

    private func consumer(
        _ settings: KafkaConsumerSettings, _ handler: @escaping KafkaConsumer.Handler
    ) throws -> KafkaConsumer {
        try KafkaConsumer(
            configuration: TestBroker.configuration(), settings: settings, logger: quietLogger, handler: handler)
    }

    private func texts(_ range: Range<Int>) -> [String] { range.map(String.init) }

    /// Every partition's records from its first on, each once and in order.
    private func expectEachOnceAndInOrder(_ records: [KafkaRecord], count: Int) {
        #expect(records.count == count)
        for (_, records) in Dictionary(grouping: records, by: \.partition) {
            #expect(records.map(\.offset) == Array(0..<Int64(records.count)))
        }
    }

    @Test("handles nothing while records come, and everything in order afterwards")
    func nothingIsHandledUntilItGoesOn() async throws {
        let topic = try await TestBroker.makeTopic(partitions: 3)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        let inbox = Inbox()
        let consumer = try consumer(settings(topic)) { inbox.add($0) }
        consumer.pause()
        let running = Task { try await consumer.run() }
        try await sendAll(texts(0..<1_000), to: topic, with: producer)
        // The buffer is full and the lag is known: the consumer has seen them, and holds back.
        #expect(await eventually { consumer.statistics.bufferedRecords == 200 && consumer.statistics.lag != nil })
        #expect(consumer.statistics.pausedPartitions == 3)
        #expect(consumer.isPaused && consumer.isAssigned)
        #expect(inbox.records.isEmpty)
        consumer.resume()
        #expect(await inbox.wait { $0.count >= 1_000 })
        consumer.pause()
        try await sendAll(texts(1_000..<1_100), to: topic, with: producer)
        #expect(await eventually { consumer.statistics.bufferedRecords == 100 })
        #expect(inbox.records.count == 1_000)
        consumer.resume()
        #expect(await inbox.wait(forAll: Set(texts(0..<1_100))))
        expectEachOnceAndInOrder(inbox.records, count: 1_100)
        await consumer.close()
        try await running.value
        await producer.close()
    }

    @Test("gives half of its partitions to a member that joins, and keeps its pause")
    func aMemberMayJoinMeanwhile() async throws {
        let topic = try await TestBroker.makeTopic(partitions: 6)
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        try await sendAll(texts(0..<600), to: topic, with: producer)
        let (first, second) = (Inbox(), Inbox())
        let paused = try consumer(settings(topic)) { first.add($0) }
        let pausedRun = Task { try await paused.run() }
        #expect(await first.wait { $0.count >= 600 })
        paused.pause()
        try await sendAll(texts(600..<1_200), to: topic, with: producer)
        #expect(await eventually { paused.statistics.bufferedRecords == 200 })

        let joiner = try consumer(settings(topic)) { second.add($0) }
        let joinerRun = Task { try await joiner.run() }
        #expect(await eventually { [paused, joiner].allSatisfy { $0.statistics.assignedPartitions == 3 } })
        #expect(await eventually { joiner.statistics.lag == 0 && !second.records.isEmpty })
        #expect(await eventually { paused.statistics.bufferedRecords > 0 })
        #expect(paused.isPaused && first.records.count == 600)

        paused.resume()
        #expect(await eventually { first.records.count + second.records.count >= 1_200 })
        // The rebalance waited for nothing and lost nothing: what was buffered came again to whoever has it now.
        #expect(Set((first.records + second.records).map(\.text)) == Set(texts(0..<1_200)))
        expectEachOnceAndInOrder(first.records + second.records, count: 1_200)
        await joiner.close()
        await paused.close()
        _ = try await (joinerRun.value, pausedRun.value)
        await producer.close()
    }

    @Test("commits the batch in hand, and ends at once when it is closed")
    func theBatchInHandIsCommitted() async throws {
        let topic = try await TestBroker.makeTopic()
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        try await sendAll(texts(0..<150), to: topic, with: producer)
        let (first, second) = (Inbox(), Inbox())
        let release = OneShotSignal()
        let paused = try consumer(settings(topic)) { records in
            first.add(records)
            await release.wait()
        }
        let pausedRun = Task { try await paused.run() }
        #expect(await first.wait { !$0.isEmpty })
        paused.pause()
        release.set()
        #expect(await eventually { paused.statistics.commits == 1 })
        let handled = first.records.count
        #expect(paused.statistics.handledRecords == handled && handled < 150)
        // With everything that is buffered: the end does not wait for somebody to resume.
        await paused.close()
        try await pausedRun.value
        #expect(first.records.count == handled)

        let next = try consumer(settings(topic)) { second.add($0) }
        let nextRun = Task { try await next.run() }
        #expect(await second.wait { $0.count >= 150 - handled })
        #expect(second.records.map(\.offset) == Array(Int64(handled)..<150))
        await next.close()
        try await nextRun.value
        await producer.close()
    }

    @Test("gives a batch that failed again, before anything else")
    func aFailedBatchComesFirst() async throws {
        struct Refusal: Error {}
        let topic = try await TestBroker.makeTopic()
        let producer = try KafkaProducer(configuration: TestBroker.configuration(), logger: quietLogger)
        try await sendAll(texts(0..<100), to: topic, with: producer)
        var settings = settings(topic)
        settings.retryDelayMinimum = .milliseconds(1)
        let inbox = Inbox()
        let calls = Mutex(0)
        let (isCalled, mayFail) = (OneShotSignal(), OneShotSignal())
        let consumer = try consumer(settings) { records in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            guard call == 1 else { return inbox.add(records) }
            isCalled.set()
            await mayFail.wait()
            throw Refusal()
        }
        let running = Task { try await consumer.run() }
        await isCalled.wait()
        consumer.pause()
        mayFail.set()
        #expect(await eventually { consumer.statistics.failedBatches == 1 })
        #expect(await eventually { consumer.statistics.bufferedRecords > 0 })
        #expect(calls.withLock { $0 } == 1)
        consumer.resume()
        #expect(await inbox.wait { $0.count >= 100 })
        expectEachOnceAndInOrder(inbox.records, count: 100)
        await consumer.close()
        try await running.value
        await producer.close()
    }
}
