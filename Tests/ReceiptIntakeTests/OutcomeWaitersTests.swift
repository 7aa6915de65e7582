import Foundation
import Kafka
import Logging
import Messages
import PurchaseModel
import Testing

@testable import ReceiptIntake

@Suite("Waiting for an outcome", .timeLimit(.minutes(1)))
struct OutcomeWaitersTests {
    private let fulfilled = SubmissionOutcome(state: .fulfilled, finish: true)
    private let long = Duration.seconds(600)

    @Test("an outcome that comes before the wait begins is not missed")
    func earlyOutcome() async throws {
        let waiters = OutcomeWaiters(waitersMaximum: 1)
        let waiter = try #require(waiters.register("a"))
        waiters.resolve("a", with: fulfilled)
        #expect(await waiter.outcome(within: long) == fulfilled)
    }

    @Test("everybody who waits for a submission is told, and nobody else")
    func tellsTheRightOnes() async throws {
        let waiters = OutcomeWaiters(waitersMaximum: 3)
        let first = try #require(waiters.register("a"))
        let second = try #require(waiters.register("a"))
        let other = try #require(waiters.register("b"))
        async let outcomes = [first.outcome(within: long), second.outcome(within: long)]
        waiters.resolve("a", with: fulfilled)
        #expect(await outcomes == [fulfilled, fulfilled])
        #expect(await other.outcome(within: .milliseconds(1)) == nil)
    }

    @Test("a wait ends by its time, and by cancellation")
    func ends() async throws {
        let waiters = OutcomeWaiters(waitersMaximum: 2)
        let short = try #require(waiters.register("a"))
        #expect(await short.outcome(within: .milliseconds(5)) == nil)
        let cancelled = try #require(waiters.register("a"))
        let task = Task { [long] in await cancelled.outcome(within: long) }
        task.cancel()
        #expect(await task.value == nil)
    }

    @Test("an outcome that is passed over ends no wait, whether it came before or after; the next one does")
    func passesOver() async throws {
        let waiters = OutcomeWaiters(waitersMaximum: 2)
        let parked = SubmissionOutcome(state: .parked, finish: false, reason: .possessionUnproven)
        for comesFirst in [true, false] {
            let waiter = try #require(waiters.register("a"))
            if comesFirst { waiters.resolve("a", with: parked) }
            waiter.passOver { $0.reason == .possessionUnproven }
            waiters.resolve("a", with: parked)
            async let outcome = waiter.outcome(within: long)
            waiters.resolve("a", with: parked)
            waiters.resolve("a", with: fulfilled)
            #expect(await outcome == fulfilled)
            waiters.remove(waiter)
        }
        let gone = try #require(waiters.register("a"))
        gone.finish(with: nil)
        gone.passOver { _ in true }
        #expect(await gone.outcome(within: long) == nil, "a caller that has gone does not wait on")
    }

    @Test("beyond the limit nobody waits, and a place that is left is free again")
    func limit() throws {
        let waiters = OutcomeWaiters(waitersMaximum: 2)
        let first = try #require(waiters.register("a"))
        _ = try #require(waiters.register("b"))
        #expect(waiters.register("c") == nil)
        waiters.remove(first)
        waiters.remove(first)
        #expect(waiters.count == 1)
        #expect(!waiters.isAwaited("a"))
        #expect(waiters.register("c") != nil)
    }

    @Test("a settlement on the topic resolves; everything else on it is passed over")
    func listens() async throws {
        let waiters = OutcomeWaiters(waitersMaximum: 2)
        let listener = SettlementListener(waiters: waiters, logger: Logger(label: "test"))
        let waiter = try #require(waiters.register("sub_1"))
        let data = try MessageCoding.encode(SettlementMessage(submissionId: "sub_1", outcome: fulfilled))
        func record(_ type: String?, subject: String?, value: [UInt8]?) -> KafkaRecord {
            var headers: [KafkaHeader] = []
            if let type { headers.append(KafkaHeader(name: "ce_type", text: type)) }
            if let subject { headers.append(KafkaHeader(name: "ce_subject", text: subject)) }
            return KafkaRecord(topic: Topics.settlements, partition: 0, offset: 0, value: value, headers: headers)
        }
        let settled = SettlementMessage.type
        listener.handle([
            record(nil, subject: nil, value: data), record(PurchaseEvent.fulfilled, subject: "sub_1", value: data),
            record(settled, subject: "sub_2", value: data), record(settled, subject: "sub_1", value: nil),
            record(settled, subject: "sub_1", value: Array("{".utf8)),
        ])
        let early = Task { await waiter.outcome(within: long) }
        #expect(waiters.isAwaited("sub_1"))
        listener.handle([record(settled, subject: "sub_1", value: data)])
        #expect(await early.value == fulfilled)
    }
}
