import Persistence
import PersistenceTesting
import Postgres
import Testing

@testable import CountersignTool

/// The doctor at a real database.
@Suite(
    .enabled(if: TestDatabase.url != nil, "SKIPPED: no PostgreSQL; run deploy/test, or set COUNTERSIGN_TEST_POSTGRES"))
struct DoctorDatabaseTests {
    private func findings(_ pool: PostgresPool) async throws -> [Finding] {
        try await DatabaseCheck(pool: pool, grace: .seconds(60), comparesTables: true).run()
    }

    @Test func anEmptyDatabaseIsWell() async throws {
        try await TestDatabase.with { pool in
            let findings = try await findings(pool)
            #expect(findings.map(\.level).allSatisfy { $0 == .good })
            #expect(
                findings.map(\.subject) == [
                    "PostgreSQL", "schema", "backlog", "alarms", "parked orders", "endpoints", "consistency",
                ])
        }
    }

    @Test func whatIsAlarmedUnclaimedAndInDoubtIsToldApart() async throws {
        try await TestDatabase.with { pool in
            try await pool.withConnection { connection in
                try await connection.executeScript(
                    """
                    INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof, due_at,
                        received_at, reason, alarmed_at)
                    SELECT 'sub_' || n, 'a', 'b', 'receipt', 'k', 'r', 'p', now() + interval '1 hour',
                        now() - n * interval '1 hour', CASE WHEN n < 4 THEN 'shared_secret_mismatch' ELSE 'rate_limited' END,
                        CASE WHEN n > 1 THEN now() END
                    FROM generate_series(1, 5) AS n;
                    INSERT INTO orders (environment, transaction_id, state, reason, app, product_id, product_type,
                        quantity, original_transaction_id, purchase_date, signed_date, submission_id, correlation_id,
                        transaction)
                    SELECT 'production', n::text, 'parked', CASE WHEN n = 1 THEN 'account_token_unknown' ELSE 'unclaimed' END,
                        'a', 'x', 'consumable', 1, n::text, now(), now(), 'sub_1', 'r', '{}'
                    FROM generate_series(1, 3) AS n
                    """)
            }
            let findings = try await findings(pool)
            let alarms = findings.filter { $0.subject == "alarms" }
            #expect(alarms.map(\.level) == [.warning, .wrong])
            #expect(
                alarms.map(\.detail) == [
                    "2 purchases have no outcome for rate_limited, the oldest is 5 h old",
                    "2 purchases have no outcome for shared_secret_mismatch, the oldest is 3 h old",
                ])
            let parked = findings.filter { $0.subject == "parked orders" }
            #expect(parked.map(\.level) == [.warning])
            #expect(parked.first?.detail.hasPrefix("1 for account_token_unknown") == true)
            let unclaimed = findings.filter { $0.subject == "unclaimed" }
            #expect(unclaimed.map(\.level) == [.good])
            #expect(unclaimed.first?.detail.hasPrefix("2 purchases") == true)
            #expect(findings.last?.level == .good, "the tables agree")
        }
    }
}
