import Testing

@testable import Kafka

/// A consumer whose handler may have several batches at a time.
struct BatchesInFlightTests {
    private let now = ContinuousClock.now
    private let place = TopicPartition(topic: "t", partition: 0)

    private func ledger(batchesMaximum: Int) -> ConsumerLedger {
        var limits = KafkaConsumerSettings(groupId: "g", topics: ["t"])
        limits.batchRecordsMaximum = 2
        limits.bufferRecordsMaximum = 100
        limits.batchesMaximum = batchesMaximum
        limits.retryDelayMinimum = .seconds(1)
        var ledger = ConsumerLedger(limits: limits)
        ledger.assign([place])
        return ledger
    }

    private func taken(from ledger: inout ConsumerLedger, _ seconds: Int = 0) throws -> ConsumerLedger.Batch {
        let batch = ledger.take(at: now + .seconds(seconds))
        return try #require(batch)
    }

    private func isNothingTaken(from ledger: inout ConsumerLedger, _ seconds: Int = 0) -> Bool {
        ledger.take(at: now + .seconds(seconds)) == nil
    }

    private func committable(_ ledger: ConsumerLedger) -> [Int64] {
        ledger.uncommitted(includingSent: false).map(\.1)
    }

    private func records(_ offsets: Range<Int64>, partition: Int32 = 0) -> [KafkaRecord] {
        offsets.map { KafkaRecord(topic: "t", partition: partition, offset: $0, value: nil) }
    }

    @Test func noMoreThanAllowedAndTheNextAsSoonAsOneIsDone() throws {
        var ledger = ledger(batchesMaximum: 2)
        ledger.append(records(0..<6))
        let first = try taken(from: &ledger)
        let second = try taken(from: &ledger, 1)
        #expect([first, second].map { $0.records.map(\.offset) } == [[0, 1], [2, 3]])
        #expect(isNothingTaken(from: &ledger))
        #expect(ledger.inFlightSince == now)
        ledger.finish(second)
        #expect(try taken(from: &ledger).records.map(\.offset) == [4, 5])
        #expect(ledger.progress.waiting == [place])
    }

    @Test func anOffsetIsCommittedOnceEverythingBeforeItIsHandled() throws {
        var ledger = ledger(batchesMaximum: 3)
        ledger.append(records(0..<6))
        let batches = [try taken(from: &ledger), try taken(from: &ledger), try taken(from: &ledger)]
        ledger.finish(batches[2])
        #expect(committable(ledger).isEmpty)
        ledger.finish(batches[0])
        #expect(committable(ledger) == [2])
        ledger.finish(batches[1])
        #expect(committable(ledger) == [6])
        #expect(ledger.inFlightSince == nil)
    }

    @Test func aFailedBatchComesAgainWhileOthersGoOnAndHoldsUpTheCommit() throws {
        var ledger = ledger(batchesMaximum: 2)
        ledger.append(records(0..<8))
        let failing = try taken(from: &ledger)
        ledger.fail(failing, at: now)
        #expect(ledger.progress.failures == 1)
        for _ in 0..<3 { ledger.finish(try taken(from: &ledger)) }
        #expect(committable(ledger).isEmpty)
        #expect(ledger.dueAt == now + .seconds(1))
        let again = try taken(from: &ledger, 1)
        #expect(again.records.map(\.offset) == [0, 1])
        #expect(again.failures == 1)
        ledger.finish(again)
        #expect(committable(ledger) == [8])
    }

    @Test func aPartitionThatIsHeldUpByABatchOfAnotherIsNotTakenForOneThatStands() throws {
        var ledger = ledger(batchesMaximum: 2)
        let other = TopicPartition(topic: "t", partition: 1)
        ledger.assign([place, other])
        ledger.append(records(0..<2) + records(0..<2, partition: 1))
        let lasting = try taken(from: &ledger)
        ledger.finish(try taken(from: &ledger))
        #expect(ledger.progress.waiting == [place, other])
        #expect(ledger.progress.positions == [place: 0, other: 0])
        ledger.finish(lasting)
        #expect(ledger.progress.waiting.isEmpty)
        #expect(ledger.progress.positions == [place: 2, other: 2])
    }

    @Test func besideABatchThatLastsOnlySoManyAreDone() throws {
        var ledger = ledger(batchesMaximum: 2)
        ledger.append(records(0..<100))
        let lasting = try taken(from: &ledger)
        var done = 0
        while let batch = ledger.take(at: now) {
            ledger.finish(batch)
            done += 1
        }
        #expect(done == 2 * (1 + BatchesInFlight.doneFactor) - 1)
        ledger.finish(lasting)
        #expect(committable(ledger) == [Int64(2 * (1 + done))])
        #expect(try taken(from: &ledger).records.map(\.offset) == [Int64(2 * (1 + done)), Int64(2 * (1 + done) + 1)])
    }

    @Test func whatWasTakenAwayGoesOnIsNeverCommittedAndCountsAsUnderWay() throws {
        var ledger = ledger(batchesMaximum: 2)
        ledger.append(records(0..<6))
        let lost = try taken(from: &ledger)
        let failed = try taken(from: &ledger)
        ledger.fail(failed, at: now)
        ledger.revoke()
        #expect(ledger.inFlightSince == now)
        ledger.assign([place])
        ledger.append(records(0..<6))
        let first = try taken(from: &ledger, 5)
        #expect(first.records.map(\.offset) == [0, 1])
        #expect(isNothingTaken(from: &ledger, 5))
        ledger.finish(lost)
        #expect(committable(ledger).isEmpty)
        let second = try taken(from: &ledger, 5)
        #expect(second.failures == 0)
        ledger.finish(first)
        ledger.finish(second)
        #expect(committable(ledger) == [4])
    }
}
