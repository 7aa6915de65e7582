import Foundation
import Messages
import Persistence
import PurchaseModel
import Synchronization
import Testing

@testable import ReceiptIntake

/// A hint that is lost costs a second or two, and not the whole wait.
@Suite("Late outcomes", .timeLimit(.minutes(1)))
struct LateOutcomesTests {
    /// What stands in for the table `submissions`.
    private final class Submissions: Sendable {
        private let state = Mutex<(outcomes: [String: SubmissionOutcome], asked: [[String]])>(([:], []))

        /// What was asked for, query by query.
        var asked: [[String]] { state.withLock { $0.asked } }

        func settle(_ id: String, _ outcome: SubmissionOutcome) {
            state.withLock { $0.outcomes[id] = outcome }
        }

        func statuses(_ ids: [String]) -> [String: SubmissionStore.Status] {
            let outcomes = state.withLock { state in
                state.asked.append(ids.sorted())
                return state.outcomes
            }
            // A submission that is not there, as before its commit, has no status.
            return Dictionary(
                uniqueKeysWithValues: ids.filter { $0 != "absent" }.map { id in
                    (
                        id,
                        SubmissionStore.Status(
                            account: "player", app: "com.example.game", kind: .signedTransaction,
                            receivedAt: Date(timeIntervalSince1970: 0), outcome: outcomes[id])
                    )
                })
        }
    }

    private let fulfilled = SubmissionOutcome(state: .fulfilled, finish: true)
    private let long = Duration.seconds(600)
    private let submissions = Submissions()

    /// When every wait of a test has lasted long enough to be looked for.
    private var later: ContinuousClock.Instant { .now + LateOutcomes.Limit.patience * 2 }

    private func late(_ waiters: OutcomeWaiters) -> LateOutcomes {
        LateOutcomes(waiters: waiters) { [submissions] in submissions.statuses($0) }
    }

    /// Returns once so many submissions are waited for; a wait begins in a task of its own.
    private func untilWaiting(_ count: Int, _ waiters: OutcomeWaiters) async {
        while waiters.overdue(at: later, after: .zero, maximum: .max).count < count { await Task.yield() }
    }

    @Test("whoever waits is told of an outcome that no hint told, and of none before there is one")
    func tells() async throws {
        let waiters = OutcomeWaiters(waitersMaximum: 3)
        let late = late(waiters)
        let both = try [#require(waiters.register("a")), #require(waiters.register("a"))]
        let other = try #require(waiters.register("absent"))
        async let outcomes = [both[0].outcome(within: long), both[1].outcome(within: long)]
        let waiting = Task { [long] in await other.outcome(within: long) }
        await untilWaiting(2, waiters)
        #expect(try await late.look(at: later) == 2)
        submissions.settle("a", fulfilled)
        #expect(try await late.look(at: later) == 2)
        #expect(await outcomes == [fulfilled, fulfilled])
        #expect(submissions.asked == [["a", "absent"], ["a", "absent"]], "one query a look")
        #expect(try await late.look(at: later) == 1, "who was told is looked for no more")
        waiting.cancel()
        #expect(await waiting.value == nil)
    }

    @Test("nobody is looked for who has not waited a while, or has not begun to")
    func asksForNobodyElse() async throws {
        let waiters = OutcomeWaiters(waitersMaximum: 2)
        let late = late(waiters)
        #expect(try await late.look(at: later) == 0)
        let waiter = try #require(waiters.register("a"))
        submissions.settle("a", fulfilled)
        // Its post may be about to open the submission again: what the database says now is not its outcome.
        #expect(try await late.look(at: later) == 0)
        let begin = ContinuousClock.now
        let waiting = Task { [long] in await waiter.outcome(within: long) }
        await untilWaiting(1, waiters)
        #expect(try await late.look(at: begin) == 0)
        #expect(submissions.asked.isEmpty)
        #expect(try await late.look(at: later) == 1)
        #expect(await waiting.value == fulfilled)
        waiters.remove(waiter)
        #expect(try await late.look(at: later) == 0)
        #expect(submissions.asked == [["a"]])
    }

    @Test("an outcome that is passed over ends no wait, however often it is seen")
    func passesOver() async throws {
        let waiters = OutcomeWaiters(waitersMaximum: 1)
        let late = late(waiters)
        let waiter = try #require(waiters.register("a"))
        waiter.passOver { $0.reason == .possessionUnproven }
        let parked = SubmissionOutcome(state: .parked, finish: false, reason: .possessionUnproven)
        submissions.settle("a", parked)
        let waiting = Task { [long] in await waiter.outcome(within: long) }
        await untilWaiting(1, waiters)
        for _ in 0..<3 { #expect(try await late.look(at: later) == 1) }
        #expect(waiters.resolve("a", with: parked) == 0, "it was told to nobody, and is counted for nobody")
        submissions.settle("a", fulfilled)
        #expect(try await late.look(at: later) == 1)
        #expect(await waiting.value == fulfilled)
    }

    @Test("beyond the limit of a look all come round in turn")
    func inTurn() async throws {
        let waiters = OutcomeWaiters(waitersMaximum: 5)
        let ids = ["a", "b", "c", "d", "e"]
        let all = try ids.map { try #require(waiters.register($0)) }
        let waiting = all.map { waiter in Task { [long] in await waiter.outcome(within: long) } }
        await untilWaiting(5, waiters)
        var time = later
        var named: [String] = []
        for count in [2, 2, 1] {
            time += .seconds(1)
            // Two of those that were not named for longest; the last look names one of them, and one for the second time.
            let look = waiters.overdue(at: time, after: .zero, maximum: 2)
            #expect(look.count == 2)
            named += look.prefix(count)
        }
        #expect(Set(named) == Set(ids))
        for waiter in waiting {
            waiter.cancel()
            #expect(await waiter.value == nil)
        }
    }

    @Test("a database that does not answer is the task's failure, and ends no wait")
    func failure() async throws {
        struct Unreachable: Error {}
        let waiters = OutcomeWaiters(waitersMaximum: 1)
        let late = LateOutcomes(waiters: waiters) { _ in throw Unreachable() }
        let waiter = try #require(waiters.register("a"))
        let waiting = Task { [long] in await waiter.outcome(within: long) }
        await untilWaiting(1, waiters)
        await #expect(throws: Unreachable.self) { try await late.look(at: later) }
        waiters.resolve("a", with: fulfilled)
        #expect(await waiting.value == fulfilled)
    }
}
