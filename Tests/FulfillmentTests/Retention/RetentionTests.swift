import Messages
import PersistenceTesting
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import Fulfillment
@testable import Persistence

/// What expires goes, what is the books' stays, and nothing goes that is still wanted.
@Suite("Retention", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct RetentionTests {
    private func buy(_ id: String, _ shop: RetentionBench, account: String = "player") async throws {
        try await shop.bench.settle([
            try await shop.bench.verdict(
                "sub_\(id)", .genuine([Bench.signed(id)]), account: account, claims: [id])
        ])
    }

    private func makeOldMonths(_ shop: RetentionBench) async throws {
        for table in PartitionStore.Table.allCases { try await shop.makeOldMonth(table) }
    }

    @Test func `events, deliveries and proofs of an old month are dropped, and the books agree without them`()
        async throws
    {
        try await RetentionBench.with { (shop) async throws in
            try await makeOldMonths(shop)
            try await buy("one", shop)
            try await buy("two", shop)
            try await shop.deliver()
            try await shop.age()
            try await buy("three", shop)
            try await shop.bench.expectClean()
            #expect(try await shop.proof("sub_one") == "cmVjZWlwdA==")

            try await shop.look()

            for table in PartitionStore.Table.allCases {
                #expect(try await !shop.isThere("\(table.rawValue)_\(RetentionBench.month)"))
            }
            #expect(try await shop.bench.number("SELECT count(*) FROM events") == 1)
            #expect(try await shop.proof("sub_one") == nil)
            #expect(try await shop.proof("sub_three") == "cmVjZWlwdA==")
            #expect(try await shop.bench.number("SELECT sum(amount) FROM ledger_entries") == 300)
            try await shop.bench.expectClean()
            // The account's numbers go on.
            #expect(try await shop.bench.number("SELECT sequence FROM events") == 3)
            // What was granted is answered as it was, and never granted again.
            try await buy("one", shop)
            #expect(try await shop.bench.number("SELECT sum(amount) FROM ledger_entries") == 300)
            #expect(try await shop.bench.outcome("sub_one")?.state == .fulfilled)
        }
    }

    @Test func `calls to Apple and findings that are over go, and what is still to be made stays however old it is`()
        async throws
    {
        try await RetentionBench.with { (shop) async throws in
            try await shop.execute(
                """
                INSERT INTO apple_calls (kind, environment, app, transaction_id, order_transaction_id, state, due_at,
                    created_at, finished_at)
                SELECT 'finish', 'production', 'game', state || age, 'o', state,
                    CASE WHEN state = 'ready' THEN now() - age * interval '1 day' END, now() - age * interval '1 day',
                    CASE WHEN state <> 'ready' THEN now() - age * interval '1 day' END
                FROM unnest(ARRAY['ready', 'done', 'refused', 'lapsed', 'withdrawn']) AS state,
                    unnest(ARRAY[399, 401]) AS age;
                INSERT INTO recoveries (app, environment, finding, submission_id, source, cause, found_at)
                SELECT 'game', 'production', 'f' || age, 's' || age, 'history', 'schedule', now() - age * interval '1 day'
                FROM unnest(ARRAY[399, 401, 500]) AS age;
                INSERT INTO submissions (id, state, due_at, app, account, kind, partition_key, correlation_id, proof)
                VALUES ('s500', 'received', now(), 'game', '', 'server_notification', 'p', 'c', 'x')
                """)
            var forEver = Retention()
            (forEver.appleCalls, forEver.recoveries) = (nil, nil)
            try await shop.look(forEver)
            #expect(try await shop.bench.number("SELECT count(*) FROM apple_calls") == 10)
            try await shop.look()
            #expect(try await shop.bench.number("SELECT count(*) FROM apple_calls") == 6)
            #expect(try await shop.bench.number("SELECT count(*) FROM apple_calls WHERE state = 'ready'") == 2)
            #expect(
                try await shop.bench.number("SELECT count(*) FROM apple_calls WHERE transaction_id LIKE '%401'") == 1)
            #expect(try await shop.bench.number("SELECT count(*) FROM recoveries") == 2)
            #expect(try await shop.bench.number("SELECT count(*) FROM recoveries WHERE finding = 'f401'") == 0)
        }
    }

    @Test func `what an import brought without an account stays, and Apple's notifications go`() async throws {
        try await RetentionBench.with { (shop) async throws in
            try await shop.execute(
                """
                INSERT INTO submissions (id, state, app, account, kind, partition_key, correlation_id, proof, outcome,
                    settled_at, is_imported)
                SELECT state || is_imported, state, 'game', '', 'transaction_id', 'p', 'c', 'x', '{}',
                    now() - interval '201 days', is_imported
                FROM unnest(ARRAY['fulfilled', 'rejected']) AS state, unnest(ARRAY[true, false]) AS is_imported
                """)
            try await shop.look()
            #expect(
                try await shop.bench.answers("SELECT id FROM submissions ORDER BY 1") == [
                    "fulfilledtrue", "rejectedtrue",
                ])
        }
    }

    @Test func `questions to Apple that are asked once go, and those that are asked again stay however old they are`()
        async throws
    {
        try await RetentionBench.with { (shop) async throws in
            try await shop.execute(
                """
                INSERT INTO sweep_tasks (kind, app, environment, customer, priority, due_at, finished_at)
                SELECT 'history', 'game', 'production', what || age, 6,
                    CASE what WHEN 'o:asked' THEN now() WHEN 'a:' THEN now() + interval '9 days' END,
                    now() - age * interval '1 day'
                FROM unnest(ARRAY['o:', 'o:asked', 'a:']) AS what, unnest(ARRAY[399, 401]) AS age;
                INSERT INTO sweep_tasks (kind, app, environment, customer, priority) VALUES
                    ('history', 'game', 'production', 'o:never', 6);
                INSERT INTO sweep_tasks (kind, app, environment, priority, finished_at) VALUES
                    ('notifications', 'game', 'production', 2, now() - interval '9 years')
                """)
            var forEver = Retention()
            forEver.recoveries = nil
            try await shop.look(forEver)
            #expect(try await shop.bench.number("SELECT count(*) FROM sweep_tasks") == 8)
            try await shop.look()
            #expect(
                try await shop.bench.answers("SELECT kind || ' ' || customer FROM sweep_tasks ORDER BY 1") == [
                    "history a:399", "history a:401", "history o:399", "history o:asked399", "history o:asked401",
                    "history o:never", "notifications ",
                ])
        }
    }

    @Test func `what retention leaves for ever is left`() async throws {
        try await RetentionBench.with { (shop) async throws in
            try await makeOldMonths(shop)
            try await buy("one", shop)
            try await shop.deliver()
            try await shop.age()
            var retention = Retention()
            (retention.events, retention.deliveries, retention.proofs, retention.attempts) = (nil, nil, nil, nil)
            try await shop.look(retention)
            for table in PartitionStore.Table.allCases {
                #expect(try await shop.isThere("\(table.rawValue)_\(RetentionBench.month)"))
            }
        }
    }

    @Test func `an event that nobody has taken over keeps its month, and so does a delivery that is pending`()
        async throws
    {
        try await RetentionBench.with { (shop) async throws in
            try await makeOldMonths(shop)
            try await buy("one", shop)
            try await shop.age()
            try await shop.look()
            #expect(try await shop.isThere("events_\(RetentionBench.month)"), "it is in the outbox")
            #expect(try await !shop.isThere("webhook_deliveries_\(RetentionBench.month)"), "it was empty")
            try await shop.makeOldMonth(.webhookDeliveries)
            try await shop.execute(
                """
                INSERT INTO webhook_deliveries (event_id, endpoint_id, due_at) SELECT event_id, 'backend', now() FROM event_outbox;
                DELETE FROM event_outbox
                """)
            try await shop.look()
            #expect(try await shop.isThere("webhook_deliveries_\(RetentionBench.month)"), "it is pending")
            #expect(try await shop.isThere("events_\(RetentionBench.month)"), "its delivery is there")
            try await shop.execute("UPDATE webhook_deliveries SET state = 'delivered', due_at = NULL")
            try await shop.look()
            #expect(try await !shop.isThere("webhook_deliveries_\(RetentionBench.month)"))
            #expect(try await !shop.isThere("events_\(RetentionBench.month)"))
        }
    }

    @Test func `attempts of webhooks go with their month, whatever became of their deliveries`() async throws {
        try await RetentionBench.with { (shop) async throws in
            try await shop.makeOldMonth(.webhookAttempts)
            try await shop.execute(
                """
                INSERT INTO webhook_attempts (event_id, endpoint_id, attempt, attempted_at, duration_ms, status)
                VALUES ('evt_1', 'backend', 1, \(RetentionBench.old), 5, 200), ('evt_1', 'backend', 2, now(), 5, 200)
                """)
            var retention = Retention()
            retention.attempts = nil
            try await shop.look(retention)
            #expect(try await shop.bench.number("SELECT count(*) FROM webhook_attempts") == 2)
            try await shop.look()
            #expect(try await !shop.isThere("webhook_attempts_\(RetentionBench.month)"))
            #expect(try await shop.bench.number("SELECT attempt FROM webhook_attempts") == 2)
        }
    }

    @Test func `a delivery that came after its month was dropped goes with its event's month`() async throws {
        try await RetentionBench.with { (shop) async throws in
            try await shop.makeOldMonth(.events)
            try await buy("one", shop)
            try await shop.age()
            try await shop.execute(
                """
                INSERT INTO webhook_deliveries (event_id, endpoint_id, due_at) SELECT event_id, 'backend', now() FROM event_outbox;
                DELETE FROM event_outbox
                """)
            #expect(try await shop.bench.number("SELECT count(*) FROM webhook_deliveries_other") == 1)
            try await shop.look()
            #expect(try await shop.isThere("events_\(RetentionBench.month)"), "its delivery is pending")
            try await shop.execute("UPDATE webhook_deliveries SET state = 'delivered', due_at = NULL")
            try await shop.look()
            #expect(try await !shop.isThere("events_\(RetentionBench.month)"))
            #expect(try await shop.bench.number("SELECT count(*) FROM webhook_deliveries") == 0)
        }
    }

    @Test func `the proof of what waits for its outcome is carried into this month`() async throws {
        try await RetentionBench.with { (shop) async throws in
            try await shop.makeOldMonth(.submissionProofs)
            try await shop.post("sub_waits", proof: "waits")
            try await shop.bench.settle([
                try await shop.bench.verdict(
                    "sub_parked", .genuine([Bench.signed("p", product: "unheard")]), claims: ["p"])
            ])
            #expect(try await shop.bench.outcome("sub_parked")?.state == .parked)
            try await shop.age()
            try await shop.look()
            #expect(try await !shop.isThere("submission_proofs_\(RetentionBench.month)"))
            #expect(try await shop.proof("sub_waits") == "waits")
            #expect(try await shop.proof("sub_parked") == "cmVjZWlwdA==")
            try await shop.bench.expectClean()
        }
    }

    @Test func `Apple's notifications go when their time is over, with what they were linked with`() async throws {
        try await RetentionBench.with { (shop) async throws in
            for id in ["old", "new", "waits"] {
                try await shop.post(id, account: "", kind: .serverNotification, proof: "signed \(id)")
            }
            try await shop.execute(
                """
                UPDATE submissions SET state = 'fulfilled', due_at = NULL, outcome = jsonb_build_object('state', 'fulfilled',
                    'finish', true, 'transactions', jsonb_build_array(jsonb_build_object('transaction_id', id))),
                    settled_at = CASE id WHEN 'old' THEN now() - interval '201 days' ELSE now() - interval '199 days' END
                WHERE id <> 'waits';
                INSERT INTO order_transactions (environment, transaction_id, order_transaction_id, submission_id)
                VALUES ('production', 'old', 'old', 'old');
                INSERT INTO submission_transactions VALUES ('production', 'old', 'old')
                """)
            try await shop.look()
            #expect(try await shop.bench.number("SELECT count(*) FROM submissions WHERE id IN ('new', 'waits')") == 2)
            #expect(try await shop.bench.number("SELECT count(*) FROM submissions") == 2)
            #expect(try await shop.bench.number("SELECT count(*) FROM submission_transactions") == 0)
            #expect(
                try await shop.bench.number("SELECT count(*) FROM retention_marks WHERE name = 'notifications'") == 1)
        }
    }

    @Test func `the list of Apple's notifications goes with them, but for what still goes on to an older consumer`()
        async throws
    {
        try await RetentionBench.with { (shop) async throws in
            try await shop.execute(
                """
                INSERT INTO apple_notifications (app, notification_uuid, environment, type, submission_id, recorded_at)
                SELECT 'a', id, 'production', 'TEST', id, now() - CASE id WHEN 'new' THEN 199 ELSE 201 END * interval '1 day'
                FROM unnest(ARRAY['old', 'told', 'pending', 'new']) id;
                INSERT INTO notification_forwards (app, notification_uuid, state, due_at)
                VALUES ('a', 'told', 'delivered', NULL), ('a', 'pending', 'pending', now())
                """)
            try await shop.look()
            #expect(
                try await shop.bench.answers("SELECT notification_uuid FROM apple_notifications ORDER BY 1")
                    == ["new", "pending"])
            #expect(try await shop.bench.number("SELECT count(*) FROM notification_forwards") == 1)
        }
    }

    @Test func `views go when their time is over`() async throws {
        try await RetentionBench.with { (shop) async throws in
            for days in [399, 401] {
                try await shop.execute(
                    """
                    INSERT INTO views (app, actor, route, request_id, created_at)
                    VALUES ('a', 'kim', 'GET /v1/orders', '\(days)', now() - interval '\(days) days')
                    """)
            }
            var retention = Retention()
            retention.views = nil
            try await shop.look(retention)
            #expect(try await shop.bench.number("SELECT count(*) FROM views") == 2)
            try await shop.look()
            #expect(try await shop.bench.answers("SELECT request_id FROM views") == ["399"])
        }
    }

    @Test func `rejected submissions go when their time is over, and what is posted again is judged again`()
        async throws
    {
        try await RetentionBench.with { (shop) async throws in
            for (id, days) in [("old", 401), ("young", 399)] {
                try await shop.post(id, proof: "junk \(id)")
                try await shop.reject(id, RetentionBench.mismatch)
                try await shop.execute(
                    "UPDATE submissions SET settled_at = now() - interval '\(days) days' WHERE id = '\(id)'")
            }
            try await shop.post("due", proof: "waits")
            var retention = Retention()
            retention.rejectedProofs = nil
            try await shop.look(retention)
            #expect(try await shop.bench.number("SELECT count(*) FROM submissions WHERE id IN ('young', 'due')") == 2)
            #expect(try await shop.bench.number("SELECT count(*) FROM submissions") == 2)
            #expect(try await shop.bench.number("SELECT count(*) FROM submission_proofs") == 2)
            #expect(try await shop.bench.number("SELECT count(*) FROM retention_marks WHERE name = 'rejected'") == 1)
            try await shop.post("old", proof: "junk old")
            #expect(try await shop.bench.outcome("old") == nil)
            #expect(try await shop.proof("old") == "junk old")
            retention.rejected = nil
            try await shop.execute("UPDATE submissions SET settled_at = now() - interval '9 years' WHERE id = 'young'")
            try await shop.look(retention)
            #expect(try await shop.bench.outcome("young")?.reason == RetentionBench.mismatch)
        }
    }

    @Test(arguments: [
        ("retention.events", "none"), ("retention.attempts", "none"), ("retention.proofs", "8"),
        ("retention.rejected_proofs", "1"),
    ])
    func `settings are days, or none`(key: String, value: String) throws {
        let retention = try Retention(SettingReader([key: value]))
        #expect(retention != Retention())
    }

    @Test(arguments: [
        ("retention.events", "80", "RETENTION_DELIVERIES"), ("retention.deliveries", "none", "RETENTION_DELIVERIES"),
        ("retention.proofs", "7", "RETENTION_PROOFS"),
        ("retention.notifications", "12 months", "RETENTION_NOTIFICATIONS"),
        ("retention.events", "-1", "RETENTION_EVENTS"),
    ])
    func `a setting that makes no sense refuses the start`(key: String, value: String, named: String) {
        do {
            _ = try Retention(SettingReader([key: value]))
            Issue.record("it was taken")
        } catch {
            #expect("\(error)".contains(named), "\(error)")
        }
    }
}
