import Foundation
import Persistence
import PersistenceTesting
import Postgres
import Testing

@testable import CountersignTool

/// `countersign adjust`, as a process.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing))
struct AdjustCommandTests {
    private func adjust(_ tool: ToolProcess, _ arguments: String...) async throws -> ToolProcess.Ended {
        try await tool.run(["adjust", "--app", "game", "--account", "alice", "--reason", "a gift"] + arguments)
    }

    @Test("gives and takes, and says what the account has now; the books agree")
    func adjusts() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let given = try await adjust(tool, "--item", "gem=+100", "--item", "dust=+5", "--actor", "ada")
            #expect(given.status == 0, "\(given.errors)")
            #expect(given.lines.prefix(2) == ["dust +5: alice has 5 now", "gem +100: alice has 100 now"])
            #expect(given.lines.last?.hasPrefix("written as audit ") == true)
            let taken = try await adjust(tool, "--item", "gem=-30")
            #expect(taken.lines.first == "gem -30: alice has 70 now")
            let entries = try await pool.query(
                """
                SELECT string_agg(concat_ws(' ', environment, e.app, account, item, amount, actor, a.reason), ', '
                    ORDER BY e.id) AS entries
                FROM ledger_entries e JOIN audit_log a ON a.id = e.audit_id WHERE kind = 'adjustment'
                """)
            #expect(
                try entries.rows[0].decode("entries", as: String.self)
                    == "production game alice dust 5 ada a gift, production game alice gem 100 ada a gift, "
                    + "production game alice gem -30 tester a gift")
            let events = try await pool.query("SELECT type, sequence FROM events ORDER BY sequence")
            #expect(try events.rows.map { try $0.decode("sequence", as: Int64.self) } == [1, 2])
        }
    }

    @Test("nothing goes below zero unless it is allowed, and nothing is written then")
    func belowZero() async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let refused = try await adjust(tool, "--item", "gem=-5")
            #expect(
                refused.status == 1 && refused.errors.contains("gem is 0, and 5 would be taken"), "\(refused.errors)")
            #expect(try await count(pool) == 0)
            let allowed = try await adjust(tool, "--item", "gem=-5", "--allow-debt", "--environment", "sandbox")
            #expect(allowed.status == 0 && allowed.lines.first == "gem -5: alice has -5 now", "\(allowed.errors)")
            #expect(try await count(pool) == 1)
        }
    }

    private func count(_ pool: PostgresPool) async throws -> Int64 {
        try await pool.query("SELECT count(*) AS count FROM audit_log").rows[0].decode("count")
    }

    @Test(
        "what is no change of an item is a usage error",
        arguments: [
            ["--item", "gem=100"], ["--item", "gem"], ["--item", "=+5"], ["--item", "gem=+0"], ["--item", "gem=+1.5"],
            ["--item", "gem=+1", "--item", "gem=+2"], ["--item", "gem=+9223372036854775807"],
            ["--item", "gem=-9223372036854775808"], ["--item", "gem=+1", "--environment", "xcode"], [],
            ["--item", String(repeating: "g", count: 256) + "=+1"],
            // Nobody could ever read what such an account has: intake lets none of them in.
            ["--item", "gem=+1", "--account", ""], ["--item", "gem=+1", "--account", "a\nb"],
            ["--item", "gem=+1", "--account", String(repeating: "x", count: 256)],
        ])
    func mistakes(_ arguments: [String]) async throws {
        try await TestDatabase.with { pool in
            let tool = try await ToolProcess(pool)
            let line = ["adjust", "--app", "game", "--account", "alice", "--reason", "r"] + arguments
            let ended = try await tool.run(line)
            #expect(ended.status == 64, "\(ended.errors)")
            #expect(try await count(pool) == 0)
        }
    }
}
