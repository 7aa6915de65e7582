import Foundation
import Persistence
import PersistenceTesting
import Postgres
import Testing

@testable import CountersignTool

/// The exit codes of the README, tried: 0 done, 1 failed, 2 found something, 3 under way, 64 usage.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing))
struct ExitCodeTests {
    private func execute(_ script: String, in pool: PostgresPool) async throws {
        try await pool.withConnection { try await $0.executeScript(script) }
    }

    /// Commands that only look, on an empty database: all is well, and what they print is JSON and nothing else.
    static let looks: [[String]] = [
        ["undelivered"], ["books", "check"], ["books", "check", "--rules"], ["apple", "notifications", "list"],
        [
            "revenue", "--from",
            "2026-01-01", "--to", "2026-01-02",
        ], ["rates", "list"], ["cut-over", "list"], ["import", "report"], ["queue"],
        ["queue", "events"], ["database"], ["audit-log"], ["certificates", "list"], ["certificates", "chains"],
        ["webhooks", "deliveries"], ["apple", "notifications", "replay"], ["migrate"],
        ["submissions", "retry", "--parked", "--reason", "r"], ["queue", "run", "events", "--reason", "r"],
        ["topics", "--acls"],
    ]

    @Test("what looks and finds nothing ends with 0, and prints nothing but JSON on request")
    func good() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            for arguments in Self.looks {
                let ended = try await tool.run(arguments + ["--json"])
                #expect(ended.status == 0, "\(arguments): \(ended.errors)")
                #expect(
                    (try? JSONSerialization.jsonObject(with: Data(ended.output.utf8))) != nil,
                    "\(arguments): \(ended.output)")
                #expect(try await tool.run(arguments).status == 0, "\(arguments)")
            }
        }
    }

    @Test("what acts prints what it did as JSON")
    func acts() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let commands = [
                ["adjust", "--app", "a", "--account", "alice", "--item", "gem=+5", "--reason", "r"],
                ["cut-over", "set", "--app", "a", "--at", "2026-01-01", "--reason", "r"],
                [
                    "rates", "set", "program", "--app", "a", "--program", "standard", "--from", "2026-01-01",
                    "--reason", "r",
                ],
                ["forget", "alice", "--app", "a"], ["export", "alice", "--app", "a"], ["inspect", "alice"],
            ]
            for arguments in commands {
                let ended = try await tool.run(arguments + ["--json"])
                #expect(ended.status == 0, "\(arguments): \(ended.errors)")
                let json = try ended.json()
                #expect(!json.isEmpty, "\(arguments)")
                for name in json.keys { #expect(name == name.lowercased(), "\(arguments): \(name)") }
            }
        }
    }

    @Test("what was looked at and is not well ends with 2; what could not be done with 1")
    func found() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            try await execute("INSERT INTO balances VALUES ('sandbox', 'a', 'player-1', 'gem', 100)", in: pool)
            #expect(try await tool.run("books", "check").status == 2)
            #expect(try await tool.run("inspect", "nobody").status == 1)
            #expect(try await tool.run("doctor", "--no-consistency").status == 2)
            let kept = try await DoctorReportStore(pool: pool).last()
            #expect(kept?.remarks.contains { $0.level == "wrong" } == true, "the console tells it, too")
            let compared = try await tool.run("import", "compare", "7")
            #expect(compared.status == 1 && compared.errors.contains("there is no import 7"), "\(compared.errors)")
        }
    }

    @Test("what was asked for and goes on ends with 3")
    func underWay() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let adjusted = try await tool.run(
                "adjust", "--app", "a", "--account", "alice", "--item", "gem=+5", "--reason", "r")
            #expect(adjusted.status == 0)
            let forget = ["forget", "alice", "--app", "a", "--yes", "--wait", "0"]
            let ended = try await tool.run(forget + ["--json"])
            #expect(ended.status == 3 && ended.errors.hasPrefix("Error: fgt_"), "\(ended.errors)")
            #expect(try ended.json()["finished"] as? Bool == false)
        }
    }

    @Test(
        "a mistake in the command line ends with 64",
        arguments: [
            ["frobnicate"], ["inspect"], ["inspect", "x", "--limit", "0"], ["inspect", "x", "--ask-apple"],
            ["undelivered", "--stage", "x"],
            ["queue", "nothing"], ["queue", "run", "events"], ["database", "--limit", "0"],
            [
                "certificates", "trust", "xyz",
                "--reason", "r",
            ],
        ])
    func usage(arguments: [String]) async throws {
        try await TestDatabase.with { pool in
            let ended = try await ToolProcess(pool).run(arguments)
            #expect(ended.status == 64, "\(arguments): \(ended.errors)")
            #expect(ended.output.isEmpty, "\(ended.output)")
        }
    }
}
