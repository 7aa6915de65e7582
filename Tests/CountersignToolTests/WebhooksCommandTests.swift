import Foundation
import Messages
import PersistenceTesting
import Postgres
import Testing

/// `countersign webhooks resend` and `enable`, as processes.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing))
struct WebhooksCommandTests {
    /// Writes deliveries: three that were given up, of two endpoints, and one that was taken.
    ///
    /// - Returns: the events' ids, the oldest first.
    private func fill(_ pool: PostgresPool) async throws -> [String] {
        var ids: [String] = []
        for (index, (endpoint, state)) in [
            ("backend", "abandoned"), ("stats", "abandoned"), ("backend", "delivered"), ("backend", "abandoned"),
        ].enumerated() {
            let time = Date(timeIntervalSinceNow: Double(index - 10) * 86_400)
            let id = EventIdentifier.event(at: time)
            ids.append(id)
            _ = try await pool.query(
                """
                WITH event AS (
                    INSERT INTO events (id, type, environment, app, transaction_id, partition_key, body, created_at)
                    VALUES ($1, 'iap.refund.granted', 'production', 'game', '1', '1', '{}', $4) RETURNING id
                )
                INSERT INTO webhook_deliveries (event_id, endpoint_id, state) SELECT id, $2, $3 FROM event
                """, [.text(id), .text(endpoint), .text(state), .timestamptz(time)])
        }
        return ids
    }

    private func asked(_ pool: PostgresPool) async throws -> [String] {
        try await pool.query("SELECT event_id FROM webhook_resends ORDER BY 1").rows.map { try $0.decode("event_id") }
    }

    @Test("says how many it means and changes nothing; with --yes they are asked for, and noted")
    func resends() async throws {
        try await TestDatabase.with { pool in
            let ids = try await fill(pool)
            let tool = try await ToolProcess(pool)
            let shown = try await tool.run("webhooks", "resend")
            #expect(shown.status == 0, "\(shown.errors)")
            #expect(
                shown.lines == [
                    "backend: 2 abandoned", "stats: 1 abandoned", "3 would be sent again",
                    "nothing is changed: --yes sends them",
                ])
            #expect(try await asked(pool).isEmpty)
            // The group had another name before.
            let done = try await tool.run(
                ["webhook", "resend", "--yes", "--reason", "mended in 4.2", "--actor", "ada", "--endpoint", "backend"])
            #expect(done.status == 0, "\(done.errors)")
            #expect(done.lines.prefix(2) == ["backend: 2 abandoned", "2 are sent again within seconds"])
            #expect(try await asked(pool) == [ids[0], ids[3]])
            let audit = try await pool.query("SELECT * FROM audit_log").rows
            #expect(audit.count == 1)
            #expect(try done.lines.last == "written as audit \(audit[0].decode("id", as: Int64.self))")
            #expect(try audit[0].decode("actor", as: String.self) == "ada")
            #expect(try audit[0].decode("reason", as: String.self) == "mended in 4.2")
            #expect(
                try audit[0].decode("subject", as: String.self)
                    == "state abandoned, endpoint backend; at most 10000")
        }
    }

    @Test("means what the options say, and tells it to programs")
    func options() async throws {
        try await TestDatabase.with { pool in
            let ids = try await fill(pool)
            let tool = try await ToolProcess(pool)
            let day = Date(timeIntervalSinceNow: -8.5 * 86_400).formatted(.iso8601)
            for (options, count) in [
                (["--event", ids[2]], 0), (["--event", ids[2], "--state", "delivered"], 1), (["--state", "all"], 4),
                (["--since", day, "--state", "all"], 2), (["--until", day], 2), (["--until", "2020-01-01"], 0),
                (["--type", "iap.refund.*"], 3), (["--type", "iap.transaction.*"], 0), (["--app", "other"], 0),
                (["--account", "alice"], 0), (["--environment", "sandbox"], 0), (["--limit", "2"], 2),
            ] as [([String], Int)] {
                let ended = try await tool.run(["webhooks", "resend", "--json"] + options)
                #expect(ended.status == 0, "\(options): \(ended.errors)")
                let report = try ended.json()
                #expect(report["deliveries"] as? Int == count, "\(options)")
                #expect(report["asked"] as? Bool == false)
                #expect(report["more"] as? Bool == options.contains("--limit"))
            }
            #expect(try await asked(pool).isEmpty)
        }
    }

    @Test(
        "what is no selection is a usage error",
        arguments: [
            ["--yes"], ["--yes", "--reason", " "], ["--type", "a*b"], ["--since", "yesterday"], ["--state", "lost"],
            ["--limit", "0"], ["--environment", "moon"], ["--account", ""],
        ])
    func mistakes(_ options: [String]) async throws {
        try await TestDatabase.with { pool in
            _ = try await fill(pool)
            let ended = try await ToolProcess(pool).run(["webhooks", "resend"] + options)
            #expect(ended.status == 64, "\(ended.errors)")
            #expect(try await asked(pool).isEmpty)
        }
    }

    @Test("an endpoint that is off is switched on again, and that is noted")
    func enables() async throws {
        try await TestDatabase.with { pool in
            _ = try await pool.query(
                """
                INSERT INTO webhook_endpoints (id, disabled_at, disabled_reason, failing_since)
                VALUES ('backend', now(), 'it answered 410 Gone', now())
                """)
            let tool = try await ToolProcess(pool)
            let done = try await tool.run("webhooks", "enable", "backend", "--reason", "mended")
            #expect(done.status == 0, "\(done.errors)")
            #expect(done.lines.first == "backend is on again, and what waited for it goes out within seconds")
            let row = try await pool.query("SELECT disabled_at, failing_since FROM webhook_endpoints").rows[0]
            #expect(try row.decodeIfPresent("disabled_at", as: Date.self) == nil)
            #expect(try row.decodeIfPresent("failing_since", as: Date.self) == nil)
            let audit = try await pool.query("SELECT actor, action, subject FROM audit_log").rows
            #expect(try audit.map { try $0.decode("subject", as: String.self) } == ["backend"])
            for id in ["backend", "nobody"] {
                let refused = try await tool.run("webhooks", "enable", id, "--reason", "again")
                #expect(refused.status == 1 && refused.errors.contains("\(id) is not known, or is not switched off"))
            }
        }
    }
}
