import Foundation
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import CountersignTool

/// What inspect, audit, redrive and doctor say of a real database whose content is known.
@Suite(.enabled(if: TestDatabase.url != nil, "SKIPPED: COUNTERSIGN_TEST_POSTGRES is not set"))
struct InspectionTests {
    /// A granted purchase of `player-1` with entry, balance, event and delivery, all in agreement.
    static let purchase = """
        INSERT INTO submissions (id, state, app, account, kind, partition_key, correlation_id, settled_at, outcome, proof)
        VALUES ('sub_1', 'fulfilled', 'a', 'player-1', 'signed_transaction', '1000', 'req_1', now(),
            '{"transactions": [{"environment": "sandbox", "transaction_id": "1000"}]}', 'x.y.z');
        INSERT INTO orders (environment, transaction_id, state, account, app, product_id, product_type, quantity,
            original_transaction_id, purchase_date, signed_date, submission_id, correlation_id, granted_at, transaction)
        VALUES ('sandbox', '1000', 'granted', 'player-1', 'a', 'gems.100', 'consumable', 1, '1000', now(), now(),
            'sub_1', 'req_1', now(), '{}');
        INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
        VALUES ('sandbox', '1000', '1000', 'sub_1');
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

    @Test func inspectHasWhatAppleWasTold() async throws {
        try await withPurchase { pool in
            try await execute(
                """
                INSERT INTO apple_calls (kind, environment, app, transaction_id, order_transaction_id, state, finished_at,
                    attempts, status) VALUES ('finish', 'sandbox', 'a', '1000', '1000', 'done', now(), 1, 200)
                """, in: pool)
            let text = try Dossier(json: #require(try await InspectionStore(pool: pool).inspect("1000"))).text
            #expect(text.contains("finish of sandbox 1000, queued"), "\(text)")
            #expect(text.contains("1 attempts (HTTP 200)"), "\(text)")
        }
    }

    @Test func inspectFindsWhatAnOperatorGaveByTheIdOfItsEvent() async throws {
        try await TestDatabase.with { pool in
            _ = try await LedgerStore.adjust(
                environment: .production, app: "a", account: Account(stored: "alice"),
                items: [.init(item: "dust", amount: -5), .init(item: "gem", amount: 100)], actor: "ada",
                reason: "lost in the outage", allowsDebt: true, pool: pool)
            let id = try await pool.query("SELECT id FROM events").rows[0].decode("id", as: String.self)
            let json = try #require(try await InspectionStore(pool: pool).inspect(id))
            let text = try Dossier(json: json).text
            #expect(text.contains("\(id)  iap.account.adjusted, number 1 of alice"), "\(text)")
            #expect(text.contains("production by hand adjustment 1: 5 dust from alice"), "\(text)")
            #expect(text.contains("production by hand adjustment 2: 100 gem to alice"), "\(text)")
            #expect(text.contains("production alice: 100 gem"), "\(text)")
            #expect(text.contains("ada adjust production a alice: lost in the outage"), "\(text)")
        }
    }

    @Test(arguments: ["sub_1", "1000", "evt_1"])
    func inspectShowsWhoseItBecameAndWhatWasTakenBack(id: String) async throws {
        try await withPurchase { pool in
            try await execute(
                """
                UPDATE orders SET state = 'revoked', reason = 'revoked_by_apple', account = 'player-2',
                    revocation_date = '2026-01-02T03:04:05Z', revocation_type = 'REFUND_PRORATED',
                    revocation_percentage = 50500, revoked_at = '2026-01-02T03:05:05Z';
                INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount)
                VALUES ('sandbox', '1000', 'revocation', 1, 'a', 'player-1', 'gem', -50);
                INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, revoked_at,
                    revoked_because)
                VALUES ('sandbox', 'a', 'player-2', 'vip', '1000', '2026-01-02T03:05:05Z', 'refund'),
                    ('sandbox', 'a', 'player-3', 'vip', '1000', '2026-01-02T03:05:05Z', 'refund');
                INSERT INTO audit_log (actor, action, subject, reason)
                VALUES ('ada', 'claim', 'sandbox 1000 player-2', 'her letter');
                INSERT INTO operator_claims (audit_id, environment, transaction_id, account)
                SELECT max(id), 'sandbox', '1000', 'player-2' FROM audit_log;
                INSERT INTO binding_history (environment, original_transaction_id, app, from_account, to_account, cause,
                    policy, submission_id)
                VALUES ('sandbox', '1000', 'a', NULL, 'player-1', 'possession', NULL, 'sub_1'),
                    ('sandbox', '1000', 'a', 'player-1', 'player-2', 'transfer', 'transfer', 'sub_2');
                INSERT INTO subscriptions (environment, original_transaction_id, app, account, state, product_id,
                    transaction_id, expires_date, access_until, standing)
                VALUES ('sandbox', '1000', 'a', 'player-2', 'revoked', 'pass', '1000', '2026-01-02T03:04:05Z',
                    '2026-01-02T03:04:05Z', '{}')
                """, in: pool)
            let text = try Dossier(json: #require(try await InspectionStore(pool: pool).inspect(id))).text
            for line in [
                "revoked by Apple 2026-01-02 03:04:05Z (REFUND_PRORATED), 50.500 % of it, taken up 2026-01-02 03:05:05Z",
                "sandbox 1000 revocation 1: 50 gem from player-1",
                "sandbox player-2: vip by 1000, taken back 2026-01-02 03:05:05Z (refund)",
                "sandbox player-3: vip by 1000, taken back", "sandbox 1000: nobody → player-1",
                "sandbox 1000: player-1 → player-2", "(transfer, policy transfer, submission sub_2)",
                "sandbox 1000  revoked, pass by 1000 of player-2; no access, so since",
                "ada claim sandbox 1000 player-2: her letter",
            ] {
                #expect(text.contains(line), "\(line) is not in \(text)")
            }
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
            #expect(BooksCheckCommand.text(report).contains("BROKEN \(broken.sentence)"))
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
            let redriven = try await SubmissionStore(pool: pool).redrive(
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
            let redriven = try await SubmissionStore(pool: pool).redrive(
                .ids(["sub_1", "sub_9"]), reason: "x", actor: "alex", limit: 10)
            #expect(redriven.isEmpty)
        }
    }

    @Test func backlogSeesWhatFulfillmentLeftOfTheClockAndOfOperators() async throws {
        try await withPurchase { pool in
            try await execute(
                """
                INSERT INTO audit_log (actor, action, subject, reason) VALUES ('ada', 'claim', 'sandbox 7 p', 'r');
                INSERT INTO operator_claims (audit_id, environment, transaction_id, account, due_at)
                SELECT id, 'sandbox', '7', 'p', now() - interval '1 hour' FROM audit_log;
                INSERT INTO subscriptions (environment, original_transaction_id, app, state, product_id, transaction_id,
                    expires_date, access_until, due_at, standing)
                SELECT 'sandbox', n::text, 'a', 'active', 'p', n::text, now(), now(),
                    CASE n WHEN 1 THEN now() - interval '2 hours' WHEN 2 THEN now() + interval '1 hour' END, '{}'
                FROM generate_series(1, 3) AS n;
                INSERT INTO entitlements (environment, app, account, entitlement, transaction_id, expires_at, end_told_at,
                    revoked_at, revoked_because)
                SELECT 'sandbox', 'a', 'p', 'season', n::text, now() - interval '1 hour',
                    CASE n WHEN 2 THEN now() END, CASE n WHEN 3 THEN now() END, CASE n WHEN 3 THEN 'refund' END
                FROM generate_series(1, 3) AS n
                """, in: pool)
            let overdue = try await BacklogStore(pool: pool).overdue(grace: .seconds(60))
            #expect(overdue.map(\.table) == ["entitlements", "operator_claims", "subscriptions"])
            #expect(overdue.map(\.count) == [1, 1, 1])
            for finding in DatabaseCheck.judge(overdue: overdue, oldestUnsettled: nil) {
                #expect(finding.level == .wrong && finding.remedy?.contains("is fulfillment running") == true)
            }
        }
    }

    @Test func backlogSeesWhatIsOverdueParkedAndSwitchedOff() async throws {
        try await withPurchase { pool in
            try await execute(
                """
                INSERT INTO event_outbox (event_id, due_at) SELECT id, now() - interval '1 hour' FROM events;
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
