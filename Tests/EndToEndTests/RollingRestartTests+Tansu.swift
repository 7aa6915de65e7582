import Foundation
import Messages
import Postgres
import ProcessTesting
import Testing

extension EndToEnd.RollingRestartTests {
    /// Within what time a stall is seen: by readiness, by the metric and by `countersign doctor`.
    private static let seenWithin = Duration.seconds(30)
    /// Within what time a client that stalls has been replaced once.
    private static let replacedWithin = Duration.seconds(120)
    /// With librdkafka 2.8 most rounds of restarts stalled the broker, with 2.14.2 none did; so many are tried.
    private static let attempts = roundsAsked ?? 1

    /// How long a worker that was restarted may take until it is ready; in a group that stalls it never is.
    private static let readyWithin = Duration.seconds(10)

    /// What is seen of a stall from outside.
    private struct Sight {
        var readiness: String?
        var metric = false
        var doctor: String?

        var isComplete: Bool { readiness != nil && metric && doctor != nil }
    }

    @Test(
        "both workers are restarted on a broker whose groups stall: the stall is seen, and the client replaced",
        .enabled(if: Broker.tansu.isAvailable, Broker.tansu.skipped), .timeLimit(.minutes(10)))
    func stallIsSeen() async throws {
        try await withStack(on: .tansu) { stack, client, database in
            let workers = try Self.workers.map { try AdminPort(client, stack, $0) }
            for attempt in 1...Self.attempts {
                let starts = try await restart(stack, client)
                let began = ContinuousClock.now
                let ids = try await post(client, "stalled-\(attempt)")
                let sight = try await look(stack, workers, database, ids)
                guard let sight else {
                    print("attempt \(attempt): no stall, \(ids.count) purchases have their outcome")
                    for start in starts { await start.value }
                    continue
                }
                print("attempt \(attempt): a stall, looked at for \(began.duration(to: .now)): \(sight)")
                #expect(sight.readiness != nil, "a worker is not ready, and says why")
                #expect(sight.metric, "countersign_consumer_stalled is 1")
                #expect(sight.doctor != nil, "countersign doctor says WRONG of the group")
                #expect(try await isReplaced(workers), "the client was replaced")
                // The starts still wait for readiness.
                for worker in Self.workers { try await stack.command(["kill", worker]) }
                for start in starts { await start.value }
                return
            }
            print("NO STALL in \(Self.attempts) rounds of restarts: nothing was shown of how one is seen")
        }
    }

    /// Restarts both workers, one after the other, without insisting on their readiness.
    ///
    /// - Returns: the starts, which end when the worker is ready or has been killed.
    private func restart(_ stack: Stack, _ client: IntakeClient) async throws -> [Task<Void, Never>] {
        var starts: [Task<Void, Never>] = []
        for name in Self.workers {
            try await stack.command(["stop", name])
            var start = stack.program(["start", name])
            // A worker that is not ready in this time is killed by the script; the test is over by then.
            start.environment["COUNTERSIGN_STACK_START_TIMEOUT"] = "600"
            starts.append(Task { [start] in _ = try? await start.run() })
            // Not ready in time is what may come of it.
            try? await AdminPort(client, stack, name).waitUntilReady(within: Self.readyWithin)
        }
        return starts
    }

    /// Posts as many purchases as reach most partitions, without waiting for outcomes.
    private func post(_ client: IntakeClient, _ account: String) async throws -> [String] {
        let sales = try await client.sell(
            ["bundleId": "com.example.game", "productId": "gems.100", "type": "Consumable"], count: 48)
        var ids: [String] = []
        for sale in sales {
            ids.append(
                try await client.accepted([
                    "app": "com.example.game", "account": account, "signed_transaction": sale.signedTransaction,
                ]))
        }
        return ids
    }

    /// Looks until everything shows the stall, or the time is up; nil when the purchases have outcomes, so there is none.
    private func look(
        _ stack: Stack, _ workers: [AdminPort], _ database: Database, _ ids: [String]
    ) async throws -> Sight? {
        var sight = Sight()
        let deadline = ContinuousClock.now + Self.seenWithin
        while ContinuousClock.now < deadline, !sight.isComplete {
            let open = try await database.number(
                "SELECT count(*) AS n FROM submissions WHERE id = ANY($1) AND state = 'received'", [.textArray(ids)])
            if open == 0 { return nil }
            for worker in workers {
                let (isReady, text) = await worker.readiness()
                if !isReady, sight.readiness == nil { sight.readiness = text }
                if try await worker.metric("countersign_consumer_stalled", topic: Topics.submissions) ?? 0 > 0 {
                    sight.metric = true
                }
            }
            if sight.doctor == nil { sight.doctor = try await doctor(stack) }
            // A stall is the absence of signals: it can only be looked for.
            try await Task.sleep(for: .milliseconds(500))
        }
        return sight
    }

    /// What the doctor finds wrong with the workers' group; nil where it finds nothing.
    private func doctor(_ stack: Stack) async throws -> String? {
        struct Finding: Decodable {
            let level: String
            let subject: String
            let detail: String
        }
        // By default only what is unread for a minute is wrong; until then it is a warning.
        let said = try await stack.built("countersign", ["doctor", "--json", "--no-consistency", "--grace", "10"]).run()
        let findings = try JSONDecoder().decode([Finding].self, from: Data(said.output.utf8))
        let group = "countersign.verification"
        return findings.first { finding in
            finding.level == "wrong" && (finding.subject + finding.detail).contains(group)
        }?.detail
    }

    /// Whether a worker's client is replaced in time.
    private func isReplaced(_ workers: [AdminPort]) async throws -> Bool {
        let deadline = ContinuousClock.now + Self.replacedWithin
        while ContinuousClock.now < deadline {
            for worker in workers {
                let name = "countersign_consumer_replacements_total"
                if try await worker.metric(name, topic: Topics.submissions) ?? 0 > 0 { return true }
            }
            // Nothing signals what happens in another process.
            try await Task.sleep(for: .milliseconds(500))
        }
        return false
    }
}
