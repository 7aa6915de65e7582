import Foundation
import Persistence
import PersistenceTesting
import Postgres
import Testing

/// `countersign double-grants`, as a process.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing))
struct DoubleGrantsCommandTests {
    private static let rows = """
        INSERT INTO double_grants (environment, order_transaction_id, app, account, item, amount, state, corrected,
            decided_at)
        VALUES ('production', '200', 'game', 'bob', 'gem', 50, 'left', NULL, '2026-05-02T10:00:00Z'),
            ('production', '100', 'game', 'alice', 'gem', 150, 'open', NULL, NULL),
            ('production', '100', 'game', 'alice', 'dust', 5, 'corrected', 3, '2026-05-01T10:00:00Z'),
            ('production', '101', 'game', 'alice', 'gem', 1, 'open', NULL, NULL),
            ('sandbox', '100', 'game', 'alice', 'gem', 2, 'open', NULL, NULL)
        """

    private func withRows(_ body: (ToolProcess, PostgresPool) async throws -> Void) async throws {
        try await TestDatabase.with { pool in
            try await pool.withConnection { try await $0.executeScript(Self.rows) }
            try await body(try await ToolProcess(pool), pool)
        }
    }

    @Test("lists by account what each order gave too much, and what became of it")
    func text() async throws {
        try await withRows { tool, _ in
            let all = try await tool.run("double-grants")
            #expect(
                all.lines == [
                    "production game alice",
                    "  5 dust too many by order 100: corrected, 3 taken back, 2026-05-01T10:00:00Z",
                    "  150 gem too many by order 100: open", "  1 gem too many by order 101: open",
                    "production game bob",
                    "  50 gem too many by order 200: left, 2026-05-02T10:00:00Z", "sandbox game alice",
                    "  2 gem too many by order 100: open", "3 accounts: 3 open, 1 corrected, 1 left",
                ], "\(all.errors)")
            let some = try await tool.run("double-grants", "--state", "open", "--limit", "1")
            #expect(
                some.lines == [
                    "production game alice", "  150 gem too many by order 100: open", "and 2 more",
                    "2 accounts: 3 open, 0 corrected, 0 left",
                ], "\(some.errors)")
        }
    }

    @Test("two accounts whose names look alike have a heading each")
    func bytes() async throws {
        try await withRows { tool, pool in
            _ = try await pool.query("DELETE FROM double_grants WHERE environment = 'sandbox' OR account = 'alice'")
            _ = try await pool.query("UPDATE double_grants SET account = E'Ren\\u00e9'")
            _ = try await pool.query(
                """
                INSERT INTO double_grants (environment, order_transaction_id, app, account, item, amount)
                VALUES ('production', '300', 'game', E'Rene\\u0301', 'gem', 1)
                """)
            let listed = try await tool.run("double-grants")
            #expect(listed.lines.count { $0.hasPrefix("production game Ren") } == 2, "\(listed.lines)")
            #expect(listed.lines.last == "2 accounts: 1 open, 0 corrected, 1 left")
        }
    }

    @Test("JSON has the rows with their numbers")
    func json() async throws {
        try await withRows { tool, _ in
            let json = try await tool.run("double-grants", "--state", "corrected", "--json").json()
            let rows = json["double_grants"] as? [[String: Any]] ?? []
            #expect(rows.count == 1)
            #expect(rows.first?["account"] as? String == "alice" && rows.first?["transaction_id"] as? String == "100")
            #expect(rows.first?["amount"] as? Int == 5 && rows.first?["corrected"] as? Int == 3)
            #expect(json["counts"] as? [String: Int] == ["corrected": 1])
        }
    }

    @Test("a database without any says so; an unknown state in a row or an option is an error")
    func nothing() async throws {
        try await withRows { tool, pool in
            #expect(try await tool.run("double-grants", "--state", "lost").status == 64)
            #expect(try await tool.run("double-grants", "--limit", "0").status == 64)
            try await pool.withConnection { connection in
                try await connection.executeScript(
                    """
                    ALTER TABLE double_grants DROP CONSTRAINT double_grants_state_is_known;
                    UPDATE double_grants SET state = 'lost' WHERE account = 'bob'
                    """)
            }
            let unreadable = try await tool.run("double-grants")
            #expect(unreadable.status == 1 && unreadable.errors.contains("state has"), "\(unreadable.errors)")
            _ = try await pool.query("DELETE FROM double_grants")
            let empty = try await tool.run("double-grants")
            #expect(empty.status == 0 && empty.lines == ["nothing was granted twice"], "\(empty.errors)")
        }
    }
}
