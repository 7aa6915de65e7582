import Testing

@testable import Kafka

struct ConsumerLedgerTests {
    private let now = ContinuousClock.now
    private let place = TopicPartition(topic: "t", partition: 0)

    private func ledger() -> ConsumerLedger {
        var limits = KafkaConsumerSettings(groupId: "g", topics: ["t"])
        limits.batchRecordsMaximum = 4
        limits.bufferRecordsMaximum = 10
        limits.retryDelayMinimum = .seconds(1)
        limits.retryDelayMaximum = .seconds(3)
        var ledger = ConsumerLedger(limits: limits)
        ledger.assign([place])
        return ledger
    }

    private func taken(
        from ledger: inout ConsumerLedger, at time: ContinuousClock.Instant
    ) throws -> ConsumerLedger.Batch {
        let batch = ledger.take(at: time)
        return try #require(batch)
    }

    private func isNothingTaken(from ledger: inout ConsumerLedger, at time: ContinuousClock.Instant) -> Bool {
        ledger.take(at: time) == nil
    }

    private func room(of ledger: inout ConsumerLedger) -> Int { ledger.room() }

    private func records(_ offsets: Range<Int64>, partition: Int32 = 0) -> [KafkaRecord] {
        offsets.map { KafkaRecord(topic: "t", partition: partition, offset: $0, value: nil) }
    }

    @Test func recordsWaitForCompanyUnlessABatchIsFull() throws {
        var limits = KafkaConsumerSettings(groupId: "g", topics: ["t"])
        limits.batchRecordsMaximum = 4
        limits.gatherTime = .milliseconds(5)
        var ledger = ConsumerLedger(limits: limits)
        ledger.assign([place])
        #expect(ledger.dueAt == nil)
        ledger.append(records(0..<1), at: now)
        ledger.append(records(1..<3), at: now + .milliseconds(4))
        #expect(isNothingTaken(from: &ledger, at: now + .milliseconds(4)))
        #expect(ledger.dueAt == now + .milliseconds(5))
        let first = try taken(from: &ledger, at: now + .milliseconds(5))
        #expect(first.records.map(\.offset) == [0, 1, 2])
        ledger.append(records(3..<8), at: now + .milliseconds(6))
        #expect(ledger.dueAt == nil, "nobody wakes for what the handler has no time for")
        ledger.finish(first)
        let second = try taken(from: &ledger, at: now + .milliseconds(6))
        #expect(second.records.map(\.offset) == [3, 4, 5, 6])
        ledger.finish(second)
        #expect(isNothingTaken(from: &ledger, at: now + .milliseconds(6)))
        #expect(try taken(from: &ledger, at: now + .milliseconds(11)).records.map(\.offset) == [7])
    }

    @Test func oneBatchAtATimeInOrderAndNoLargerThanAllowed() throws {
        var ledger = ledger()
        ledger.append(records(0..<6))
        let first = try taken(from: &ledger, at: now)
        #expect(first.records.map(\.offset) == [0, 1, 2, 3])
        #expect(isNothingTaken(from: &ledger, at: now))
        ledger.finish(first)
        let next = try taken(from: &ledger, at: now)
        #expect(next.records.map(\.offset) == [4, 5])
    }

    @Test func nothingIsCommittedBeforeTheHandlerReturned() throws {
        var ledger = ledger()
        ledger.append(records(5..<8))
        let batch = try taken(from: &ledger, at: now)
        #expect(ledger.uncommitted(includingSent: true).isEmpty)
        ledger.finish(batch)
        let offsets = ledger.uncommitted(includingSent: false)
        #expect(offsets.map(\.1) == [8])
        ledger.sent(offsets)
        #expect(ledger.uncommitted(includingSent: false).isEmpty)
        // What is on its way is sent again before a partition is given away.
        #expect(ledger.uncommitted(includingSent: true).map(\.1) == [8])
        ledger.committed(offsets, failed: [])
        #expect(ledger.uncommitted(includingSent: true).isEmpty)
    }

    @Test func failedCommitIsSentAgainAndAnOlderAnswerDoesNotHideNewerWork() throws {
        var ledger = ledger()
        ledger.append(records(0..<8))
        ledger.finish(try taken(from: &ledger, at: now))
        ledger.sent([(place, 4)])
        ledger.committed([], failed: [(place, 4)])
        #expect(ledger.uncommitted(includingSent: false).map(\.1) == [4])
        ledger.sent([(place, 4)])
        ledger.finish(try taken(from: &ledger, at: now))
        ledger.committed([(place, 4)], failed: [])
        #expect(ledger.uncommitted(includingSent: false).map(\.1) == [8])
    }

    @Test func workFinishedAfterARevocationIsNeverCommitted() throws {
        var ledger = ledger()
        ledger.append(records(0..<8))
        let batch = try taken(from: &ledger, at: now)
        ledger.revoke()
        ledger.assign([place])
        ledger.append(records(0..<2))
        // The old handler still runs: no second one begins.
        #expect(isNothingTaken(from: &ledger, at: now))
        ledger.finish(batch)
        #expect(ledger.uncommitted(includingSent: true).isEmpty)
        let next = try taken(from: &ledger, at: now)
        #expect(next.records.map(\.offset) == [0, 1])
    }

    @Test func failedBatchComesAgainLaterEachTimeAndNothingOvertakesIt() throws {
        var ledger = ledger()
        ledger.append(records(0..<8))
        var time = now
        for delay in [1, 2, 3, 3] {
            let batch = try taken(from: &ledger, at: time)
            #expect(batch.records.map(\.offset) == [0, 1, 2, 3])
            ledger.fail(batch, at: time)
            #expect(isNothingTaken(from: &ledger, at: time + .seconds(delay) - .milliseconds(1)))
            time += .seconds(delay)
        }
        ledger.finish(try taken(from: &ledger, at: time))
        let next = try taken(from: &ledger, at: time)
        #expect(next.records.map(\.offset) == [4, 5, 6, 7])
    }

    @Test func failedBatchIsDroppedWithItsPartitions() throws {
        var ledger = ledger()
        ledger.append(records(0..<4))
        ledger.fail(try taken(from: &ledger, at: now), at: now)
        ledger.revoke()
        #expect(ledger.dueAt == nil)
        #expect(isNothingTaken(from: &ledger, at: now + .seconds(100)))
    }

    @Test func noBatchBeginsWhileDraining() {
        var ledger = ledger()
        ledger.append(records(0..<4))
        ledger.isDraining = true
        #expect(isNothingTaken(from: &ledger, at: now))
        #expect(room(of: &ledger) == 0)
    }

    @Test func fullBufferTakesNothingUntilItIsHalfEmpty() throws {
        var ledger = ledger()
        #expect(room(of: &ledger) == 10)
        ledger.append(records(0..<10))
        #expect(room(of: &ledger) == 0)
        #expect(ledger.currentStatistics.pausedPartitions == 1)
        ledger.finish(try taken(from: &ledger, at: now))
        #expect(room(of: &ledger) == 0)
        ledger.finish(try taken(from: &ledger, at: now))
        #expect(room(of: &ledger) == 8)
        #expect(ledger.currentStatistics.pausedPartitions == 0)
    }

    @Test func recordsOfPartitionsThatAreNotOursAreDropped() {
        var ledger = ledger()
        ledger.append(records(0..<3, partition: 7))
        #expect(ledger.currentStatistics.bufferedRecords == 0)
        #expect(isNothingTaken(from: &ledger, at: now))
    }

    @Test func lagIsWhatLiesBetweenTheNewestAndTheHandled() throws {
        var ledger = ledger()
        ledger.noteLag { _ in 100 }
        #expect(ledger.currentStatistics.lag == nil)
        ledger.append(records(90..<94))
        ledger.noteLag { _ in 100 }
        #expect(ledger.currentStatistics.lag == 10)
        ledger.finish(try taken(from: &ledger, at: now))
        ledger.noteLag { _ in 100 }
        #expect(ledger.currentStatistics.lag == 6)
    }
}
