import ArgumentParser
import Persistence
import Postgres
import PurchaseModel

/// `countersign forget`: an account's name becomes a pseudonym in every table.
struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Replaces an account's name by a pseudonym in every table; without --yes it only shows the data.",
        discussion: """
            Without --yes it only shows the data. Fulfillment does the work, and the audit log records who asked and \
            why. Tokens, intents and proofs are removed; sums stay. It cannot be undone. Close the account in the game \
            first: later purchases belong to a new account.
            """)

    private enum Pace {
        /// Between looks of the tool's own.
        static let pause = Duration.milliseconds(250)
    }

    @Argument(help: "The account: 1 to 255 printable characters.") var account: Account
    @Option(help: "The app's bundle id.") var app: String
    @Option(help: "Why, for the audit log.") var reason = "asked for"
    @Option(help: "Who, for the audit log; the user of the session by default.") var actor: String?
    @Flag(help: "Does it.") var yes = false
    @Option(help: "Seconds to wait for fulfillment.") var wait = 60.0
    @OptionGroup var printing: PrintingOptions

    /// What there is, and what became of it, for programs.
    struct Report: Encodable, Sendable {
        /// Rows that there were, by table.
        let found: [String: Int64]
        /// Nil where nothing was asked for.
        let requestId: String?
        let isFinished: Bool
        let waitsFor: String?
        /// Rows that were changed or removed, by table.
        let changed: [String: Int64]

        enum CodingKeys: String, CodingKey {
            case found, requestId, waitsFor, changed
            case isFinished = "finished"
        }
    }

    func validate() throws {
        guard !app.isEmpty else { throw ValidationError("--app must be named") }
        guard !reason.allSatisfy(\.isWhitespace) else { throw ValidationError("--reason says why, in a sentence") }
        guard (0...86_400).contains(wait) else { throw ValidationError("--wait is from 0 to 86400 seconds") }
    }

    func run() async throws {
        try await failingPlainly {
            let (app, account) = (app, account)
            let isAsked = yes
            let (actor, reason, wait) = (actor ?? ToolActor.sessionUser, reason, Duration.seconds(wait))
            let isJSON = printing.json
            let report = try await ToolSettings.load().withDatabase { pool in
                let counts = try await AccountExport(pool: pool, app: app, account: account).counts()
                let found = Dictionary(counts.map { ($0.table, $0.count) }, uniquingKeysWith: +)
                if !isJSON { for count in counts { print("\(ToolOutput.padded(count.table, 20)) \(count.count)") } }
                guard isAsked else {
                    guard !counts.isEmpty else { throw Self.unknown(account, app) }
                    return Report(found: found, requestId: nil, isFinished: false, waitsFor: nil, changed: [:])
                }
                // What is left of a request that was not finished may be in no list of an export.
                let status = try await ForgetRequestStore(pool: pool).ask(
                    app: app, account: account, actor: actor, reason: reason)
                let ended = try await Self.ended(status, app: app, within: wait, pool: pool)
                return Report(
                    found: found, requestId: ended.id, isFinished: ended.finishedAt != nil, waitsFor: ended.waitsFor,
                    changed: ended.changed)
            }
            if isJSON || report.isFinished || !isAsked {
                try ToolOutput.answer(report, json: isJSON, Self.text(report))
            }
            if isAsked, !report.isFinished { throw Self.unfinished(report) }
        }
    }

    private static func unfinished(_ report: Report) -> ToolFailure {
        ToolFailure(
            "\(report.requestId ?? "") is not finished"
                + (report.waitsFor.map { ", it waits for \($0)" } ?? ": is fulfillment running?")
                + "; the request stays, and the same command asks how far it is", exitCode: ToolExit.underWay)
    }

    static func unknown(_ account: Account, _ app: String) -> ToolFailure {
        ToolFailure("nothing is known of \(account.text) in \(app)")
    }

    /// What was changed, a line a table.
    static func text(_ report: Report) -> String {
        guard let id = report.requestId else {
            return "nothing is changed; --yes replaces the name in these rows, and in what follows from them"
        }
        let lines = report.changed.sorted { $0.key < $1.key }.map {
            "\(ToolOutput.padded($0.key, 20)) \($0.value) changed"
        }
        return (lines + ["\(id) is finished: nothing names the account any more"]).joined(separator: "\n")
    }

    /// Looks until it is finished, or the time is over.
    @inline(never)
    private static func ended(
        _ first: ForgetRequestStore.Status, app: String, within time: Duration, pool: PostgresPool
    ) async throws -> ForgetRequestStore.Status {
        let deadline = ContinuousClock.now + time
        let store = ForgetRequestStore(pool: pool)
        var status = first
        while status.finishedAt == nil, ContinuousClock.now < deadline {
            try await Task.sleep(for: Pace.pause)
            status = try await store.find(first.id, app: app) ?? status
        }
        return status
    }
}
