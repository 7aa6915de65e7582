import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// An account is forgotten: its name is nowhere, and every sum is what it was.
@Suite("Forgetting accounts", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct ForgettingTests {
    static let name = "alice-7f3a9c51"
    /// Names that JSON, SQL and regular expressions write in other ways.
    static let names = [name, #"Åse "Q" \ 7f3a.*%_'[x]"#]

    private func sums(_ bench: Bench) async throws -> [String] {
        try await bench.answers(
            "SELECT concat_ws(' ', 'ledger', environment, app, kind, item, sum(amount), count(*)) FROM ledger_entries "
                + "GROUP BY environment, app, kind, item ORDER BY 1")
            + bench.answers(
                "SELECT concat_ws(' ', 'held', environment, app, item, sum(amount)) FROM balances "
                    + "GROUP BY environment, app, item ORDER BY 1")
            + bench.answers("SELECT to_jsonb(r) FROM daily_revenue r ORDER BY 1")
            + bench.answers(
                "SELECT concat_ws(' ', 'orders', state, reason, count(*)) FROM orders GROUP BY state, reason ORDER BY 1"
            )
            + bench.answers(
                "SELECT concat_ws(' ', 'entitled', entitlement, revoked_because, count(*)) FROM entitlements "
                    + "GROUP BY entitlement, revoked_because ORDER BY 1")
            + bench.answers("SELECT concat_ws(' ', type, count(*)) FROM events GROUP BY type ORDER BY 1")
    }

    /// What an account has, without its name.
    private func holdings(of account: Account, _ pool: PostgresPool) async throws -> [String] {
        let result = try await pool.query(
            """
            SELECT concat_ws(' ', item, amount) AS line FROM balances WHERE account = $1 AND app = $2
            UNION ALL SELECT concat_ws(' ', entitlement, transaction_id, revoked_because) FROM entitlements
            WHERE account = $1 AND app = $2
            UNION ALL SELECT concat_ws(' ', original_transaction_id, state) FROM subscriptions
            WHERE account = $1 AND app = $2
            UNION ALL SELECT concat_ws(' ', sequence, type) FROM events WHERE account = $1 AND app = $2
            UNION ALL SELECT concat_ws(' ', 'order', transaction_id, state) FROM orders WHERE account = $1 AND app = $2
            ORDER BY 1
            """, [.text(account.text), .text(Bench.app)])
        return try result.rows.map { try $0.decode("line") }
    }

    @Test(arguments: names)
    func `a dump of the database has no trace of the name, in any encoding`(name: String) async throws {
        try await ForgettingStory.with(name) { story, url in
            let before = try await TableDump(story.bench.pool)
            // The look sees what it is for: in rows, within proofs, and within proofs within proofs.
            #expect(before.places(of: name).count > 40)
            let proofs = before.rows(of: "submission_proofs", with: "n-vip")
            #expect(proofs.contains { TableDump.holds($0, story.token.uuidString) })
            #expect(!proofs.isEmpty && !proofs.contains { $0.contains(story.token.uuidString) })
            let tables = Set(before.places(of: name).compactMap { $0.split(separator: ":").first.map(String.init) })
            #expect(
                tables == [
                    "account_consents", "account_sequences", "account_tokens", "audit_log", "balances",
                    "binding_history", "entitlements",
                    "event_positions", "events", "ledger_entries", "lineage_claims", "lineage_shares", "lineages",
                    "operator_claims",
                    "orders", "purchase_intents", "spends", "submissions", "subscriptions", "views",
                    "webhook_attempts", "webhook_deliveries",
                ])
            let sums = try await sums(story.bench)
            let held = try await holdings(of: story.account, story.bench.pool)
            try await story.bench.expectClean()

            try await story.forget()

            try await story.expectNoTrace(url)
            // What Apple was told stays, without a token; what it was about to be told is not said any more.
            #expect(
                try await story.bench.answers("SELECT kind || ' ' || state FROM apple_calls ORDER BY 1") == [
                    "account_token done", "account_token withdrawn", "consumption done", "consumption withdrawn",
                ])
            #expect(try await self.sums(story.bench) == sums)
            let pseudonym = try await story.pseudonym()
            #expect(pseudonym.isPseudonym && Account(pseudonym.text) == nil)
            #expect(held.count > 20)
            #expect(try await holdings(of: pseudonym, story.bench.pool) == held)
            try await story.bench.expectClean()
        }
    }

    @Test func `what is the others' stays byte for byte`() async throws {
        try await ForgettingStory.with(Self.name) { story, _ in
            let before = try await TableDump(story.bench.pool)
            try await story.forget()
            let after = try await TableDump(story.bench.pool)
            // Nothing about Carol but what an operator wrote of both, and nothing about this name in another app.
            for table in before.rows.keys.sorted() where table != "audit_log" {
                #expect(after.rows(of: table, with: "carol") == before.rows(of: table, with: "carol"), "\(table)")
            }
            for table in before.rows.keys.sorted() {
                #expect(
                    after.rows(of: table, with: ForgettingStory.anotherApp)
                        == before.rows(of: table, with: ForgettingStory.anotherApp), "\(table)")
            }
            #expect(!before.rows(of: "spends", with: "carol").isEmpty)
            #expect(before.rows(of: "events", with: ForgettingStory.anotherApp).count == 1)
            for table in ["ledger_entries", "balances", "entitlements", "account_sequences", "subscriptions"] {
                #expect(after.rows(of: table, with: #""ben""#) == before.rows(of: table, with: #""ben""#), "\(table)")
            }
            #expect(after.rows(of: "account_tokens", with: "ben") == before.rows(of: "account_tokens", with: "ben"))
            // Where his rows named her or her token, only that is changed.
            let pseudonym = try await story.pseudonym().text
            let hisBindings = before.rows(of: "binding_history", with: #""ben""#).map { row in
                row.replacingOccurrences(of: Self.name, with: pseudonym)
            }
            let sources = #/"submission_id": "[^"]*"/#
            #expect(
                after.rows(of: "binding_history", with: #""ben""#).map { $0.replacing(sources, with: "") }.sorted()
                    == hisBindings.map { $0.replacing(sources, with: "") }.sorted())
        }
    }

    @Test func `the audit log says who asked, when and why, and names the pseudonym only`() async throws {
        try await ForgettingStory.with(Self.name) { story, _ in
            let status = try await story.ask()
            #expect(try await story.ask().id == status.id, "asking again is the same request")
            #expect(try await story.goOn() == .finished)
            let pseudonym = try await story.pseudonym().text
            #expect(
                try await story.bench.answers(
                    "SELECT concat_ws('|', actor, action, subject, reason) FROM audit_log WHERE action = 'forget'") == [
                        "eve|forget|\(Bench.app) \(pseudonym)|\(pseudonym) asked for it"
                    ])
            // What was done by hand before is known, but not why.
            #expect(
                try await story.bench.answers(
                    "SELECT concat_ws('|', actor, action, subject, reason) FROM audit_log WHERE action IN ('claim', 'adjust') "
                        + "AND subject LIKE '%forgotten-%' ORDER BY action") == [
                        "eve|adjust|production \(Bench.app) \(pseudonym)|removed: the account was forgotten",
                        "eve|claim|production c1 \(pseudonym)|removed: the account was forgotten",
                    ])
            let store = ForgetRequestStore(pool: story.bench.pool)
            let ended = try #require(try await store.find(status.id, app: Bench.app))
            #expect(ended.finishedAt != nil && ended.changed["orders", default: 0] > 5)
            #expect(try await store.find(status.id, app: ForgettingStory.anotherApp) == nil)
            #expect(
                try await story.bench.number(
                    "SELECT count(*) FROM forget_requests WHERE num_nonnulls(account, pseudonym, reason, asked_by) > 0")
                    == 0)
            #expect(try await story.goOn() == nil)
        }
    }

    @Test func `an export has all of it, and after the account was forgotten nothing`() async throws {
        try await ForgettingStory.with(Self.name) { story, _ in
            func export(_ account: Account) async throws -> [String: Any] {
                var text = ""
                try await AccountExport(pool: story.bench.pool, app: Bench.app, account: account).write { text += $0 }
                return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            }
            func counts(_ object: [String: Any]) -> [String: Int] {
                object.compactMapValues { ($0 as? [Any])?.count }
            }
            let full = try await export(story.account)
            #expect(
                full["account"] as? String == Self.name
                    && full["schema_version"] as? String == AccountExport.schemaVersion)
            let lists = counts(full)
            for (table, count) in lists {
                #expect(count > 0, "\(table)")
            }
            // By its paths through indexes it finds what reading tables whole finds.
            for table in ["ledger_entries", "lineage_claims", "binding_history", "events", "submissions", "orders"] {
                let condition = table == "binding_history" ? "$1 IN (from_account, to_account)" : "account = $1"
                let isApp = table == "lineage_claims" ? "$2 <> ''" : "app = $2"
                let found = try await story.bench.pool.query(
                    "SELECT count(*) AS count FROM \(table) WHERE \(condition) AND \(isApp)",
                    [.text(Self.name), .text(Bench.app)])
                #expect(try Int64(lists[table] ?? 0) == found.rows[0].decode("count", as: Int64.self), "\(table)")
            }
            let text = String(decoding: try JSONSerialization.data(withJSONObject: full), as: UTF8.self)
            #expect(!text.contains(#""ben""#) && text.contains("another account"))
            let proofs = (full["submissions"] as? [[String: Any]])?.compactMap { $0["proof"] as? String } ?? []
            #expect(proofs.contains { TableDump.holds($0, story.token.uuidString) })

            try await story.forget()

            #expect(counts(try await export(story.account)).values.allSatisfy { $0 == 0 })
            #expect(try await !AccountExport(pool: story.bench.pool, app: Bench.app, account: story.account).isKnown())
            let after = counts(try await export(try await story.pseudonym()))
            #expect(after["account_tokens"] == 0 && after["purchase_intents"] == 0)
            for table in ["orders", "ledger_entries", "events", "submissions", "binding_history", "spends", "lineages"]
            {
                #expect(after[table] == lists[table], "\(table)")
            }
        }
    }

    @Test func `a process that dies in the middle leaves what another goes on with`() async throws {
        try await ForgettingStory.with(Self.name) { story, url in
            let sums = try await sums(story.bench)
            _ = try await story.ask()
            // One row of each table at a time, until the row of one entry cannot be changed.
            let entries = try await story.bench.answers(
                "SELECT id FROM ledger_entries WHERE account = '\(Self.name)' AND app = '\(Bench.app)' ORDER BY id")
            #expect(entries.count > 6)
            for place in [1, entries.count / 2, entries.count - 1] {
                try await story.bench.pool.withConnection { connection in
                    try await connection.executeScript(
                        "CREATE TRIGGER dies BEFORE UPDATE ON ledger_entries FOR EACH ROW WHEN (OLD.id = \(entries[place])) "
                            + "EXECUTE FUNCTION refuse_change()")
                }
                await #expect(throws: PostgresError.self) { try await story.goOn(rowsMaximum: 1) }
                #expect(
                    try await story.bench.number(
                        "SELECT count(*) FROM ledger_entries WHERE account = '\(Self.name)' AND app = '\(Bench.app)'")
                        == Int64(entries.count - place))
                try await story.bench.pool.withConnection { connection in
                    try await connection.executeScript("DROP TRIGGER dies ON ledger_entries")
                }
            }
            #expect(try await story.goOn(rowsMaximum: 3) == .finished)
            try await story.expectNoTrace(url)
            #expect(try await self.sums(story.bench) == sums)
            try await story.bench.expectClean()
        }
    }

    @Test func `what is written once is changed by nobody else`() async throws {
        try await ForgettingStory.with(Self.name) { story, _ in
            for statement in [
                "UPDATE ledger_entries SET account = 'carol' WHERE account = 'ben'",
                "UPDATE ledger_entries SET amount = amount + 1 WHERE account = 'ben'",
                "DELETE FROM ledger_entries WHERE account = 'ben'",
                "UPDATE spends SET answer = '{}'", "UPDATE spends SET reference = NULL WHERE account = 'carol'",
                "UPDATE spends SET account = 'ben'",
                "UPDATE binding_history SET to_account = 'carol'", "UPDATE binding_history SET cause = 'token'",
                "UPDATE audit_log SET actor = 'nobody'", "UPDATE views SET actor = 'nobody'",
                "UPDATE views SET account = 'ben'",
            ] {
                await #expect(throws: PostgresError.self, "\(statement)") {
                    try await story.bench.pool.query(statement + " RETURNING 1 AS one")
                }
            }
        }
    }
}
