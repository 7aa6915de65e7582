import AppStoreServerAPI
import Foundation
import NIOHTTP1
import Pacing
import Postgres
import PurchaseModel
import Testing

@testable import Persistence
@testable import VerificationWorker

/// Several sweepers, sweepers that die, and an App Store in trouble.
@Suite("Sharing the sweep", .enabled(if: SweepBooks.isThere, SweepBooks.missing))
struct SweepSharingTests {
    /// Sells to customers of an app that keeps its notifications; twenty are a page.
    private func sell(_ count: Int, _ books: SweepBooks) async throws -> [Simulator.Sold] {
        let store = books.stage.simulator
        try await store.keepNotifications()
        var sold: [Simulator.Sold] = []
        for number in 0..<count {
            let token = try await books.token(of: "player-\(number)")
            sold.append(try await store.sell("coins.100", type: "Consumable", to: "apple-\(number)", token: token))
        }
        return sold
    }

    @Test("two sweepers at once do not ask twice: every question is claimed once, every page read once")
    func two() async throws {
        try await SweepBooks.with { books in
            let sold = try await sell(45, books)
            try await books.stage.withAccess { first in
                try await books.stage.withAccess { second in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for access in [first, second] {
                            group.addTask { while try await books.sweeper(access).look() > 0 {} }
                        }
                        try await group.waitForAll()
                    }
                    try await books.settle(first)
                    #expect(try await books.orders() == books.apple(first, customersOf: sold))
                    let asked = try await books.pool.query(
                        """
                        SELECT kind, sum(lease_number)::int8 AS claims, sum(calls)::int8 AS calls, count(*) AS tasks
                        FROM sweep_tasks WHERE environment = 'production' AND kind IN ('notifications', 'failures')
                        GROUP BY kind ORDER BY kind
                        """)
                    for row in asked.rows {
                        #expect(try row.decode("claims", as: Int64.self) == 1)
                        #expect(try row.decode("calls", as: Int64.self) == 3, "45 of 20 a page")
                    }
                    #expect(asked.rows.count == 2)
                }
            }
        }
    }

    @Test("a sweeper that dies in the middle of a round leaves its place: the next goes on, and reads no page again")
    func death() async throws {
        try await SweepBooks.with { books in
            let sold = try await sell(45, books)
            try await books.stage.withAccess { access in
                let sweeper = books.sweeper(access) { $0.intervals = [.notifications: .seconds(900)] }
                try await sweeper.tasks.prepare(sweeper.served, kinds: [.notifications])
                let claimed = try await sweeper.tasks.claim(limit: 10, lease: .seconds(60))
                let task = try #require(claimed.first { $0.kind == .notifications && $0.environment == .production })
                let app = try #require(access.apps[SubmissionFixture.app])
                let step = try await sweeper.notifications.page(of: task, SweepTaskStore.Progress(), app)
                guard case .page(let progress) = step else { throw Simulator.Trouble(description: "\(step)") }
                #expect(try await sweeper.tasks.keep(progress, of: task, lease: .seconds(60)))
                // Nothing is heard of it any more, and its lease ends.
                _ = try await books.pool.query("UPDATE sweep_tasks SET due_at = now()")
                while try await sweeper.look() > 0 {}
                try await books.settle(access)
                #expect(try await books.orders() == books.apple(access, customersOf: sold))
                let calls = try await books.number(
                    "SELECT calls AS n FROM sweep_tasks WHERE id = $1", [.int8(task.id)])
                #expect(calls == 3)
                // It comes back, and what it has to say counts for nothing.
                #expect(try await !sweeper.tasks.keep(progress, of: task, lease: .seconds(60)))
                #expect(try await !sweeper.tasks.finish(task, progress, next: .zero))
            }
        }
    }

    @Test("who wants everything read during a round gets it read: the round's mark does not come back")
    func readsAllMeanwhile() async throws {
        try await SweepBooks.with { books in
            let tasks = SweepTaskStore(pool: books.pool)
            _ = try await books.pool.query(
                """
                INSERT INTO sweep_tasks (kind, app, environment, customer, subject, priority, due_at, revision)
                VALUES ('history', 'game', 'production', 'a:1', '7', 6, now(), 'before')
                """)
            func revision() async throws -> String? {
                try await books.pool.query("SELECT revision FROM sweep_tasks").rows[0].decodeIfPresent("revision")
            }
            let first = try #require(try await tasks.claim(limit: 1, lease: .seconds(60)).first)
            #expect(try await tasks.keep(SweepTaskStore.Progress(revision: "page 1"), of: first, lease: .seconds(60)))
            #expect(try await revision() == "page 1")
            try await books.pool.withConnection { connection in
                _ = try await SweepTaskStore.ask(
                    """
                    SELECT 'game' AS app, 'production' AS environment, 'a:1' AS customer, '7' AS transaction_id
                    """, kinds: [.history], cause: .request, readsAll: true, on: connection)
            }
            #expect(try await tasks.keep(SweepTaskStore.Progress(revision: "page 2"), of: first, lease: .seconds(60)))
            #expect(try await tasks.finish(first, SweepTaskStore.Progress(revision: "end"), next: .seconds(900)))
            let second = try #require(try await tasks.claim(limit: 1, lease: .seconds(60)).first)
            #expect(second.revision == nil)
            #expect(try await tasks.finish(second, SweepTaskStore.Progress(revision: "end"), next: .seconds(900)))
            #expect(try await revision() == "end")
        }
    }

    @Test("a mark without its submission, which a death between the two leaves, is found again and taken in")
    func deathBetween() async throws {
        try await SweepBooks.with { books in
            let sold = try await sell(3, books)
            try await books.stage.withAccess { access in
                while try await books.sweeper(access).look() > 0 {}
                _ = try await books.pool.query("DELETE FROM submissions")
                _ = try await books.pool.query("UPDATE sweep_tasks SET covered_until = NULL")
                try await books.hurry()
                try await books.sweep(access)
                #expect(try await books.orders() == books.apple(access, customersOf: sold))
                #expect(try await books.number("SELECT count(*) AS n FROM recoveries") == 3)
            }
        }
    }

    @Test("429s and 5xx in the middle of a sweep put it off, and lose nothing")
    func troubles() async throws {
        try await SweepBooks.with { books in
            let sold = try await sell(45, books)
            var setup = Setup()
            setup.breaker = CircuitBreaker.Settings()
            setup.breaker.probeDelay = .milliseconds(10)
            setup.breaker.probeDelayMaximum = .milliseconds(20)
            try await books.stage.withAccess(setup) { access in
                let store = books.stage.simulator
                try await store.control(
                    .PUT, "faults",
                    #"""
                    {"rules":[{"share":0.3,"seed":3,"fault":{"kind":"status","status":429,"retryAfterMs":200}},
                    {"share":0.3,"seed":5,"fault":{"kind":"status","status":503,"body":"htmlPage"}},
                    {"share":0.1,"seed":7,"fault":{"kind":"reset"}}]}
                    """#)
                let sweeper = books.sweeper(access)
                let deadline = ContinuousClock.now + .seconds(60)
                var isOver = false
                while !isOver, ContinuousClock.now < deadline {
                    while try await sweeper.look() > 0 {}
                    isOver =
                        try await books.number(
                            "SELECT count(*) AS n FROM sweep_tasks WHERE kind = 'notifications' AND finished_at IS NULL"
                        ) == 0
                    // What was put off for seconds has its time now.
                    if !isOver { try await books.hurry() }
                    // A breaker's probe and a 429 have times of their own, some milliseconds long.
                    try await Task.sleep(for: .milliseconds(10))
                }
                #expect(isOver)
                try await store.control(.DELETE, "faults")
                try await books.settle(access)
                #expect(try await books.orders() == books.apple(access, customersOf: sold))
            }
        }
    }

    @Test("players go first: a sweep has no more of the budget than its share, and gives way")
    func budget() async throws {
        try await SweepBooks.with { books in
            var setup = Setup()
            setup.rates = AppStoreRates(perSecond: 10, share: 1)
            setup.sweepShare = 0.1
            let sold = try await sell(1, books)
            try await books.stage.withAccess(setup) { access in
                let host = AppStoreHost(kind: .serverAPI, environment: .production)
                let client = try #require(access.apps.client(of: SubmissionFixture.app))
                func call(_ priority: Priority) async -> Bool {
                    let outcome = await access.pace.call(
                        host, app: SubmissionFixture.app, priority: priority, asker: "", patience: .zero
                    ) { try await client.transactionInfo(sold[0].transactionId, in: .production) }
                    if case .answer = outcome { return true }
                    return false
                }
                #expect(await call(.sweep))
                #expect(await !call(.sweep), "one at once, and one a second")
                for _ in 0..<5 { #expect(await call(.player)) }
            }
        }
    }
}
