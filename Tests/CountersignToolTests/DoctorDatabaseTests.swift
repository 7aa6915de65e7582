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
                    "PostgreSQL", "schema", "backlog", "events", "pull", "events topic", "alarms", "rejections",
                    "parked posts", "parked orders",
                    "purchases", "months", "refunds", "TEST", "lost purchases", "sweep", "endpoints", "consistency",
                ])
        }
    }

    @Test("more orders than may be are compared only when that is asked for, since it takes minutes")
    func manyOrdersAreNotCompared() async throws {
        try await TestDatabase.with { pool in
            func consistency(_ compares: Bool?, maximum: Int64 = 200_000) async throws -> String? {
                var check = DatabaseCheck(pool: pool, grace: .seconds(60), comparesTables: compares)
                check.comparedOrdersMaximum = maximum
                return try await check.run().last { $0.subject == "consistency" }?.detail
            }
            #expect(try await consistency(nil)?.hasPrefix("all ") == true)
            let sentence = try await consistency(nil, maximum: -1)
            #expect(sentence == "not compared: some 0 orders take minutes; `countersign books check` compares them")
            #expect(try await consistency(true, maximum: -1)?.hasPrefix("all ") == true)
            #expect(try await consistency(false) == "not compared")
        }
    }

    @Test func whatContradictsIsCounted() async throws {
        try await TestDatabase.with { pool in
            try await pool.withConnection { connection in
                try await connection.executeScript(
                    """
                    INSERT INTO purchase_conflicts (environment, app, transaction_id, order_transaction_id, cause,
                        submission_id, created_at, resolved_at)
                    SELECT 'production', 'a', n::text, '1', 'two_orders', 's', now() - n * interval '1 hour',
                        CASE WHEN n = 9 THEN now() END
                    FROM generate_series(7, 9) AS n;
                    INSERT INTO orders (environment, transaction_id, state, reason, app, product_id, product_type,
                        quantity, original_transaction_id, purchase_date, signed_date, submission_id, correlation_id,
                        transaction, created_at)
                    SELECT 'production', n::text, 'parked', 'transaction_incomplete', 'a', 'x', 'consumable', 1, n::text,
                        now(), now(), 's', 'r', '{}', now() - n * interval '1 hour'
                    FROM generate_series(3, 4) AS n;
                    INSERT INTO sweep_tasks (kind, app, environment, priority, covered_until)
                    VALUES ('notifications', 'another', 'production', 1, now())
                    """)
            }
            let findings = try await DatabaseCheck(pool: pool, grace: .seconds(60), comparesTables: false).run()
                .filter { $0.level != .good }
            #expect(
                findings.map(\.detail) == [
                    "Apple signed what contradicts an order, 2 times, the oldest 8 h ago: production 8",
                    "2 orders are parked for transaction_incomplete, the oldest for 4 h: production 4",
                    "2 paid, or perhaps paid, and not delivered, the oldest for 4 h: 2 parked for transaction_incomplete",
                    "Apple has never been asked for unreported purchases of a",
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
                    FROM generate_series(1, 3) AS n;
                    INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
                    SELECT environment, transaction_id, transaction_id, submission_id FROM orders
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

    @Test func eventsWithoutADeliveryAreToldHoweverFarTheyArePutOff() async throws {
        try await TestDatabase.with { pool in
            _ = try await pool.query(
                """
                INSERT INTO event_outbox (event_id, due_at, queued_at, alarmed_at)
                SELECT 'evt_' || n, now() + interval '1 year', now() - n * interval '4 minutes',
                    CASE WHEN n = 4 THEN now() END
                FROM generate_series(1, 4) AS n
                """)
            let found = try await findings(pool).filter { $0.subject == "events" }
            #expect(found.map(\.level) == [.wrong])
            #expect(
                found.first?.detail == "3 events have no delivery to any endpoint, the oldest for 16 min")
        }
    }

    @Test func rejectionsOfAWeekAndAllThatIsParkedAreCountedByReason() async throws {
        try await TestDatabase.with { pool in
            try await pool.withConnection { connection in
                try await connection.executeScript(
                    """
                    INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof, state, reason,
                        outcome, settled_at)
                    SELECT 'sub_' || n, 'a', 'b', 'transaction_id', 'k', 'r', n::text,
                        CASE WHEN n < 10 THEN 'rejected' ELSE 'parked' END,
                        CASE WHEN n < 4 THEN 'transaction_not_found' WHEN n < 10 THEN 'signature_invalid'
                            ELSE 'possession_unproven' END, '{}', now() - n * interval '1 day'
                    FROM generate_series(1, 12) AS n
                    """)
            }
            let findings = try await DatabaseCheck(pool: pool, grace: .seconds(60), comparesTables: false).run()
            let rejections = findings.filter { $0.subject == "rejections" }
            #expect(rejections.map(\.level) == [.warning, .good])
            #expect(
                rejections.map(\.detail) == [
                    "3 submissions were rejected in the last 7 days for transaction_not_found, the oldest 3 d ago",
                    "3 submissions were rejected in the last 7 days for signature_invalid, the oldest 6 d ago",
                ])
            #expect(rejections.first?.remedy?.contains("countersign submissions retry") == true)
            let parked = findings.filter { $0.subject == "parked posts" }
            #expect(parked.map(\.level) == [.warning])
            #expect(
                parked.first?.detail == "3 submissions are parked for possession_unproven, the oldest for 12 d")
        }
    }

    @Test func countingOutcomesReadsTheirIndexesAlone() async throws {
        try await TestDatabase.with { pool in
            try await pool.withConnection { connection in
                try await connection.executeScript(
                    """
                    INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof, state, reason,
                        outcome, settled_at)
                    SELECT 'sub_' || n, 'a', 'b', 'transaction_id', 'k', 'r', n::text,
                        CASE n % 100 WHEN 0 THEN 'rejected' WHEN 1 THEN 'parked' ELSE 'fulfilled' END,
                        'transaction_not_found', '{}', now() - n * interval '1 minute'
                    FROM generate_series(1, 20000) AS n
                    """)
                _ = try await connection.query("VACUUM ANALYZE submissions")
                for (condition, index) in [
                    ("state = 'rejected' AND settled_at > now() - interval '7 days'", "submissions_rejected"),
                    ("state = 'parked'", "submissions_parked"),
                ] {
                    let plan = try await connection.query(
                        "EXPLAIN SELECT reason, count(*), min(settled_at) FROM submissions WHERE \(unescaped: condition) GROUP BY 1"
                    )
                    let text = try plan.rows.map { try $0.decode("QUERY PLAN", as: String.self) }.joined()
                    #expect(text.contains("Index Only Scan using \(index)"), "\(text)")
                }
            }
        }
    }
}
