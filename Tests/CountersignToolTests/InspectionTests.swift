import Foundation
import Persistence
import PersistenceTesting
import Postgres
import Testing

@testable import CountersignTool

/// What inspect, audit, redrive and doctor say of a real database whose content is known.
@Suite(.enabled(if: TestDatabase.url != nil, "SKIPPED: COUNTERSIGN_TEST_POSTGRES is not set"))
struct InspectionTests {
    /// A granted purchase of `player-1` with entry, balance, event and delivery, all in agreement.
    private static let purchase = """
        INSERT INTO submissions (id, state, app, account, kind, partition_key, correlation_id, settled_at, outcome, proof)
        VALUES ('sub_1', 'fulfilled', 'a', 'player-1', 'signed_transaction', '1000', 'req_1', now(),
            '{"transactions": [{"environment": "sandbox", "transaction_id": "1000"}]}', 'x.y.z');
        INSERT INTO orders (environment, transaction_id, state, account, app, product_id, product_type, quantity,
            original_transaction_id, purchase_date, signed_date, submission_id, correlation_id, granted_at, transaction)
        VALUES ('sandbox', '1000', 'granted', 'player-1', 'a', 'gems.100', 'consumable', 1, '1000', now(), now(),
            'sub_1', 'req_1', now(), '{}');
        INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount)
        VALUES ('sandbox', '1000', 'grant', 1, 'a', 'player-1', 'gem', 100);
        INSERT INTO balances VALUES ('sandbox', 'a', 'player-1', 'gem', 100);
        INSERT INTO account_sequences VALUES ('sandbox', 'a', 'player-1', 1);
        INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body)
        VALUES ('evt_1', 'iap.transaction.fulfilled', 'sandbox', 'a', 'player-1', 1, '1000', 'player-1',
            '{"data": {"entries": [{"item": "gem", "amount": 100}], "entitlements": []}}');
        INSERT INTO webhook_deliveries (event_id, endpoint_id, state) VALUES ('evt_1', 'backend', 'delivered');
        """

    private func withPurchase(_ body: (PostgresPool) async throws -> Void) async throws {
        try await TestDatabase.with { pool in
            try await execute(Self.purchase, in: pool)
            try await body(pool)
        }
    }

    private func execute(_ script: String, in pool: PostgresPool) async throws {
        try await pool.withConnection { try await $0.executeScript(script) }
    }

    @Test(arguments: ["sub_1", "1000", "evt_1"])
    func inspectFindsTheWholeStoryByAnyId(id: String) async throws {
        try await withPurchase { pool in
            let json = try #require(try await InspectionStore(pool: pool).inspect(id))
            let text = try Dossier(json: json).text
            #expect(text.contains("sub_1  fulfilled"))
            #expect(text.contains("sandbox 1000  granted to player-1"))
            #expect(text.contains("sandbox 1000 grant 1: 100 gem to player-1"))
            #expect(text.contains("sandbox player-1: 100 gem"))
            #expect(text.contains("evt_1  iap.transaction.fulfilled of 1000, number 1 of player-1"))
            #expect(text.contains("evt_1 to backend: delivered"))
            #expect(!json.contains("x.y.z"), "the proof stays in the database")
        }
    }

    @Test func inspectKnowsNothingOfAStranger() async throws {
        try await withPurchase { pool in
            let found = try await InspectionStore(pool: pool).inspect("2000")
            #expect(found == nil)
        }
    }

    @Test(arguments: ["sub_1", "1000"])
    func inspectShowsWhatWasPostedAndWhatIsWrong(id: String) async throws {
        try await withPurchase { pool in
            try await execute(
                """
                UPDATE submissions SET kind = 'receipt', named_transaction_id = '1000',
                    expected_environment = 'production', alarmed_at = '2026-01-02T03:04:05Z';
                UPDATE orders SET test_purchase = 'app_review';
                """, in: pool)
            let json = try #require(try await InspectionStore(pool: pool).inspect(id))
            let text = try Dossier(json: json).text
            #expect(text.contains("receipt of 5 bytes"))
            #expect(text.contains("names the transaction 1000"))
            #expect(text.contains("the app expects production"))
            #expect(text.contains("ALARM: without an outcome for too long, told 2026-01-02 03:04:05Z"))
            #expect(text.contains("a test purchase (app_review)"))
        }
    }

    @Test func inspectFindsWhoAskedAboutATransactionThatNobodyKnowsYet() async throws {
        try await TestDatabase.with { pool in
            try await execute(
                """
                INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, due_at, proof,
                    named_transaction_id)
                VALUES ('sub_7', 'a', 'p', 'transaction_id', '7000', 'r', now(), '7000', NULL),
                    ('sub_8', 'a', 'p', 'receipt', '7000', 'r', now(), 'MIIB', '7000'),
                    ('sub_9', 'a', 'p', 'signed_transaction', '7000', 'r', now(), 'x.y.z', NULL)
                """, in: pool)
            let json = try #require(try await InspectionStore(pool: pool).inspect("7000"))
            let dossier = try Dossier(json: json)
            #expect(Set(dossier.submissions.map(\.id)) == ["sub_7", "sub_8"])
            #expect(dossier.orders.isEmpty)
        }
    }

    @Test func auditOfWhatAgreesIsClean() async throws {
        try await withPurchase { pool in
            let report = try await ConsistencyCheck(pool: pool).run()
            #expect(report.isClean)
            #expect(report.counts["orders_granted"] == 1)
        }
    }

    @Test(arguments: [
        ("UPDATE balances SET amount = 200", "balances_equal_entries"),
        ("UPDATE orders SET account = 'player-2'", "entries_belong_to_their_order"),
        ("DELETE FROM webhook_deliveries; DELETE FROM events", "granted_orders_have_one_event"),
        (
            """
            UPDATE events SET body = '{"data": {"entries": [{"item": "gem", "amount": 500}], "entitlements": []}}'
            """, "events_tell_what_was_granted"
        ),
        ("UPDATE submissions SET account = 'player-9'", "fulfilled_submissions_have_orders"),
        ("UPDATE account_sequences SET last_sequence = 2", "sequences_have_no_gaps"),
        (
            "UPDATE orders SET app_account_token = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'",
            "tokens_name_the_account"
        ),
        (
            """
            ALTER TABLE ledger_entries DISABLE TRIGGER USER; DELETE FROM ledger_entries; DELETE FROM balances
            """, "granted_orders_have_entries"
        ),
    ])
    func auditNamesTheRuleThatIsBroken(damage: String, rule: String) async throws {
        try await withPurchase { pool in
            try await execute(damage, in: pool)
            let report = try await ConsistencyCheck(pool: pool).run()
            let broken = try #require(report.rules.first { $0.name == rule })
            #expect(broken.violations > 0 && !broken.examples.isEmpty)
            #expect(!report.isClean)
            #expect(AuditCommand.text(report).contains("BROKEN \(broken.sentence)"))
        }
    }

    @Test func redriveSetsBackWhatWasRefusedAndNotesWho() async throws {
        try await withPurchase { pool in
            try await execute(
                """
                INSERT INTO submissions (id, state, reason, app, account, kind, partition_key, correlation_id,
                    settled_at, outcome, proof)
                VALUES ('sub_2', 'rejected', 'sandbox_refused', 'a', 'p', 'signed_transaction', '1', 'r', now(),
                        '{}', 'x'),
                    ('sub_3', 'rejected', 'bundle_mismatch', 'a', 'p', 'signed_transaction', '1', 'r', now(),
                        '{}', 'x')
                """, in: pool)
            let redriven = try await ManualRedrive(pool: pool).redrive(
                .rejected(reason: "sandbox_refused"), reason: "the policy was wrong", actor: "alex", limit: 10)
            #expect(redriven.map(\.id) == ["sub_2"])
            #expect(redriven.map(\.previousState) == ["rejected"])
            let rows = try await pool.query(
                "SELECT state, due_at <= now() AS due, outcome IS NULL AS open FROM submissions WHERE id = 'sub_2'"
            ).rows
            let row = try #require(rows.first)
            #expect(try row.decode("state", as: String.self) == "received")
            #expect(try row.decode("due", as: Bool.self) && row.decode("open", as: Bool.self))
            let audit = try await pool.query("SELECT actor, subject, reason FROM audit_log").rows
            #expect(try audit.map { try $0.decode("subject", as: String.self) } == ["sub_2"])
            #expect(try audit.first?.decode("actor", as: String.self) == "alex")
        }
    }

    @Test func redriveLeavesFulfilledOnesAlone() async throws {
        try await withPurchase { pool in
            let redriven = try await ManualRedrive(pool: pool).redrive(
                .ids(["sub_1", "sub_9"]), reason: "x", actor: "alex", limit: 10)
            #expect(redriven.isEmpty)
        }
    }

    @Test func backlogSeesWhatIsOverdueParkedAndSwitchedOff() async throws {
        try await withPurchase { pool in
            try await execute(
                """
                UPDATE events SET due_at = now() - interval '1 hour';
                INSERT INTO webhook_deliveries (event_id, endpoint_id, due_at)
                VALUES ('evt_1', 'off', now() - interval '1 hour');
                INSERT INTO webhook_endpoints (id, disabled_at, disabled_reason) VALUES ('off', now(), '410 Gone');
                INSERT INTO orders (environment, transaction_id, state, reason, app, product_id, product_type,
                    quantity, original_transaction_id, purchase_date, signed_date, submission_id, correlation_id,
                    transaction)
                VALUES ('production', '7', 'parked', 'product_unknown', 'a', 'x', 'consumable', 1, '7', now(),
                    now(), 'sub_1', 'r', '{}')
                """, in: pool)
            let backlog = BacklogStore(pool: pool)
            let overdue = try await backlog.overdue(grace: .seconds(60))
            #expect(overdue.map(\.table) == ["events"], "a delivery to an endpoint that is off is not late")
            #expect(try await backlog.overdue(grace: .seconds(7200)).isEmpty)
            #expect(try await backlog.parkedOrders().map(\.reason) == ["product_unknown"])
            let disabled = try await backlog.disabledEndpoints()
            #expect(disabled.map(\.id) == ["off"] && disabled.map(\.pending) == [1])
            #expect(try await backlog.serverSettings().isFsyncOn)
        }
    }
}
