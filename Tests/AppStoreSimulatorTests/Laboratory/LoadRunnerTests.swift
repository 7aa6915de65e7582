import Synchronization
import Testing

@testable import AppStoreSimulator

/// A load posts and asks for outcomes at the same time, and neither waits for the other.
@Suite(.timeLimit(.minutes(1))) struct LoadRunnerTests {
    @Test func anOutcomeIsLearntBeforeTheLastPostIsSent() async {
        let bench = LoadBench(purchases: 3)
        let settledAtLastPost = Mutex(0)
        await bench.run { id in
            // With it the third post is held up, which is the last one: there is one at a time.
            if id == "1" { await until { bench.records.counts.settled == 1 } }
            if id == "2" { settledAtLastPost.withLock { $0 = bench.records.counts.settled } }
            return .state("received", of: id)
        } fetch: { id, _ in
            .state("fulfilled", of: id)
        }
        #expect(settledAtLastPost.withLock { $0 } >= 1)
        #expect(bench.records.counts.settled == 3)
        for purchase in bench.records.purchases {
            #expect(purchase.outcomeMilliseconds ?? 0 >= purchase.acceptedMilliseconds ?? .infinity)
        }
        #expect(bench.phases == [.posting, .settling])
    }

    @Test func soManyQuestionsAreOpenAtATimeAndPostingGoesOn() async {
        let bench = LoadBench(purchases: 6, questions: 2)
        let isOpen = Mutex(false)
        await bench.run { id in
            if id == "5" {
                await until { bench.open == 2 }
                isOpen.withLock { $0 = true }
            }
            return .state("received", of: id)
        } fetch: { id, _ in
            await until { isOpen.withLock { $0 } }
            return .state("fulfilled", of: id)
        }
        #expect(bench.openMaximum == 2)
        #expect(Set(bench.asked.prefix(2).map(\.id)) == ["0", "1"])
        #expect(bench.asked.map(\.id).sorted() == ["0", "1", "2", "3", "4", "5"])
        #expect(bench.records.counts.settled == 6)
    }

    @Test("what a question found open queues again behind the others, for which it does not wait long")
    func order() async {
        let bench = LoadBench(purchases: 3, questions: 1)
        await bench.run { id in
            .state("received", of: id)
        } fetch: { id, _ in
            guard bench.asked.count == 1 else { return .state("fulfilled", of: id) }
            await until { bench.records.counts.stepsDone == 3 }
            return .state("received", of: id)
        }
        #expect(bench.asked.map(\.id) == ["0", "1", "2", "0"])
        #expect(bench.asked.map(\.wait) == [20, 1, 1, 20])
    }

    @Test func whatIsPostedTwiceIsAskedForOnceAndAForgeryToo() async {
        let bench = LoadBench(purchases: 1, duplicates: 1, forgeries: 1)
        await bench.run { id in
            .state("received", of: id)
        } fetch: { id, _ in
            id == "forged" ? .state("rejected", of: id, reason: "signature_invalid") : .state("fulfilled", of: id)
        }
        #expect(bench.posted.sorted() == ["0", "0", "forged"])
        #expect(bench.asked.map(\.id).sorted() == ["0", "forged"])
        let forgery = bench.records.forgeries[0]
        #expect(forgery.state == "rejected" && forgery.reason == "signature_invalid")
    }

    @Test func aQuestionThatFailsIsAskedAgainAndIsNoRetry() async {
        let bench = LoadBench(purchases: 1)
        await bench.run { id in
            .state("received", of: id)
        } fetch: { id, _ in
            bench.asked.count == 1
                ? .tryAgain(status: 503, after: nil, problem: "503") : .state("fulfilled", of: id)
        }
        #expect(bench.asked.count == 2)
        #expect(bench.records.counts.statuses == ["202": 1, "503": 1, "200": 1])
        #expect(bench.records.counts.retries == 0 && bench.records.counts.settled == 1)
    }

    @Test func whatAPostIsAnsweredWithIsNotAskedFor() async {
        let bench = LoadBench(purchases: 2)
        await bench.run { id in
            .state("fulfilled", of: id)
        } fetch: { id, _ in
            .state("fulfilled", of: id)
        }
        #expect(bench.asked.isEmpty && bench.records.counts.settled == 2)
    }

    @Test func withoutATimeForItNothingIsAsked() async {
        let bench = LoadBench(purchases: 2, time: nil)
        await bench.run { id in
            .state("received", of: id)
        } fetch: { id, _ in
            .state("fulfilled", of: id)
        }
        #expect(bench.asked.isEmpty && bench.records.counts.accepted == 2 && bench.records.counts.settled == 0)
        #expect(bench.phases == [.posting])
    }

    @Test func whatHasNoOutcomeWhenTheTimeIsUpStaysOpen() async {
        let bench = LoadBench(purchases: 1, time: .milliseconds(1))
        await bench.run { id in
            .state("received", of: id)
        } fetch: { id, _ in
            .state("received", of: id)
        }
        #expect(!bench.asked.isEmpty && bench.asked.allSatisfy { $0.wait == 1 })
        #expect(bench.records.purchases[0].state == "received" && bench.records.counts.settled == 0)
    }
}

/// Lets other tasks run until something holds; the time limit of the test ends it if it never does.
private func until(_ condition: () -> Bool) async {
    while !condition(), !Task.isCancelled { await Task.yield() }
}

extension IntakeClient.Reply {
    fileprivate static func state(_ state: String, of id: String, reason: String? = nil) -> Self {
        .purchase(IntakeClient.Purchase(id: id, state: state, finish: state == "fulfilled", reason: reason))
    }
}
