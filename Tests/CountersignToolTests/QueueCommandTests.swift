import Foundation
import Persistence
import PersistenceTesting
import Postgres
import Testing

@testable import CountersignTool

/// What `countersign queue`, `database` and `certificates` say, and do.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing))
struct QueueCommandTests {
    private static let waiting = """
        INSERT INTO submissions (id, state, due_at, app, account, kind, partition_key, correlation_id, proof, reason, received_at)
        VALUES ('sub_1', 'received', now() + interval '1 hour', 'a', 'alice', 'signed_transaction', '1', 'r', 'x',
                'app_store_unavailable', now() - interval '3 hours'),
            ('sub_2', 'received', now() - interval '1 minute', 'a', 'bob', 'signed_transaction', '2', 'r', 'x', NULL, now());
        INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body)
        VALUES ('evt_1', 'iap.transaction.fulfilled', 'production', 'a', 'alice', 1, '1', 'alice', '{}');
        INSERT INTO event_outbox (event_id, due_at, attempts) VALUES ('evt_1', now() + interval '1 day', 3);
        INSERT INTO webhook_deliveries (event_id, endpoint_id, state, due_at, attempts, last_status)
        VALUES ('evt_1', 'backend', 'pending', now() + interval '1 hour', 2, 503);
        INSERT INTO revoked_certificates (sha256, certificate, revoked_at, reason, answer)
        VALUES (decode(repeat('ab', 32), 'hex'), 'x', now(), 1, 'x');
        """

    private func tool(_ body: (ToolProcess, PostgresPool) async throws -> Void) async throws {
        try await TestDatabase.with { pool in
            try await pool.withConnection { try await $0.executeScript(Self.waiting) }
            try await body(try await ToolProcess(pool), pool)
        }
    }

    @Test("it counts what waits by kind and reason, and lists the rows of one kind")
    func list() async throws {
        try await tool { tool, _ in
            let all = try await tool.run("queue")
            #expect(all.status == 0, "\(all.errors)")
            #expect(all.lines.first?.hasPrefix("WHAT") == true)
            for words in ["app_store_unavailable", "no_verdict", "iap.transaction.fulfilled", "backend: HTTP 503"] {
                #expect(all.output.contains(words), "\(all.output)")
            }
            let json = try await tool.run("queue", "submissions", "--json").json()
            let rows = try #require(json["rows"] as? [[String: Any]])
            #expect(rows.compactMap { $0["id"] as? String } == ["sub_2", "sub_1"])
            #expect(rows.last?["reason"] as? String == "app_store_unavailable")
            #expect((rows.last?["due_at"] as? String)?.hasSuffix("Z") == true)
        }
    }

    @Test("what was put off is due at once, and the log says who wanted it; what is due already is left alone")
    func now() async throws {
        try await tool { tool, pool in
            let one = try await tool.run(
                "queue", "run", "submissions", "sub_1", "--reason", "Apple is back", "--actor", "ada")
            #expect(one.status == 0, "\(one.errors)")
            #expect(one.lines == ["sub_1", "1 are sent within seconds"])
            let again = try await tool.run("queue", "run", "submissions", "sub_1", "sub_2", "--reason", "again")
            #expect(again.status == 1 && again.errors.contains("left alone: sub_1 sub_2"), "\(again.errors)")
            let events = try await tool.run("queue", "run", "events", "--reason", "notification is back", "--json")
                .json()
            #expect(events["hastened"] as? [String] == ["evt_1"])
            let due = try await pool.query(
                """
                SELECT (SELECT count(*) FROM submissions WHERE due_at <= now())
                    + (SELECT count(*) FROM event_outbox WHERE due_at <= now()) AS n
                """)
            #expect(try due.rows[0].decode("n", as: Int64.self) == 3)
            let log = try await pool.query(
                "SELECT concat_ws(' ', actor, action, subject) AS line FROM audit_log ORDER BY id")
            let lines = try log.rows.map { try $0.decode("line", as: String.self) }
            #expect(lines.first == "ada redrive sub_1" && lines.last?.hasSuffix("hasten evt_1") == true, "\(lines)")
        }
    }

    @Test("it says what the server is doing, and who holds what another waits for")
    func database() async throws {
        try await tool { tool, pool in
            try await pool.withTransaction { connection in
                _ = try await connection.query("SELECT id FROM submissions WHERE id = 'sub_1' FOR UPDATE")
                let shown = try await tool.run("database", "--older-than", "0")
                #expect(shown.status == 0, "\(shown.errors)")
                for words in [
                    "PostgreSQL ", ", primary, up for ", "schema \(Migrator.newestVersion)", "idle in transaction",
                ] {
                    #expect(shown.output.contains(words), "\(words) is not in \(shown.output)")
                }
            }
            let json = try await tool.run("database", "--json").json()
            let server = try #require(json["server"] as? [String: Any])
            #expect(server["standby"] as? Bool == false)
            #expect((json["months"] as? [Any]) != nil && (json["sessions"] as? [Any]) != nil)
        }
    }

    @Test("a certificate that is held for revoked is listed, and taken out with a reason")
    func certificates() async throws {
        try await tool { tool, pool in
            let sha256 = String(repeating: "ab", count: 32)
            let listed = try await tool.run("certificates", "list")
            #expect(listed.lines.count == 1 && listed.output.hasPrefix(sha256), "\(listed.output)")
            let out = try await tool.run(
                "certificates", "trust", sha256.uppercased(), "--reason", "Apple said so", "--json")
            #expect(out.status == 0, "\(out.errors)")
            #expect(try await tool.run("certificates", "list").lines == ["no certificate is held for revoked"])
            let again = try await tool.run("certificates", "trust", sha256, "--reason", "r")
            #expect(again.status == 1 && again.errors.contains("is not among those"), "\(again.errors)")
            let log = try await pool.query("SELECT subject FROM audit_log WHERE action = 'trust_certificate'")
            #expect(try log.rows.map { try $0.decode("subject", as: String.self) } == [sha256])
        }
    }
}
