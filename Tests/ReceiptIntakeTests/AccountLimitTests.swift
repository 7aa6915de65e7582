import HTTPTypes
import HummingbirdTesting
import Messages
import Persistence
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite("How often an account may ask")
struct AccountRateTests {
    private let start = ContinuousClock.now

    private func isTaken(_ rate: AccountRate, _ account: String, after time: Duration) -> Bool {
        (try? rate.take(app: "a", account: account, now: start + time)) != nil
    }

    @Test("is so many times at once, then one by one as they come back; each account by itself")
    func turns() throws {
        let rate = AccountRate(perMinute: 6)
        for _ in 0..<6 { #expect(isTaken(rate, "1", after: .zero)) }
        #expect(throws: AccountRate.Exceeded(wait: .seconds(10))) { try rate.take(app: "a", account: "1", now: start) }
        #expect(throws: AccountRate.Exceeded(wait: .seconds(1))) {
            try rate.take(app: "a", account: "1", now: start + .seconds(9))
        }
        #expect(isTaken(rate, "1", after: .seconds(10)))
        #expect(!isTaken(rate, "1", after: .seconds(19)))
        #expect(isTaken(rate, "2", after: .zero))
        #expect((try? rate.take(app: "b", account: "1", now: start)) != nil, "another app's")
        for _ in 0..<6 { #expect(isTaken(rate, "1", after: .seconds(3_600))) }
        #expect(!isTaken(rate, "1", after: .seconds(3_600)), "an hour saves no more than a minute")
    }

    @Test("of many, a second's are let in at once, the next are held until it is their turn, and more are refused")
    func held() throws {
        let rate = AccountRate(perMinute: 600, holdMaximum: .seconds(1))
        func take(_ time: Duration = .zero) throws -> Duration {
            try rate.take(app: "a", account: "1", now: start + time)
        }
        for _ in 0..<10 { #expect(try take() == .zero) }
        for number in 1...10 { #expect(try take() == .milliseconds(100 * number)) }
        #expect(throws: AccountRate.Exceeded(wait: .milliseconds(1_100))) { try take() }
        rate.giveBack(app: "a", account: "1")
        #expect(try take() == .seconds(1), "what was given back")
        #expect(try take(.milliseconds(600)) == .milliseconds(500))
        rate.giveBack(app: "a", account: "unknown")
        #expect(rate.accountsCount == 1)
    }

    @Test("forgets who has made up for it, and remembers no more than its maximum")
    func forgets() {
        let rate = AccountRate(perMinute: 1, accountsMaximum: 2)
        for name in ["1", "2", "3", "4"] { #expect(isTaken(rate, name, after: .zero)) }
        #expect(rate.accountsCount == 2)
        #expect(!isTaken(rate, "1", after: .seconds(59)))
        #expect(isTaken(rate, "3", after: .seconds(60)))
        #expect(rate.accountsCount == 1)
    }
}

@Suite(
    "A player who asks without measure",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct AccountLimitTests {
    @Test("is told when to come again, and nothing is written; others and the studio's backend go on")
    func refused() async throws {
        let settings = ["intake.account_ids_per_minute": "2", "intake.account_posts_per_minute": "5"]
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, settings: settings) { intake in
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                let other = try TestTokens.hs256(TestTokens.claims("player-2"))
                for id in ["1", "2"] {
                    #expect(try await intake.post(fields: ["transaction_id": id], as: player).status == 202)
                }
                for fields in [["transaction_id": "3"], ["order_id": "MV7"], ["transaction_id": "1"]] {
                    let answer = try await intake.post(fields: fields, as: player)
                    #expect(answer.status == 429 && answer.slug == "rate-limited", "\(answer.text)")
                    let wait = try #require(answer.headers[.retryAfter].flatMap { Int($0) })
                    #expect((1...30).contains(wait))
                    #expect(answer.headers[.rateLimitPolicy] == #""ids";q=2;w=60"#)
                    #expect(answer.headers[.rateLimit] == #""ids";r=0;t=\#(wait)"#)
                }
                for _ in 0..<3 { #expect(try await intake.post(Proofs.fresh(), as: player).status == 202) }
                let more = try await intake.post(Proofs.fresh(), as: player)
                #expect(more.status == 429 && more.headers[.rateLimitPolicy] == #""posts";q=5;w=60"#)
                #expect(try await database.submissionCount() == 5)
                #expect(try await intake.post(fields: ["transaction_id": "3"], as: other).status == 202)
                for id in 10..<20 {
                    let fields = ["transaction_id": "\(id)", "account": "player-1"]
                    #expect(try await intake.post(fields: fields, as: TestIntake.serverKey).status == 202)
                }
                #expect(try await database.submissionCount() == 16)
            }
        }
    }

    @Test("is put off before its body is read, and has the turn back of what was refused for another reason")
    func beforeTheBody() async throws {
        let settings = ["intake.account_ids_per_minute": "1", "intake.account_posts_per_minute": "3"]
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, settings: settings) { intake in
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                #expect(try await intake.post(fields: ["transaction_id": "1"], as: player).status == 202)
                for _ in 0..<5 {
                    #expect(try await intake.post(fields: ["transaction_id": "2"], as: player).status == 429)
                }
                #expect(
                    try await intake.post(Proofs.fresh(), as: player).status == 202,
                    "of ids that were refused none is left")
                #expect(try await intake.send(.post, "/v1/purchases", token: player, body: "{").status == 400)
                let unread = try await intake.send(.post, "/v1/purchases", token: player, body: "{")
                #expect(unread.status == 429, "the third was the one that was no JSON")
            }
        }
    }

    @Test("has so many requests that wait, of whatever kind; one more is answered at once with what is known")
    func waits() async throws {
        let settings = ["intake.account_waits_maximum": "2"]
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, settings: settings) { intake in
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                let other = try TestTokens.hs256(TestTokens.claims("player-2"))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<2 {
                        let proof = Proofs.fresh()
                        group.addTask { _ = try await intake.post(proof, as: player, wait: 30) }
                    }
                    while intake.waiters.count < 2 { await Task.yield() }
                    #expect(try await intake.post(Proofs.fresh(), as: player, wait: 30).status == 202)
                    let version = "/v1/accounts/player-1?app=\(TestIntake.app)&at_least=9&wait=30"
                    #expect(try await intake.send(.get, version, token: player).status == 409)
                    #expect(intake.waiters.count == 2)
                    for token in [other, TestIntake.serverKey] {
                        let fields = ["signed_transaction": Proofs.fresh(), "account": "player-2"]
                        group.addTask { _ = try await intake.post(fields: fields, as: token, wait: 30) }
                    }
                    while intake.waiters.count < 4 { await Task.yield() }
                    while intake.published.withLock({ $0.count }) < 5 { await Task.yield() }
                    for id in intake.published.withLock({ $0.map(\.message.submissionId) }) {
                        intake.waiters.resolve(id, with: SubmissionOutcome(state: .fulfilled, finish: true))
                    }
                    try await group.waitForAll()
                }
                #expect(try await intake.post(Proofs.fresh(), as: player, wait: 1).status == 202)
            }
        }
    }

    @Test("is told when to read again, whatever is read; others and the studio's backend go on")
    func reads() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(
                url: database.url, settings: ["intake.account_reads_per_minute": "3"]
            ) { intake in
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                let paths = [
                    "/v1/accounts/player-1?app=\(TestIntake.app)",
                    "/v1/accounts/player-1/transactions?app=\(TestIntake.app)",
                    "/v1/orders/1/why?app=\(TestIntake.app)", "/v1/orders/1?app=\(TestIntake.app)",
                    "/v1/purchases/sub_00000000000000000000000000000000",
                ]
                for (index, path) in paths.enumerated() {
                    let answer = try await intake.send(.get, path, token: player)
                    #expect((answer.status == 429) == (index >= 3), "\(path): \(answer.text)")
                }
                let limited = try await intake.send(.get, paths[0], token: player)
                #expect(limited.slug == "rate-limited" && limited.headers[.retryAfter] != nil)
                #expect(limited.headers[.rateLimitPolicy] == #""reads";q=3;w=60"#)
                #expect(try await intake.post(Proofs.fresh(), as: player).status == 202, "posts are counted apart")
                for _ in 0..<10 {
                    let answer = try await intake.send(.get, paths[0], token: TestIntake.serverKey)
                    #expect(answer.status == 200, "\(answer.text)")
                }
            }
        }
    }
}

@Suite("How often an app's backends may post")
struct BackendRateTests {
    @Test(
        "by the app's entry or the setting, a quarter of a second's turns at once; no limit where 0 is said; a shared key by the largest"
    )
    func turns() throws {
        let rate = BackendRate(perMinute: 6_000, holdMaximum: .zero) { ["small": 600, "free": 0, "large": 12_000][$0] }
        #expect(rate.turns(apps: ["free"]) == nil && rate.turns(apps: ["free", "small"]) == nil)
        #expect(rate.turns(apps: []) == nil)
        for (apps, perMinute, atOnce) in [
            (["other"], 6_000, 25), (["small"], 600, 10), (["large", "small"], 12_000, 50),
        ] {
            let turns = try #require(rate.turns(apps: apps))
            #expect(turns.perMinute == perMinute && rate.turns(apps: apps) === turns)
            let now = ContinuousClock.now
            let taken = (0..<atOnce + 1).count { _ in (try? turns.take(BackendRate.name(apps), now: now)) != nil }
            #expect(taken == atOnce)
            let tests = try #require(rate.turns(apps: apps, isTest: true))
            #expect(tests !== turns && (try? tests.take(BackendRate.name(apps, true), now: now)) == .zero)
        }
    }

    @Test("and what is too much is 429 before its body is read; another app's purchases go on")
    func limited() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, settings: ["intake.app_posts_per_minute": "30"]) { intake in
                @Sendable func post() async throws -> TestIntake.Answer {
                    let fields = ["signed_transaction": Proofs.fresh(), "account": "player-2"]
                    return try await intake.post(fields: fields, as: TestIntake.serverKey)
                }
                for _ in 0..<10 { #expect(try await post().status == 202) }
                // Two more are held until it is their turn, 2 and 4 s; the next are told when to come.
                let answers = try await withThrowingTaskGroup(of: TestIntake.Answer.self) { group in
                    for _ in 0..<4 { group.addTask { try await post() } }
                    return try await group.reduce(into: [TestIntake.Answer]()) { $0.append($1) }
                }
                let refused = answers.filter { $0.status == 429 }
                #expect(refused.count == 2 && answers.count { $0.status == 202 } == 2, "\(answers.map(\.status))")
                #expect(refused.allSatisfy { $0.headers[.rateLimitPolicy] == #""app";q=30;w=60"# })
                #expect(refused.allSatisfy { $0.headers[.retryAfter] != nil && $0.slug == "rate-limited" })
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                #expect(
                    try await intake.post(Proofs.fresh(), as: player).status == 202, "players have their own limits")
            }
        }
    }
}

@Suite("Readings beside purchases")
struct ReadingTurnsTests {
    @Test("half of the connections read at most, and beyond those who may wait it is 503 of its own")
    func turns() async throws {
        let limits = AccountLimits(postsPerMinute: 1, idsPerMinute: 1, readsPerMinute: 1)
        let turns = ReadingTurns(limits: limits, connections: 4, waitingMaximum: 3)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let isOver = Mutexed(false)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    do {
                        return try await turns.take(for: .server(app: "a")) {
                            begin.yield()
                            while !isOver.withLock({ $0 }) { await Task.yield() }
                            return true
                        }
                    } catch let problem as ProblemDetails where problem == .putOff {
                        return false
                    }
                }
            }
            // Two read, three wait, and one is put off.
            let putOff = try await group.next()
            #expect(putOff == false)
            var reading = begun.makeAsyncIterator()
            await reading.next()
            await reading.next()
            isOver.withLock { $0 = true }
            var read = 0
            for try await isRead in group where isRead { read += 1 }
            #expect(read == 5)
        }
    }
}
