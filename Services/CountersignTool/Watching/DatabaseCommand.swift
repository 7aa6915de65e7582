import ArgumentParser
import Foundation
import Persistence
import Postgres

/// `countersign database`: what the database server is doing.
struct DatabaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "database",
        abstract: "Shows the database server's activity: connections, who blocks whom, partitions.",
        discussion: """
            Use it if the services wait for the database. Sessions of other users are visible to members of \
            pg_read_all_stats and to the server's owner.
            """)

    @Option(help: "Seconds from which an open transaction is listed.") var olderThan = 10.0
    @Option(help: "The most transactions, the oldest first.") var limit = 20
    @OptionGroup var printing: PrintingOptions

    func validate() throws {
        guard (0...1e6).contains(olderThan) else { throw ValidationError("--older-than is from 0 to 1000000 seconds") }
        guard (1...1_000).contains(limit) else { throw ValidationError("--limit is from 1 to 1000") }
    }

    func run() async throws {
        try await failingPlainly {
            let (age, limit) = (Duration.seconds(olderThan), limit)
            let report = try await ToolSettings.load().withAnySchema { pool in
                try await Self.report(ServerActivityStore(pool: pool), olderThan: age, limit: limit)
            }
            try printing.answer(report, report.text)
        }
    }

    @inline(never)
    private static func report(
        _ store: ServerActivityStore, olderThan age: Duration, limit: Int
    ) async throws -> DatabaseReport {
        let server = try await store.server()
        let months = server.schemaVersion > 0 ? try await store.months() : []
        return DatabaseReport(
            server: server, sessions: try await store.sessions(),
            transactions: try await store.transactions(olderThan: age, limit: limit), months: months)
    }
}

/// What the server is doing, for people and programs.
struct DatabaseReport: Encodable, Sendable {
    let server: ServerActivityStore.Server
    let sessions: [ServerActivityStore.Sessions]
    let transactions: [ServerActivityStore.Transaction]
    let months: [ServerActivityStore.Months]

    var text: String {
        let up = ToolOutput.age(Date().timeIntervalSince(server.startedAt))
        let version =
            server.schemaVersion == Migrator.newestVersion
            ? "schema \(server.schemaVersion)"
            : "schema \(server.schemaVersion), and this program knows \(Migrator.newestVersion)"
        var lines = [
            "PostgreSQL \(server.version), \(server.standby ? "A STANDBY" : "primary"), up for \(up)",
            "database \(server.database) as \(server.user), \(server.databaseBytes >> 20) MiB, \(version)",
            "\(server.connections) of \(server.connectionsMaximum) connections",
        ]
        if !server.seesAllSessions {
            lines.append("what other users' sessions are at is hidden: it needs the right pg_read_all_stats")
        }
        if !sessions.isEmpty {
            let rows = sessions.map {
                [$0.application, $0.state, $0.waitsFor ?? "-", "\($0.count)", ToolOutput.age($0.longestSeconds)]
            }
            lines += [
                "",
                ToolOutput.table(
                    [["PROGRAM", "STATE", "WAITS FOR", "COUNT", "LONGEST"]] + rows, rightAligned: [3, 4]),
            ]
        }
        lines.append("")
        if transactions.isEmpty {
            lines.append(
                server.seesAllSessions
                    ? "no transaction is open for long, and none waits for a lock"
                    : "nothing is known of other users' transactions")
        } else {
            let rows = transactions.map { transaction in
                [
                    "\(transaction.pid)", transaction.application, transaction.state,
                    ToolOutput.age(transaction.seconds),
                    transaction.blockedBy.isEmpty ? "-" : transaction.blockedBy.map { "\($0)" }.joined(separator: ","),
                    transaction.statement,
                ]
            }
            lines.append(
                ToolOutput.table(
                    [["PID", "PROGRAM", "STATE", "OPEN FOR", "BLOCKED BY", "STATEMENT"]] + rows, rightAligned: [0, 3]))
        }
        if !months.isEmpty {
            lines.append("")
            lines += months.map {
                "\($0.table): months are made until \($0.endsAt.formatted(.iso8601.year().month().day()))"
            }
        }
        return lines.joined(separator: "\n")
    }
}
