import ArgumentParser
import Foundation
import Persistence
import Postgres

extension WaitingStore.Kind: ExpressibleByArgument {}

/// `countersign queue`: what is to be done and is not done yet.
struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Shows what waits: submissions, events, webhooks, questions to Apple; and sends some of it now.",
        subcommands: [List.self, Run.self], defaultSubcommand: List.self)

    /// `countersign queue list`.
    struct List: DatabaseLook {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Counts what waits, by kind and reason; for one kind it lists the rows that are due first.",
            discussion: """
                In a healthy installation most rows are some seconds old. At most 10,000 rows of a kind are counted: \
                that number means "at least".
                """)

        @Argument(
            help: "One kind: submissions, events, deliveries, sweep, apple_calls, forwards, claims or forgetting.")
        var kind: WaitingStore.Kind?
        @Option(help: "The most rows of one kind, those first that are due first.") var limit = 20
        @OptionGroup var printing: PrintingOptions

        func validate() throws {
            guard (1...10_000).contains(limit) else { throw ValidationError("--limit is from 1 to 10000") }
        }

        /// Not inlined, since the optimizer crashes on throwing async calls in a loop in a closure.
        @inline(never)
        func look(_ pool: PostgresPool) async throws -> QueueReport {
            let store = WaitingStore(pool: pool)
            var groups: [WaitingStore.Group] = []
            for each in kind.map({ [$0] }) ?? WaitingStore.Kind.allCases { groups += try await store.groups(each) }
            guard let kind else { return QueueReport(groups: groups, rows: nil) }
            return QueueReport(groups: groups, rows: try await store.rows(kind, limit: limit))
        }

        func text(_ report: QueueReport) -> String { report.text }
    }

    /// What may be tried before its time.
    enum Hastened: String, ExpressibleByArgument, CaseIterable {
        case submissions, events
    }

    /// `countersign queue run`.
    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "run",
            abstract:
                "Sends delayed submissions or events now, and records who asked for it and why.",
            discussion: """
                After a repair everything is sent again when it is due. Use this command for rows that were delayed \
                for long. Nothing is granted or sent twice because of it. For webhooks: `countersign webhooks resend \
                --state pending`.
                """)

        @Argument(help: "submissions or events.") var kind: Hastened
        @Argument(help: "Their ids; all that wait without them.") var ids: [String] = []
        @Option(help: "The most of them.") var limit = 1_000
        @OptionGroup var audit: AuditOptions
        @OptionGroup var printing: PrintingOptions

        func validate() throws {
            guard (1...10_000).contains(limit) else { throw ValidationError("--limit is from 1 to 10000") }
        }

        func run() async throws {
            try await failingPlainly {
                let command = self
                let hastened = try await ToolSettings.load().withDatabase { pool in try await command.hasten(pool) }
                try printing.answer(
                    ["hastened": hastened],
                    (hastened + ["\(hastened.count) are sent within seconds"]).joined(separator: "\n"))
                let rest = Set(ids).subtracting(hastened).sorted()
                guard rest.isEmpty else {
                    throw ToolFailure("unknown, or due already, left alone: \(rest.joined(separator: " "))")
                }
            }
        }

        @inline(never)
        private func hasten(_ pool: PostgresPool) async throws -> [String] {
            let (actor, reason) = (audit.who, audit.reason)
            switch kind {
            case .submissions:
                return try await SubmissionStore(pool: pool).hasten(ids, limit: limit, reason: reason, actor: actor)
            case .events:
                return try await EventStore(pool: pool).hasten(ids, limit: limit, reason: reason, actor: actor)
            }
        }
    }
}

/// What waits, for people and programs.
struct QueueReport: Encodable, Sendable {
    let groups: [WaitingStore.Group]
    /// Of one kind; nil where none was named.
    let rows: [WaitingStore.Row]?

    var text: String {
        guard !groups.isEmpty else { return "nothing waits" }
        let head = ["WHAT", "COUNT", "DUE", "OLDEST", "REASON"]
        let table =
            [head]
            + groups.map { group in
                let most = group.count >= WaitingStore.countMaximum ? "+" : ""
                return [
                    group.kind.rawValue, "\(group.count)\(most)", "\(group.due)\(most)",
                    ToolOutput.age(group.oldestSeconds),
                    group.reason,
                ]
            }
        var lines = [ToolOutput.table(table, rightAligned: [1, 2, 3])]
        guard let rows, !rows.isEmpty else { return lines[0] }
        let details = rows.map { row in
            [
                row.id, row.app ?? "-", "\(row.attempts)", row.since.formatted(.iso8601), row.dueAt.formatted(.iso8601),
                row.reason,
            ]
        }
        lines += [
            "", ToolOutput.table([["ID", "APP", "ATTEMPTS", "SINCE", "DUE", "REASON"]] + details, rightAligned: [2]),
        ]
        return lines.joined(separator: "\n")
    }
}
