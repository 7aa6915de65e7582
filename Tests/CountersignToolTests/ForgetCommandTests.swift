import Foundation
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

/// `countersign forget` and `countersign export`, as processes.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing))
struct ForgetCommandTests {
    private static let app = "com.example.game"

    private func give(_ account: String, _ pool: PostgresPool) async throws {
        let adjusted = try await LedgerStore.adjust(
            environment: .production, app: Self.app, account: Account(stored: account),
            items: [Catalogue.ItemGrant(item: "gem", amount: 5)], actor: "ada", reason: "a gift to \(account)",
            pool: pool)
        guard case .adjusted = adjusted else { return #expect(Bool(false), "\(adjusted)") }
    }

    /// Carries requests out as fulfillment does: looks until one is due.
    private func carryOut(_ pool: PostgresPool) async throws {
        let requests = ForgetRequestStore(pool: pool)
        while true {
            if let request = try await requests.claimDue(limit: 1, lease: .seconds(60)).first {
                #expect(try await ForgettingStore(pool: pool).advance(request) == .finished)
                return
            }
            // The request is written by another process; there is no signal to wait for.
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func requests(_ pool: PostgresPool) async throws -> Int64 {
        try await pool.query("SELECT count(*) AS count FROM forget_requests").rows[0].decode("count")
    }

    @Test func `it shows first, does it when told to, and leaves nothing to show`() async throws {
        try await TestDatabase.with { pool in
            try await give("alice", pool)
            try await give("bob", pool)
            let tool = try await ToolProcess(pool)
            let shown = try await tool.run("forget", "alice", "--app", Self.app)
            #expect(shown.status == 0, "\(shown.errors)")
            #expect(
                shown.lines.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }.prefix(4) == [
                    "ledger_entries 1", "balances 1", "events 1", "audit_log 1",
                ])
            #expect(shown.lines.last?.hasPrefix("nothing is changed; --yes") == true)
            #expect(try await requests(pool) == 0)

            async let carried: Void = carryOut(pool)
            let ended = try await tool.run(
                "forget", "alice", "--app", Self.app, "--yes", "--reason", "a letter", "--actor", "ada", "--wait", "300"
            )
            try await carried
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(ended.lines.last?.hasSuffix("is finished: nothing names the account any more") == true)
            #expect(!ended.output.contains("forgotten-"))
            let log = try await pool.query(
                "SELECT concat_ws('|', actor, action, reason) AS line FROM audit_log WHERE action = 'forget'")
            #expect(try log.rows.map { try $0.decode("line", as: String.self) } == ["ada|forget|a letter"])

            let again = try await tool.run("forget", "alice", "--app", Self.app)
            #expect(again.status == 1 && again.errors.contains("nothing is known of alice"), "\(again.errors)")
            #expect(try await tool.run("export", "alice", "--app", Self.app).status == 1)
            #expect(try await tool.run("export", "bob", "--app", Self.app).status == 0)
        }
    }

    @Test func `a fulfillment that does not run is a failure, and the request stays`() async throws {
        try await TestDatabase.with { pool in
            try await give("alice", pool)
            let tool = try await ToolProcess(pool)
            let ended = try await tool.run("forget", "alice", "--app", Self.app, "--yes", "--wait", "0")
            #expect(ended.status == 3 && ended.errors.contains("is fulfillment running?"), "\(ended.errors)")
            #expect(try await requests(pool) == 1)
        }
    }

    @Test func `an export is JSON, of names and pseudonyms`() async throws {
        try await TestDatabase.with { pool in
            try await give("alice", pool)
            let tool = try await ToolProcess(pool)
            let export = try await tool.run("export", "alice", "--app", Self.app)
            #expect(export.status == 0, "\(export.errors)")
            let object = try export.json()
            #expect(object["account"] as? String == "alice" && object["app"] as? String == Self.app)
            let entries = try #require(object["ledger_entries"] as? [[String: Any]])
            #expect(entries.map { $0["amount"] as? Int } == [5])
            #expect((object["orders"] as? [Any])?.isEmpty == true)
            let pseudonym = Account.pseudonym(UUID()).text
            let unknown = try await tool.run("export", pseudonym, "--app", Self.app)
            #expect(unknown.status == 1 && unknown.errors.contains("nothing is known"), "\(unknown.errors)")
            for arguments in [
                ["export", "a\nb", "--app", Self.app], ["export", "alice"], ["forget", pseudonym, "--app", Self.app],
                ["forget", "alice", "--app", Self.app, "--reason", " "], ["forget", "alice"],
            ] {
                #expect(try await tool.run(arguments).status == 64, "\(arguments)")
            }
        }
    }
}
