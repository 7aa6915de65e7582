import AppStoreServerAPI
import Messages
import NIOHTTP1
import Pacing
import PurchaseModel
import Testing

@testable import VerificationWorker

@Suite("Lookups of bare transaction ids", .enabled(if: Simulator.isThere, Simulator.missing))
struct TransactionLookupTests {
    private static let slow = "{\"kind\":\"latency\",\"ms\":400}"

    /// What becomes of many submissions at once.
    private func findings(_ submissions: [SubmissionMessage], _ access: AppStoreAccess) async -> [Finding] {
        await withTaskGroup(of: (Int, Finding).self) { group in
            for (index, submission) in submissions.enumerated() {
                group.addTask { (index, await access.judge.finding(for: submission, proof: submission.proof)) }
            }
            var findings = [Finding?](repeating: nil, count: submissions.count)
            for await (index, finding) in group { findings[index] = finding }
            return findings.compactMap { $0 }
        }
    }

    @Test("An id is asked about once at a time, however many submissions it came in")
    func singleFlight() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sellOne()
            try await stage.simulator.misbehave(Self.slow)
            try await stage.withAccess { access in
                let many = (0..<200).map { _ in asked(sold.transactionId) }
                let found = await findings(many, access)
                #expect(found.count == 200)
                #expect(found.allSatisfy { $0.name == "genuine" })
            }
            #expect(try await stage.simulator.requestsSeen() == 1)
        }
    }

    @Test("Hundreds are in flight at once, and all come back")
    func hundreds() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sell(count: 400)
            try await stage.simulator.misbehave(Self.slow)
            try await stage.withAccess { access in
                let found = await findings(sold.map { asked($0.transactionId) }, access)
                #expect(found.map(\.name) == sold.map { _ in "genuine" })
                #expect(found.map { $0.transactions.map(\.transactionId) } == sold.map { [$0.transactionId] })
                #expect(access.judge.transactions.inFlight == 0)
            }
        }
    }

    @Test("There is a bound on what is in flight: beyond it nothing is begun, and a batch keeps to it")
    func bound() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sell(count: 40)
            let submissions = sold.map { asked($0.transactionId) }
            try await stage.simulator.misbehave("{\"kind\":\"hang\"}")
            try await stage.withAccess(Setup(patience: .seconds(1), inFlightMaximum: 10)) { access in
                let reasons = await findings(submissions, access).map(\.reason)
                #expect(reasons.filter { $0 == "app_store_slow" }.count == 10)
                #expect(reasons.filter { $0 == "rate_limited" }.count == 30)
                #expect(access.judge.transactions.inFlight == 10)
            }
            try await stage.simulator.misbehave("{\"kind\":\"latency\",\"ms\":50}")
            try await stage.withAccess(Setup(inFlightMaximum: 10)) { access in
                let batch = JudgeLookups(
                    judge: access.judge, proofs: ProofReader(pool: nil, logger: Stage.quiet), inFlightMaximum: 10)
                #expect(await batch.findings(for: submissions).map(\.name) == sold.map { _ in "genuine" })
            }
        }
    }

    @Test("Accounts share what Apple allows: one id is answered beside eighty that somebody invents")
    func fair() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sellOne()
            let invented = (0..<80).map { number in
                SubmissionFixture.make(
                    .transactionId, "\(7_000_000_000_000_000 + number)", account: "flood", isAwaited: true)
            }
            let honest = SubmissionFixture.make(
                .transactionId, sold.transactionId, account: "honest", isAwaited: true)
            let setup = Setup(patience: .seconds(4), rates: AppStoreRates(perSecond: 5, share: 1))
            try await stage.withAccess(setup) { access in
                let found = await findings(invented + [honest], access)
                #expect(found.last?.name == "genuine")
                #expect(found.dropLast().contains { $0.reason == "rate_limited" }, "there was more than Apple allows")
                #expect(access.judge.priority(honest) == .player)
            }
        }
    }

    @Test("Whoever names unknown ids again and again is no player who waits")
    func unknownIds() {
        let start = ContinuousClock.now
        let unknown = UnknownIds(now: start)
        let flood = SubmissionFixture.make(.transactionId, "1", account: "flood", isAwaited: true)
        let honest = SubmissionFixture.make(.transactionId, "1", account: "honest", isAwaited: true)
        for _ in 0..<UnknownIds.mistakesMaximum { unknown.note(flood, now: start) }
        #expect(!unknown.areMany(of: flood, now: start), "so many may be mistakes")
        unknown.note(flood, now: start + .seconds(300))
        #expect(unknown.areMany(of: flood, now: start + .seconds(300)))
        #expect(!unknown.areMany(of: honest, now: start + .seconds(300)))
        #expect(unknown.areMany(of: flood, now: start + .seconds(900)))
        #expect(!unknown.areMany(of: flood, now: start + .seconds(1_800)), "it is forgiven")
    }

    @Test("What is late goes on, is remembered, and costs nothing the next time")
    func late() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sellOne()
            try await stage.simulator.misbehave(Self.slow)
            try await stage.withAccess(Setup(patience: .milliseconds(50))) { access in
                let submission = asked(sold.transactionId)
                let first = await access.judge.finding(for: submission, proof: submission.proof)
                #expect(first.reason == "app_store_slow")
                let app = try #require(access.judge.offline.apps[SubmissionFixture.app])
                let question = TransactionQuestion(
                    transactionId: sold.transactionId, environments: [.production, .sandbox])
                // Joins the flight, and so waits for its end.
                _ = await access.judge.transactions.find(
                    question, for: access.judge.asker(submission, of: app), within: .seconds(20))
                let second = await access.judge.finding(for: submission, proof: submission.proof)
                #expect(second.name == "genuine")
            }
            #expect(try await stage.simulator.requestsSeen() == 1)
        }
    }

    @Test("What was found is remembered; what was not is asked again")
    func remembered() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sellOne()
            let submission = asked(sold.transactionId)
            try await stage.withAccess { access in
                try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":404,\"errorCode\":4040010}")
                let missing = await access.judge.finding(for: submission, proof: submission.proof)
                #expect(missing.reason == "transaction_not_found")
                try await stage.simulator.misbehave("{\"kind\":\"latency\",\"ms\":1}")
                for _ in 0..<5 {
                    #expect(await access.judge.finding(for: submission, proof: submission.proof).name == "genuine")
                }
                #expect(try await stage.simulator.requestsSeen() == 1)
            }
        }
    }

    @Test("An app that was built for the sandbox is looked for there first, and in production then")
    func hint() async throws {
        try await Stage.run { stage in
            let test = try await stage.simulator.sellOne(environment: .sandbox)
            let real = try await stage.simulator.sellOne()
            try await stage.withAccess { access in
                try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":503}", in: .production)
                let hinted = asked(test.transactionId, expected: .sandbox)
                #expect(await access.judge.finding(for: hinted, proof: hinted.proof).name == "genuine")
                #expect(try await stage.simulator.requestsSeen() == 0)
                try await stage.simulator.behave()
                let wrong = asked(real.transactionId, expected: .sandbox)
                let finding = await access.judge.finding(for: wrong, proof: wrong.proof)
                #expect(finding.transactions.map(\.environment) == [.production])
            }
        }
    }

    @Test("A 401 for a released app leads nowhere else: it is a matter of settings")
    func unauthorized() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sellOne(environment: .sandbox)
            try await stage.simulator.control(
                .PUT, "faults",
                """
                {"rules":[{"match":{"environment":"Sandbox"},"fault":{"kind":"latency","ms":1}},
                {"match":{"environment":"Production"},"fault":{"kind":"status","status":401}}]}
                """)
            #expect(try await stage.finding(asked(sold.transactionId)).reason == "app_store_unauthorized")
            #expect(try await stage.simulator.requestsSeen() == 0)
        }
    }

    @Test("At shutdown, what flies is ended, and whoever waits for it gets an unknown", .timeLimit(.minutes(2)))
    func shutdown() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sellOne()
            try await stage.simulator.misbehave("{\"kind\":\"hang\"}")
            try await stage.withAccess(Setup(patience: .seconds(60))) { access in
                let waiting = Task { await findings([asked(sold.transactionId)], access) }
                while try await stage.simulator.requestsSeen() == 0 {
                    // The request arrives in another process, which rings no bell.
                    try await Task.sleep(for: .milliseconds(10))
                }
                await access.close()
                #expect(await waiting.value.map(\.name) == ["unknown"])
                #expect(access.judge.transactions.inFlight == 0)
            }
        }
    }

    @Test(
        "An outage pauses, its end resumes whatever is asked, and nothing that is genuine was refused",
        .timeLimit(.minutes(2)))
    func outage() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sell(count: 30)
            var breaker = CircuitBreaker.Settings(samplesMinimum: 5)
            breaker.probeDelay = .milliseconds(20)
            breaker.probeDelayMaximum = .milliseconds(100)
            let (changes, change) = AsyncStream<Bool>.makeStream()
            try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":503}")
            try await stage.withAccess(Setup(breaker: breaker), onOutage: { change.yield($0) }) { access in
                let prober = OutageProber(pace: access.pace)
                let running = Task { try await prober.run() }
                let submissions = sold.map { asked($0.transactionId) }
                let during = await findings(submissions, access)
                #expect(during.allSatisfy { $0.reason == "app_store_unavailable" })
                var told = changes.makeAsyncIterator()
                #expect(await told.next() == true)
                prober.wake()
                // Apple is back; for one purchase it never is.
                let path = "/inApps/v1/transactions/\(sold[0].transactionId)"
                try await stage.simulator.control(
                    .PUT, "faults",
                    "{\"rules\":[{\"match\":{\"path\":\"\(path)\"},\"fault\":{\"kind\":\"status\",\"status\":500}}]}")
                #expect(await told.next() == false)
                let names = await findings(submissions, access).map(\.name)
                #expect(names == ["unknown"] + sold.dropFirst().map { _ in "genuine" })
                #expect(!access.pace.isOut)
                running.cancel()
                try await running.value
            }
        }
    }

    @Test("At 50 % errors, all that is genuine is found in the end, and the breaker stays closed")
    func halfErrors() async throws {
        try await Stage.run { stage in
            let sold = try await stage.simulator.sell(count: 60)
            try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":500}", share: 0.5)
            // All fly at once, and errors come back sooner than signatures: the first answers alone are no sample.
            let breaker = CircuitBreaker.Settings(samplesMinimum: sold.count)
            try await stage.withAccess(Setup(breaker: breaker)) { access in
                var open = sold.map { asked($0.transactionId) }
                var rounds = 0
                while !open.isEmpty, rounds < 50 {
                    let found = await findings(open, access)
                    #expect(found.allSatisfy { $0.name != "rejected" })
                    open = zip(open, found).filter { $0.1.name == "unknown" }.map(\.0)
                    rounds += 1
                    #expect(!access.pace.isOut)
                }
                #expect(open.isEmpty)
            }
        }
    }
}
