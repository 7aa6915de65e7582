import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// The numbers that an operator is woken by: what is paid and not delivered, and what is due and not taken.
@Suite("Gauges of the backlog", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct BacklogGaugesTests {
    private typealias Series = BacklogGauges.Series

    private func undelivered(_ stage: String, _ environment: String, _ reason: String) -> [String: String] {
        ["stage": stage, "environment": environment, "reason": reason]
    }

    @Test func `a parked order counts with its age until it is granted, and then goes back to zero`() async throws {
        try await Bench.with { bench in
            for id in ["1", "2"] {
                let entry = Bench.entry("t\(id)", product: "new")
                try await bench.settle([try await bench.verdict("s\(id)", .genuine([entry]))])
            }
            _ = try await bench.pool.query(
                "UPDATE orders SET created_at = now() - interval '2 hours' WHERE transaction_id = 't1'")
            let gauges = BacklogGauges(pool: bench.pool)
            let labels = undelivered("parked", "production", "product_unknown")
            let before = try await gauges.measure()
            #expect(before[Series(name: FulfillmentMetrics.undelivered, labels: labels)] == 2)
            let age = try #require(before[Series(name: FulfillmentMetrics.undeliveredAge, labels: labels)])
            #expect((7200...7300).contains(age))
            _ = try await bench.pool.query(
                """
                UPDATE orders SET state = 'granted', reason = NULL, granted_at = now(), account = 'player'
                WHERE state = 'parked'
                """)
            let after = try await gauges.measure()
            #expect(after[Series(name: FulfillmentMetrics.undelivered, labels: labels)] == 0)
            #expect(after[Series(name: FulfillmentMetrics.undeliveredAge, labels: labels)] == 0)
        }
    }

    @Test func `environments and reasons are counted apart`() async throws {
        try await Bench.with { bench in
            let parked = [
                Bench.entry("t1", product: "new"), Bench.entry("t2", product: "new", environment: .sandbox),
            ]
            for (index, entry) in parked.enumerated() {
                try await bench.settle([try await bench.verdict("s\(index)", .genuine([entry]))])
            }
            _ = try await bench.pool.query(
                """
                INSERT INTO orders (environment, transaction_id, state, reason, app, product_id, product_type,
                    quantity, original_transaction_id, purchase_date, signed_date, submission_id, correlation_id,
                    transaction)
                SELECT 'production', 'u' || n, 'parked', 'unclaimed', 'a', 'x', 'consumable', 1, 'u' || n, now(), now(),
                    's0', 'r', '{}' FROM generate_series(1, 3) AS n
                """)
            let groups = try await UndeliveredStore(pool: bench.pool).parked()
            #expect(
                groups.map { "\($0.environment) \($0.reason) \($0.count)" } == [
                    "production product_unknown 1", "production unclaimed 3", "sandbox product_unknown 1",
                ])
        }
    }

    @Test func `a submission without an outcome counts after a minute, under what keeps it`() async throws {
        try await Bench.with { bench in
            for id in ["s1", "s2", "s3"] {
                _ = try await bench.verdict(id, .unknown(.appStoreUnavailable, retryAfterSeconds: 30))
            }
            try await bench.settle([
                try await bench.verdict("s2", .unknown(.appStoreUnavailable, retryAfterSeconds: 30))
            ])
            _ = try await bench.pool.query(
                "UPDATE submissions SET received_at = now() - interval '5 minutes' WHERE id <> 's3'")
            let values = try await BacklogGauges(pool: bench.pool).measure()
            for reason in ["no_verdict", "app_store_unavailable"] {
                let labels = undelivered("undecided", "unknown", reason)
                #expect(values[Series(name: FulfillmentMetrics.undelivered, labels: labels)] == 1)
                let age = try #require(values[Series(name: FulfillmentMetrics.undeliveredAge, labels: labels)])
                #expect((300...360).contains(age))
            }
        }
    }

    @Test func `a grant that a webhook gave up counts as untold until it is sent again`() async throws {
        try await Bench.with { bench in
            try await bench.settle([try await bench.verdict("s1", .genuine([Bench.entry("t1")]))])
            _ = try await bench.pool.query(
                """
                INSERT INTO webhook_deliveries (event_id, endpoint_id, state)
                SELECT id, endpoint, 'abandoned' FROM events
                CROSS JOIN unnest(ARRAY['backend', 'stats']) AS endpoint WHERE type = 'iap.transaction.fulfilled'
                """)
            let labels = undelivered("untold", "production", "webhook_abandoned")
            let gauges = BacklogGauges(pool: bench.pool)
            #expect(try await gauges.measure()[Series(name: FulfillmentMetrics.undelivered, labels: labels)] == 1)
            _ = try await bench.pool.query("UPDATE webhook_deliveries SET state = 'delivered'")
            #expect(try await gauges.measure()[Series(name: FulfillmentMetrics.undelivered, labels: labels)] == 0)
        }
    }

    @Test func `due rows are counted by how long nobody took them`() async throws {
        try await Bench.with { bench in
            for id in ["s1", "s2", "s3"] {
                _ = try await bench.verdict(id, .unknown(.appStoreUnavailable, retryAfterSeconds: 30))
            }
            for (id, time) in [("s1", "2 hours"), ("s2", "5 minutes")] {
                _ = try await bench.pool.query(
                    "UPDATE submissions SET due_at = now() - '\(time)'::interval WHERE id = $1", [.text(id)])
            }
            try await addDeliveries(bench)
            let queues = try await DueRowsStore(pool: bench.pool).queues()
            #expect(queues.count == 11, "empty queues are told of, too")
            #expect(queues.contains { $0.table == "forget_requests" })
            let submissions = try #require(queues.first { $0.table == "submissions" })
            #expect(DueRowsStore.ages == [0, 60, 600, 3600])
            #expect(submissions.counts == [2, 2, 1, 1])
            #expect((7200...7300).contains(submissions.oldestSeconds))
            let deliveries = try #require(queues.first { $0.table == "webhook_deliveries" })
            #expect(deliveries.counts == [2, 2, 2, 0], "nothing of an endpoint that is off, nothing that is not due")
            let values = try await BacklogGauges(pool: bench.pool).measure()
            let labels = ["table": "submissions", "older_than_seconds": "600"]
            #expect(values[Series(name: FulfillmentMetrics.dueRows, labels: labels)] == 1)
        }
    }

    /// Deliveries to two endpoints, and to one that is off.
    private func addDeliveries(_ bench: Bench) async throws {
        try await bench.settle([try await bench.verdict("s9", .genuine([Bench.entry("t9")]))])
        _ = try await bench.pool.query("INSERT INTO webhook_endpoints (id, disabled_at) VALUES ('off', now())")
        _ = try await bench.pool.query(
            """
            INSERT INTO webhook_deliveries (event_id, endpoint_id, due_at)
            SELECT events.id, endpoint, now() - late FROM (SELECT id FROM events LIMIT 1) events,
                (VALUES ('a', interval '20 minutes'), ('b', interval '20 minutes'), ('off', interval '1 day'),
                    ('c', interval '-1 hour')) AS new (endpoint, late)
            """)
    }

    @Test func `of a queue that is very long at least so many are counted, and its oldest row exactly`() async throws {
        try await Bench.with { bench in
            _ = try await bench.pool.query(
                """
                INSERT INTO submissions (id, due_at, app, account, kind, partition_key, correlation_id, proof,
                    received_at)
                SELECT 'n' || n, now() - n * interval '1 second', 'a', 'p', 'receipt', 'p', 'r', 'x',
                    now() - interval '1 hour'
                FROM generate_series(1, \(DueRowsStore.countMaximum + 500)) AS n
                """)
            let queues = try await DueRowsStore(pool: bench.pool).queues()
            let submissions = try #require(queues.first { $0.table == "submissions" })
            #expect(submissions.counts.first == Int64(DueRowsStore.countMaximum))
            #expect(submissions.oldestSeconds >= Double(DueRowsStore.countMaximum + 500))
            let undecided = try await UndeliveredStore(pool: bench.pool).undecided(olderThan: .seconds(60))
            #expect(undecided.map(\.count) == [Int64(UndeliveredStore.countMaximum)])
        }
    }
}
