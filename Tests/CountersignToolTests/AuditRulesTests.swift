import ArgumentParser
import Persistence
import PersistenceTesting
import Postgres
import Synchronization
import Testing

@testable import CountersignTool

/// Every rule of `countersign books check`: a history that agrees is clean, and what breaks a rule is named by that rule.
@Suite(
    "Rules of the audit",
    .enabled(if: TestDatabase.url != nil, "SKIPPED: no PostgreSQL; run deploy/test, or set COUNTERSIGN_TEST_POSTGRES"))
struct AuditRulesTests {
    /// A change that nothing but a fault or a hand could make.
    struct Damage: Sendable, CustomTestStringConvertible {
        let rule: String
        let sql: String
        /// What the line about it has.
        let named: String
        /// Rules that cannot but be broken with it.
        var others: Set<String> = []

        var testDescription: String { "\(rule): \(named)" }
    }

    @Test func `a history that agrees is clean`() async throws {
        try await TestDatabase.with { pool in
            try await execute(AuditHistory.sql, in: pool)
            let report = try await ConsistencyCheck(pool: pool).run()
            for rule in report.rules { #expect(rule.examples.isEmpty, "\(rule.sentence)") }
            #expect(report.isClean)
            try await execute("ANALYZE", in: pool)
            let parts = try await ConsistencyCheck(pool: pool).run(rowsOfPart: 3)
            #expect(parts.isClean && parts.counts == report.counts)
            #expect(report.counts["orders_granted"] == 8 && report.counts["ledger_entries"] == 11)
            #expect(report.counts["order_transactions"] == 15)
            #expect(BooksCheckCommand.text(report).hasSuffix("clean: every rule holds"))
        }
    }

    @Test(arguments: damages)
    func `what breaks a rule is named`(damage: Damage) async throws {
        try await TestDatabase.with { pool in
            try await execute(AuditHistory.sql, in: pool)
            try await execute(damage.sql, in: pool)
            let report = try await ConsistencyCheck(pool: pool).run()
            let broken = report.rules.filter { $0.violations > 0 }
            #expect(Set(broken.map(\.name)) == damage.others.union([damage.rule]))
            let rule = try #require(broken.first { $0.name == damage.rule })
            #expect(rule.examples.contains { $0.contains(damage.named) }, "\(rule.examples)")
            #expect(BooksCheckCommand.text(report).contains("BROKEN \(rule.sentence)\n         \(rule.examples[0])"))
            // Parts of a row or two find what one statement finds.
            try await execute("ANALYZE", in: pool)
            let parts = try await ConsistencyCheck(pool: pool).run(rules: Set(broken.map(\.name)), rowsOfPart: 1)
            for (one, other) in zip(broken, parts.rules) {
                #expect(one.name == other.name && one.violations == other.violations && one.examples == other.examples)
            }
        }
    }

    @Test func `rules of their choice are looked at in parts, and how far it is, is told`() async throws {
        try await TestDatabase.with { pool in
            try await execute(AuditHistory.sql, in: pool)
            try await execute("ANALYZE", in: pool)
            let told = Mutex<[String]>([])
            let report = try await ConsistencyCheck(pool: pool).run(
                rules: ["granted_orders_have_one_event", "balances_equal_entries"], rowsOfPart: 5
            ) { progress in
                told.withLock { $0.append(BooksCheckCommand.text(progress)) }
            }
            #expect(report.rules.map(\.name) == ["balances_equal_entries", "granted_orders_have_one_event"])
            #expect(report.isClean && report.counts.isEmpty)
            #expect(BooksCheckCommand.text(report).hasPrefix("ok     balances equal the sum of entries\n"))
            #expect(
                told.withLock { $0 } == [
                    "1 of 2: balances_equal_entries", "2 of 2: granted_orders_have_one_event, part 1 of 3",
                    "2 of 2: granted_orders_have_one_event, part 2 of 3",
                    "2 of 2: granted_orders_have_one_event, part 3 of 3",
                ])
        }
    }

    @Test func `rules have names that the command knows`() throws {
        #expect(throws: (any Error).self) { try BooksCheckCommand.parse(["--rule", "balances"]) }
        #expect(throws: Never.self) {
            try BooksCheckCommand.parse(["--rule", "books_balance", "--rule", "spends_are_covered"])
        }
    }

    @Test func `who wants no examples is told how many there are all the same`() async throws {
        try await TestDatabase.with { pool in
            try await execute(AuditHistory.sql, in: pool)
            try await execute("UPDATE balances SET amount = amount + 1", in: pool)
            let report = try await ConsistencyCheck(pool: pool).run(examplesMaximum: 0)
            #expect(!report.isClean)
            let rule = try #require(report.rules.first { $0.name == "balances_equal_entries" })
            #expect(rule.violations == 3 && rule.examples.isEmpty)
            #expect(BooksCheckCommand.text(report).contains("BROKEN \(rule.sentence)\n         and 3 more"))
        }
    }

    @Test func `every rule has its damage`() async throws {
        try await TestDatabase.with { pool in
            let names = try await ConsistencyCheck(pool: pool).run().rules.map(\.name)
            #expect(Set(names).count == names.count)
            #expect(Set(names) == Set(Self.damages.map(\.rule)))
        }
    }

    private func execute(_ sql: String, in pool: PostgresPool) async throws {
        try await pool.withConnection { try await $0.executeScript(sql) }
    }

    private static let damages =
        ledger + orders + purchases + grants + owners + entitlements + subscriptions + events + forgetting

    private static let forgetting = [
        Damage(
            rule: "forgotten_accounts_keep_nothing",
            sql: """
                INSERT INTO forget_requests (id, app, account, pseudonym, asked_by, reason, renamed_at)
                VALUES ('fgt_1', 'a', 'anna', 'forgotten-00000000-0000-4000-8000-000000000000', 'eve', 'asked', now())
                """,
            named: "anna of a has an entry of the ledger from before the request fgt_1"),
        Damage(
            rule: "pseudonyms_say_nothing",
            sql: """
                INSERT INTO account_consents (app, account, consented)
                VALUES ('a', 'forgotten-00000000-0000-4000-8000-000000000000', true)
                """,
            named: "forgotten-00000000-0000-4000-8000-000000000000 of a has a consent"),
    ]

    /// Lets a test write what the tables refuse.
    static let unlock = """
        ALTER TABLE ledger_entries DISABLE TRIGGER USER, DROP CONSTRAINT ledger_entries_have_an_order,
            DROP CONSTRAINT ledger_entries_spend_id_fkey, DROP CONSTRAINT ledger_entries_audit_id_fkey;
        ALTER TABLE binding_history DISABLE TRIGGER USER;
        ALTER TABLE spends DISABLE TRIGGER USER;

        """

    private static let ledger = [
        Damage(
            rule: "balances_equal_entries",
            sql: """
                UPDATE balances SET amount = amount + 1 WHERE item = 'badge';
                INSERT INTO balances VALUES ('production', 'a', 'fay', 'badge', -1)
                """, named: "anna badge: balance 2, entries 1"),
        Damage(
            rule: "books_balance", sql: "UPDATE balances SET amount = 226 WHERE item = 'gem'",
            named: "gem: held 226, issued 255, spent 30", others: ["balances_equal_entries"]),
        Damage(
            rule: "entries_belong_to_their_order",
            sql: unlock + """
                UPDATE ledger_entries SET account = 'ben' WHERE transaction_id = 'c1';
                UPDATE balances SET amount = 125 WHERE item = 'gem';
                INSERT INTO balances VALUES ('production', 'a', 'ben', 'gem', 100)
                """, named: "c1 of ben, order is granted of anna"),
        Damage(
            rule: "entries_belong_to_their_order",
            sql: unlock + "UPDATE ledger_entries SET transaction_id = 'c9' WHERE transaction_id = 'c1'",
            named: "c9 has no order", others: ["granted_orders_have_entries", "events_tell_what_was_granted"]),
        Damage(
            rule: "entries_belong_to_their_order",
            sql: unlock + "UPDATE ledger_entries SET transaction_id = 'c4' WHERE transaction_id = 'c1'",
            named: "c4 of anna, order is revoked of nobody and was never granted",
            others: ["granted_orders_have_entries", "events_tell_what_was_granted"]),
        Damage(
            rule: "entries_belong_to_their_spend",
            sql: unlock + "UPDATE spends SET account = 'ben'", named: "anna, spend 1 is of production a ben"),
        Damage(
            rule: "entries_belong_to_their_spend",
            sql: unlock + "UPDATE ledger_entries SET spend_id = 7 WHERE kind = 'spend'", named: "spend 7 is not there",
            others: ["spends_equal_their_entries"]),
        Damage(
            rule: "entries_belong_to_their_audit_row",
            sql: "UPDATE audit_log SET subject = 'production a ben'",
            named: "anna, audit row 1 is adjust production a ben"
        ),
        Damage(
            rule: "entries_are_numbered",
            sql: unlock + "UPDATE ledger_entries SET sequence = 2 WHERE transaction_id = 'c1'",
            named: "grant of production c1: 1 entries, highest 2"),
        Damage(
            rule: "taken_back_is_what_was_brought",
            sql: unlock + """
                UPDATE ledger_entries SET amount = -101 WHERE transaction_id = 'c2' AND kind = 'revocation';
                UPDATE balances SET amount = 174 WHERE item = 'gem';
                UPDATE events SET body = replace(body, '-50', '-101')
                """, named: "c2, gem of anna: granted 100, corrected 0, taken 101, given back 0, order is revoked"),
        Damage(
            rule: "taken_back_is_what_was_brought",
            sql: unlock + """
                UPDATE ledger_entries SET amount = 60 WHERE transaction_id = 'c3' AND kind = 'reversal';
                UPDATE balances SET amount = 185 WHERE item = 'gem';
                UPDATE events SET body = replace(body, '100', '60') WHERE type = 'iap.refund.reversed'
                """, named: "c3, gem of anna: granted 100, corrected 0, taken 100, given back 60, order is granted"),
        Damage(
            rule: "taken_back_is_what_was_brought",
            sql: """
                INSERT INTO ledger_entries (environment, transaction_id, kind, sequence, app, account, item, amount)
                VALUES ('production', 'b1', 'revocation', 1, 'a', 'gina', 'coin', -6);
                UPDATE balances SET amount = -1 WHERE item = 'coin';
                UPDATE orders SET state = 'revoked', reason = 'revoked_by_apple' WHERE transaction_id = 'b1';
                INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body)
                VALUES ('evt_21', 'iap.refund.granted', 'production', 'a', 'gina', 2, 'b1', 'b1',
                    '{"data": {"entries": [{"item": "coin", "amount": -6}]}}');
                UPDATE account_sequences SET last_sequence = 2 WHERE account = 'gina'
                """, named: "b1, coin of gina: granted 20, corrected 15, taken 6, given back 0, order is revoked"),
        Damage(
            rule: "spends_equal_their_entries",
            sql: unlock + #"UPDATE spends SET answer = '{"items": [{"item": "gem", "amount": 31}]}'"#,
            named: "spend 1, gem: answered 31, entries 30"),
        Damage(
            rule: "spends_are_covered",
            sql: unlock + #"""
                UPDATE ledger_entries SET amount = -260 WHERE kind = 'spend';
                UPDATE spends SET answer = '{"items": [{"item": "gem", "amount": 260}]}';
                UPDATE balances SET amount = -5 WHERE item = 'gem'
                """#, named: "spend 1 of production a anna: -10 gem left"),
    ]

    private static let orders = [
        Damage(
            rule: "granted_orders_have_entries",
            sql: "DELETE FROM entitlements WHERE transaction_id = 'n2'; DELETE FROM lineage_shares",
            named: "n2 of anna",
            others: ["granted_orders_have_entitlements"]),
        Damage(
            rule: "granted_elsewhere_is_not_granted_here",
            sql: "UPDATE orders SET granted_elsewhere = true WHERE transaction_id = 'c1'",
            named: "production c1 of anna: entry 1, 100 gem"),
        Damage(
            rule: "unclaimed_orders_are_nobodys",
            sql: "UPDATE orders SET account = 'fay' WHERE transaction_id = 'p1'", named: "production p1"),
        Damage(
            rule: "orders_have_their_catalogue",
            sql: "UPDATE orders SET catalogue_version = 99 WHERE transaction_id = 'p1'",
            named: "production p1: catalogue 99"),
        Damage(
            rule: "fulfilled_submissions_have_orders",
            sql: "UPDATE submissions SET account = 'ben' WHERE id = 'sub_c1'", named: "sub_c1 of ben"),
        Damage(
            rule: "parked_submissions_wait", sql: "DELETE FROM submission_transactions",
            named: "sub_p1 of fay: claim_unnamed"),
        Damage(
            rule: "proofs_have_their_header",
            sql:
                "INSERT INTO submission_proofs (submission_id, received_at, header, rest) VALUES ('sub_c1', now(), 'gone', '')",
            named: "sub_c1"),
        Damage(
            rule: "unsettled_submissions_have_their_proof",
            sql: "UPDATE submissions SET proof_at = now() WHERE id = 'sub_p1'", named: "sub_p1 of fay: parked"),
    ]

    private static let owners = [
        Damage(
            rule: "granted_orders_are_their_lineages",
            sql: """
                UPDATE orders SET account = 'cleo' WHERE transaction_id = 's1';
                UPDATE entitlements SET account = 'cleo' WHERE transaction_id = 's1'
                """, named: "s1 of cleo: lineage s1 is of anna"),
        Damage(
            rule: "granted_orders_are_their_lineages", sql: "DELETE FROM lineages WHERE original_transaction_id = 'k1'",
            named: "k1 of dora: lineage k1 is not there"),
        Damage(
            rule: "lineages_follow_their_history",
            sql: unlock + "DELETE FROM binding_history WHERE original_transaction_id = 'k1'",
            named: "k1: of dora, history says nothing"),
        Damage(
            rule: "bindings_go_on_from_each_other",
            sql: unlock + "UPDATE binding_history SET from_account = 'cleo' WHERE cause = 'transfer'",
            named: "n1: from cleo, and it was of anna"),
        Damage(
            rule: "tokens_name_the_account", sql: "UPDATE account_tokens SET account = 'ben'",
            named: "c1: granted to anna, token of ben", others: ["items_are_with_their_token"]),
        Damage(
            rule: "items_are_with_their_token", sql: "UPDATE account_tokens SET account = 'ben'",
            named: "n1: 1 badge went to anna, token of ben", others: ["tokens_name_the_account"]),
        Damage(
            rule: "shares_have_an_owner",
            sql: "UPDATE lineage_shares SET account = 'anna'", named: "n2: shared with anna, is of anna",
            others: ["entitlements_belong_to_their_order"]),
    ]

    private static let entitlements = [
        Damage(
            rule: "entitlements_belong_to_their_order",
            sql: "UPDATE entitlements SET account = 'anna' WHERE transaction_id = 'n1'",
            named: "pro of anna: order production n1 is granted of ben", others: ["granted_orders_have_entitlements"]),
        Damage(
            rule: "granted_orders_have_entitlements", sql: "DELETE FROM entitlements WHERE transaction_id = 'n1'",
            named: "pro of ben: order production n1"),
        Damage(
            rule: "entitlements_are_taken_with_cause",
            sql: "UPDATE entitlements SET revoked_at = now(), revoked_because = 'refund' WHERE transaction_id = 'n1'",
            named: "pro of ben: order production n1 is granted, and it is taken back because refund"),
        Damage(
            rule: "entitlements_are_taken_with_cause", sql: "DELETE FROM rescinded_consents",
            named: "hat of dora: order production k1 is granted, and it is taken back because consent_rescinded"),
        Damage(
            rule: "revoked_orders_entitle_to_nothing",
            sql: "UPDATE entitlements SET revoked_at = NULL, revoked_because = NULL WHERE transaction_id = 'n3'",
            named: "hat of anna: order production n3 is revoked"),
        Damage(
            rule: "rescinded_consents_end_entitlements",
            sql: "UPDATE entitlements SET revoked_at = NULL, revoked_because = NULL WHERE transaction_id = 'k1'",
            named: "hat of dora: order production k1"),
        Damage(
            rule: "rescinded_consents_follow_the_customer",
            sql: "DELETE FROM rescinded_consents WHERE customer = 't:k1'",
            named: "t:k1 of production a: order k1"),
    ]

    private static let subscriptions = [
        Damage(
            rule: "subscriptions_have_their_order", sql: "UPDATE subscriptions SET transaction_id = 's9'",
            named: "s1 of anna, active: order s9 is not there"),
        Damage(
            rule: "subscriptions_have_their_order",
            sql: "UPDATE subscriptions SET account = 'ben'", named: "s1 of ben, active: order s2 is granted of anna"),
        Damage(
            rule: "periods_have_their_subscription", sql: "DELETE FROM subscriptions", named: "production s1 of anna"),
        Damage(
            rule: "lineages_have_one_subscription",
            sql: """
                INSERT INTO lineage_members (environment, original_transaction_id, lineage_id, app, cause, transaction_id,
                    submission_id)
                VALUES ('production', 's0', 's1', 'a', 'transaction', 's1', 'sub_s1');
                INSERT INTO subscriptions SELECT environment, 's0', app, account, state, product_id, transaction_id,
                    expires_date, access_until, due_at, changed_at, standing FROM subscriptions
                """, named: "s0: a subscription is under it, its lineage is s1",
            others: ["subscriptions_have_their_order"]),
        Damage(
            rule: "lineages_have_one_subscription",
            sql: """
                INSERT INTO lineage_members (environment, original_transaction_id, lineage_id, app, cause, transaction_id,
                    submission_id)
                VALUES ('production', 'p1', 'n2', 'a', 'previous_original', 'n2', 'sub_n2')
                """, named: "p1: order p1 is under it, its lineage is n2"),
        Damage(
            rule: "subscriptions_end_by_the_clock", sql: "UPDATE subscriptions SET due_at = NULL",
            named: "s1, active: expires"),
        Damage(
            rule: "subscriptions_end_by_the_clock",
            sql: "UPDATE subscriptions SET access_until = expires_date - interval '1 day'", named: "s1, active: expires"
        ),
    ]

    private static let events = [
        Damage(
            rule: "events_tell_what_was_granted",
            sql: "UPDATE events SET body = replace(body, '100', '500') WHERE id = 'evt_1'",
            named: "c1 gem: told 500, entries 100"),
        Damage(
            rule: "events_tell_what_was_taken", sql: "UPDATE events SET body = replace(body, '-50', '-5')",
            named: "c2 gem: told -5, entries -50"),
        Damage(
            rule: "granted_orders_have_one_event",
            sql: "UPDATE events SET transaction_id = 'n2' WHERE id = 'evt_6'", named: "n2: 2 events"),
        Damage(
            rule: "granted_orders_have_one_event",
            sql: "UPDATE events SET transaction_id = 'b2' WHERE id = 'evt_6'", named: "b2: 1 events"),
        Damage(
            rule: "revoked_orders_have_their_event",
            sql: "UPDATE events SET type = 'iap.other' WHERE id = 'evt_12'", named: "n3 is revoked: nobody heard of it"),
        Damage(
            rule: "revoked_orders_have_their_event",
            sql: "UPDATE orders SET state = 'revoked', reason = 'revoked_by_apple' WHERE transaction_id = 'c3'",
            named: "c3 is revoked: its account heard last of iap.refund.reversed"),
        Damage(
            rule: "sequences_have_no_gaps",
            sql: "UPDATE account_sequences SET last_sequence = 99 WHERE account = 'ben'",
            named: "production a ben: last 99, events 1, highest 1"),
        Damage(
            rule: "sequences_have_no_gaps",
            sql: "DELETE FROM account_sequences WHERE account = 'ben'; \(eventsDropped)",
            named: "production a ben: last , events 1, highest 1"),
        Damage(
            rule: "orders_have_their_submission",
            sql: "UPDATE orders SET submission_id = 'gone', created_at = now() WHERE transaction_id = 'p1'; "
                + "INSERT INTO retention_marks VALUES ('notifications', now() - interval '200 days')",
            named: "production p1: submission gone is not there"),
    ]

    /// Retention has dropped what is older than a year: what is younger is compared all the same.
    private static let eventsDropped =
        "INSERT INTO retention_marks VALUES ('events', now() - interval '400 days')"
}
