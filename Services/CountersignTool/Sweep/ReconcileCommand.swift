import ArgumentParser
import Foundation
import Persistence
import Postgres

/// `countersign apple reconcile`: after a restore of the database, has everything asked that the backup lacks.
struct ReconcileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract:
            "After a restore of the database: asks Apple for everything since the backup, and waits for the result.",
        discussion: """
            --since is a time before the backup was made. Countersign compares each app's notifications since then, \
            and the history, refunds and subscriptions of every known customer. The workers do this; the command shows \
            their progress and the result. If you end the command, the work continues: --status shows it.
            """)

    private enum Pace {
        static let look = Duration.milliseconds(500)
        /// Seconds without any worker's doing anything, until a person is told.
        static let idle = 30.0
    }

    @Option(help: "A time before the backup was made: 2026-11-21, or 2026-11-21T10:00:00Z.") var since: String?
    @Option(help: "A bundle id; all apps without it.") var app: String?
    @Flag(help: "Reads histories from their beginning, and not from the mark that the database has.") var full = false
    @Flag(help: "Asks for nothing: looks at the newest reconciliation.") var status = false
    @Flag(inversion: .prefixedNo, help: "Waits until it is over.") var wait = true
    @Option(help: "Seconds to wait at most; then it goes on by itself.") var timeout = 86_400.0
    @Option(help: "Why, for the audit log.") var reason: String?
    @Option(help: "Who, for the audit log; the user of the session by default.") var actor: String?
    @Flag(help: "Prints the report as JSON; progress goes to standard error.") var json = false

    func validate() throws {
        guard status != (since != nil) else { throw ValidationError("name --since, or --status: exactly one of these") }
        guard status || reason?.allSatisfy(\.isWhitespace) == false else {
            throw ValidationError("--reason says why, in a sentence")
        }
        guard (0...1e9).contains(timeout) else { throw ValidationError("--timeout is from 0 to 1000000000 seconds") }
        if since != nil { _ = try sinceDate() }
    }

    func run() async throws {
        try await failingPlainly {
            let command = self
            let report = try await ToolSettings.load().withDatabase { pool in
                try await command.report(SweepRunStore(pool: pool), LostPurchasesStore(pool: pool))
            }
            print(json ? try ToolOutput.json(report) : report.text)
            guard report.isFinished || !wait || status else { throw ToolExit.underWay }
        }
    }

    @inline(never)
    private func report(_ store: SweepRunStore, _ lost: LostPurchasesStore) async throws -> ReconcileReport {
        var id: Int64?
        if !status {
            let begun = try await begin(store)
            id = begun.id
            say("reconciliation \(begun.id): \(begun.tasks) questions to Apple")
        }
        guard var run = try await store.run(id) else { throw ToolFailure("there is no reconciliation") }
        if wait { run = try await watch(run, store) }
        if run.waiting == 0, run.unsettled == 0 { try await store.finish(run.id) }
        let outcomes = try await store.outcomes(since: run.requestedAt)
        return ReconcileReport(run, outcomes, lost: try await lost.groups(LostPurchasesStore.Selection()))
    }

    private func begin(_ store: SweepRunStore) async throws -> (id: Int64, tasks: Int64) {
        do {
            return try await store.begin(
                since: try sinceDate(), app: app, isFull: full, actor: actor ?? ToolActor.sessionUser,
                reason: reason ?? "")
        } catch is SweepRunStore.NothingToAsk {
            throw ToolFailure(
                "no verification-worker has asked about \(app ?? "any app") by this database yet: start one with "
                    + "COUNTERSIGN_POSTGRES_URL, and repeat this")
        }
    }

    /// Looks until everything was asked and what was found has an outcome, or the time is over.
    private func watch(_ first: SweepRunStore.Run, _ store: SweepRunStore) async throws -> SweepRunStore.Run {
        let begun = ContinuousClock.now
        let deadline = begun + .seconds(timeout)
        var (run, told, isWarned) = (first, "", false)
        while run.waiting > 0 || run.unsettled > 0, ContinuousClock.now < deadline {
            try await Task.sleep(for: Pace.look)
            run = try await store.run(run.id) ?? run
            let line = Self.line(run)
            if line != told {
                told = line
                say(line)
            }
            if !run.isUnderWay, !isWarned, ContinuousClock.now - begun > .seconds(Pace.idle) {
                isWarned = true
                say("no worker has begun: does one run, with COUNTERSIGN_POSTGRES_URL and COUNTERSIGN_SWEEP=on?")
            }
        }
        return run
    }

    private static func line(_ run: SweepRunStore.Run) -> String {
        let failing = run.failing > 0 ? " (\(run.failing) put off: \(run.lastError ?? "-"))" : ""
        return
            "\(run.waiting) questions left\(failing), \(run.settled + run.unsettled) found, \(run.unsettled) of them under way"
    }

    private func say(_ line: String) {
        // Standard output is the report's alone.
        ToolOutput.note(line)
    }

    private func sinceDate() throws -> Date {
        guard let date = since.flatMap(WebhookSelection.time), date < Date() else {
            throw ValidationError("--since is a day or a time that is past: 2026-11-21, 2026-11-21T10:00:00Z")
        }
        return date
    }
}

/// What a reconciliation came to.
struct ReconcileReport: Encodable, Sendable {
    struct Outcome: Encodable, Sendable {
        let environment: String
        let state: String
        let reason: String?
        let count: Int64
    }

    let id: Int64
    let since: String
    /// Whether everything was asked, and what was found has an outcome.
    let isFinished: Bool
    let questionsLeft: Int64
    let found: Int64
    let withoutOutcome: Int64
    let outcomes: [Outcome]
    /// What is paid and not delivered now, in production and for longer than a minute.
    let lost: Int64

    enum CodingKeys: String, CodingKey {
        case id, since, questionsLeft, found, withoutOutcome, outcomes, lost
        case isFinished = "finished"
    }

    init(_ run: SweepRunStore.Run, _ outcomes: [SweepRunStore.Outcome], lost: [LostPurchasesStore.Group]) {
        id = run.id
        since = run.since.ISO8601Format()
        isFinished = run.waiting == 0 && run.unsettled == 0
        questionsLeft = run.waiting
        found = run.settled + run.unsettled
        withoutOutcome = run.unsettled
        self.outcomes = outcomes.map {
            Outcome(environment: $0.environment, state: $0.state, reason: $0.reason, count: $0.count)
        }
        self.lost = lost.filter { $0.environment != "sandbox" }.reduce(0) { $0 + $1.count }
    }

    /// As a person reads it.
    var text: String {
        var lines = [
            isFinished
                ? "reconciliation \(id) since \(since) is over: \(found) found that the books lacked"
                : "reconciliation \(id) since \(since) goes on: \(questionsLeft) questions left, \(found) found so far, "
                    + "\(withoutOutcome) without an outcome; `countersign apple reconcile --status` looks again"
        ]
        for outcome in outcomes {
            let what =
                outcome.state == "none" ? "notifications about no purchase, or under way" : "purchases \(outcome.state)"
            lines.append("  \(outcome.environment): \(outcome.count) \(what)\(outcome.reason.map { ", \($0)" } ?? "")")
        }
        lines.append(
            lost == 0
                ? "nothing is paid and not delivered"
                : "\(lost) paid and not delivered: `countersign undelivered` lists them with what to do")
        return lines.joined(separator: "\n")
    }
}
