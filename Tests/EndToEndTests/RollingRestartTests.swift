import Foundation
import Messages
import Postgres
import Testing

/// How long a purchase may take from its first post to its outcome while consumers come and go.
///
/// A group's members learn of a rebalance with their next heartbeat; the broker begins one without delay
/// (`group.initial.rebalance.delay.ms=0`). A stall lasts for ever, and what is lost is sent again after a minute
/// (`lease`), so each bound is well below either.
private enum Bound {
    /// Starting a process, fetching, working off what has waited: milliseconds, but on two cores that do all else, too.
    static let noise = Duration.seconds(7)
    /// A restart is two rebalances: the member leaves, and comes back.
    static let restart = StackTimes.heartbeat * 2 + noise
    /// A member that dies is missed when its session ends; then its partitions are given to the others.
    static let death = StackTimes.session + StackTimes.heartbeat + noise
    /// Further partitions may have records before the consumers, which look every 3 s, know of them.
    static let growth = Duration.seconds(3) + restart
    /// After how long what has no outcome is sent again.
    static let lease = Duration.seconds(60)
}

extension EndToEnd {
    /// Consumers come, go and die under load; nobody waits longer for it than a stated time.
    @Suite("Rolling restarts")
    struct RollingRestartTests {
        static let workers = ["verification-worker-1", "verification-worker-2"]

        /// Rounds of restarts, without load and again with it; each takes half a minute.
        static let rounds = roundsAsked ?? 2
        /// How many somebody wants.
        static let roundsAsked =
            ProcessInfo.processInfo.environment["COUNTERSIGN_RESTART_ROUNDS"].flatMap { Int($0) }

        @Test(
            "both workers are restarted, one after the other, and one dies: nothing lost, nothing slow",
            .enabled(if: Broker.kafka.isAvailable, Broker.kafka.skipped), .timeLimit(.minutes(30)))
        func workersRestart() async throws {
            try await withStack(on: .kafka, times: StackTimes(submissionLease: Bound.lease)) { stack, _, database in
                var sold: [Load.Report.Purchase] = []
                for round in 1...Self.rounds {
                    for worker in Self.workers { try await stack.command(["restart", worker]) }
                    let idle = try await Load(stack).run(Self.waiting + ["--count", "48"])
                    expectOutcomes(idle, within: Bound.restart, "round \(round), restarted without load")
                    let busy = try await underLoad(stack, seconds: 15) {
                        for worker in Self.workers {
                            #expect(try await database.grantsMore(20), "\(worker) stops at work")
                            try await stack.command(["restart", worker])
                        }
                    }
                    expectOutcomes(busy, within: Bound.restart, "round \(round), restarted under load")
                    sold += idle.purchases + busy.purchases
                }
                let orphaned = try await underLoad(stack, seconds: 15) {
                    #expect(try await database.grantsMore(20), "it dies at work")
                    // It stays dead, or the measure would be of its return.
                    try await stack.command(["kill", Self.workers[0]])
                }
                expectOutcomes(orphaned, within: Bound.death, "a worker was killed under load")
                try await stack.command(["start", Self.workers[0]])
                sold += orphaned.purchases
                try await Ledger(database, stack).expectExactlyOnce(Load.Report(purchases: sold))
            }
        }

        @Test(
            "every service is restarted, workers are scaled 1, 4, 1, a topic grows: nothing lost, nothing slow",
            .enabled(if: Broker.kafka.isAvailable, Broker.kafka.skipped), .timeLimit(.minutes(10)))
        func everythingMoves() async throws {
            let times = StackTimes(submissionLease: Bound.lease)
            try await withStack(on: .kafka, times: times) { stack, client, database in
                let report = try await underLoad(stack, seconds: 75) {
                    for name in ["notification", "fulfillment"] + Self.workers + ["receipt-intake"] {
                        try await stack.command(["restart", name])
                        #expect(try await database.grantsMore(20), "after the restart of \(name)")
                    }
                    try await scale(stack, client, database)
                    try await grow(stack, client, database)
                }
                // Intake was restarted, and with it what waited there: the time until the outcome is the database's.
                let ids = report.purchases.compactMap(\.submissionId)
                #expect(ids.count == report.purchases.count)
                let slowest = try await database.number(
                    """
                    SELECT (max(extract(epoch FROM settled_at - received_at)) * 1000)::int8 AS n
                    FROM submissions WHERE id = ANY($1)
                    """, [.textArray(ids)])
                print("everything restarted, scaled and grown: the slowest of \(ids.count) took \(slowest) ms")
                #expect(Duration.milliseconds(slowest) < Bound.growth)
                try await Ledger(database, stack).expectExactlyOnce(report)
            }
        }

        /// What a player's app does that waits for its outcome, so that the time until then is known to it.
        static let waiting = ["--concurrency", "512", "--wait", "30", "--settle-timeout", "120"]
        /// Purchases a second.
        private static let rate = 40

        /// Loads the stack for some seconds, and meanwhile runs a body.
        private func underLoad(
            _ stack: Stack, seconds: Int, _ body: () async throws -> Void
        ) async throws -> Load.Report {
            let count = seconds * Self.rate
            async let report = Load(stack).run(Self.waiting + ["--count", "\(count)", "--rate", "\(Self.rate)"])
            try await body()
            let finished = try await report
            #expect(finished.purchases.count == count)
            return finished
        }

        private func expectOutcomes(_ report: Load.Report, within bound: Duration, _ what: String) {
            let times = report.purchases.compactMap(\.outcomeMilliseconds).sorted()
            #expect(times.count == report.purchases.count, "purchases with an outcome; \(what)")
            guard let slowest = times.last else { return }
            let median = Int(times[times.count / 2])
            print("\(what): the slowest of \(times.count) took \(Int(slowest)) ms, the median \(median) ms")
            #expect(Duration.milliseconds(slowest) < bound, "\(what)")
        }

        /// One worker, four, one again, and two as before.
        private func scale(_ stack: Stack, _ client: IntakeClient, _ database: Database) async throws {
            try await stack.command(["stop", Self.workers[1]])
            #expect(try await database.grantsMore(20), "with one worker")
            let went = try await FurtherProcess.run(3, of: "verification-worker", stack, client) { further in
                let first = try AdminPort(client, stack, Self.workers[0])
                let made = try #require(Topics.partitionsByDefault.first { $0.name == Topics.submissions })
                try await expectAssigned(made.partitions, further.map(\.admin) + [first])
                #expect(try await database.grantsMore(20), "with four workers")
            }
            #expect(went, "all of them left by themselves")
            #expect(try await database.grantsMore(20), "with one worker again")
            try await stack.command(["start", Self.workers[1]])
        }

        /// More than any topic has.
        private func grow(_ stack: Stack, _ client: IntakeClient, _ database: Database) async throws {
            let partitions = 18
            try await stack.command(["tool", "topics", "--partitions", "\(partitions)", "--grow"])
            let workers = try Self.workers.map { try AdminPort(client, stack, $0) }
            try await expectAssigned(partitions, workers)
            #expect(try await database.grantsMore(20), "after the topics grew")
            // A producer that is made anew knows the new partitions at once.
            try await stack.command(["restart", "receipt-intake"])
            #expect(try await database.grantsMore(20), "with records in the new partitions")
        }

        /// All partitions of the submissions are the workers', each of which has some.
        private func expectAssigned(_ partitions: Int, _ workers: [AdminPort]) async throws {
            let name = "countersign_consumer_assigned_partitions"
            let deadline = ContinuousClock.now + .seconds(30)
            var shares: [Int] = []
            repeat {
                shares = []
                for worker in workers {
                    shares.append(Int(try await worker.metric(name, topic: Topics.submissions) ?? 0))
                }
                if shares.reduce(0, +) == partitions, shares.allSatisfy({ $0 > 0 }) { return }
                // Nothing signals the end of a rebalance in other processes.
                try await Task.sleep(for: .milliseconds(200))
            } while ContinuousClock.now < deadline
            Issue.record("the workers have \(shares) of \(partitions) partitions")
        }
    }
}
