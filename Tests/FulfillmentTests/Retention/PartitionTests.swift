import Foundation
import PersistenceTesting
import Postgres
import Testing

@testable import Persistence

/// Months are made ahead, and take what came before them; a month is dropped only when nothing in it is wanted.
@Suite("Months", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct PartitionTests {
    @Test func `a new database has this month and two more of each table, and making them again makes none`()
        async throws
    {
        try await RetentionBench.with { (shop) async throws in
            let store = PartitionStore(pool: shop.pool)
            for table in PartitionStore.Table.allCases {
                #expect(try await store.makeMonths(of: table, ahead: 2))
                #expect(
                    try await shop.bench.number(
                        "SELECT count(*) FROM table_months WHERE table_name = '\(table.rawValue)'") == 3)
                #expect(try await store.makeMonths(of: table, ahead: 3))
                #expect(try await (store.secondsAhead()[table] ?? 0) > 88 * 86_400)
            }
        }
    }

    @Test func `rows that came before their month was made are moved into it`() async throws {
        try await RetentionBench.with { (shop) async throws in
            try await shop.execute(
                """
                INSERT INTO submission_proofs (submission_id, received_at, proof) VALUES ('ahead', now() + interval '100 days', 'x');
                INSERT INTO events (id, type, environment, app, transaction_id, partition_key, body)
                SELECT event_floor(now() + interval '100 days') || 'x', 't', 'production', 'a', '1', 'p', '{}'
                """)
            #expect(try await shop.bench.number("SELECT count(*) FROM submission_proofs_other") == 1)
            #expect(try await shop.bench.number("SELECT count(*) FROM events_other") == 1)
            let store = PartitionStore(pool: shop.pool)
            for table in [PartitionStore.Table.submissionProofs, .events] {
                #expect(try await store.makeMonths(of: table, ahead: 4))
            }
            #expect(try await shop.bench.number("SELECT count(*) FROM submission_proofs_other") == 0)
            #expect(try await shop.bench.number("SELECT count(*) FROM events_other") == 0)
            #expect(try await shop.bench.number("SELECT count(*) FROM events") == 1)
            #expect(try await shop.proof("nobody") == nil)
        }
    }

    @Test func `a month that somebody reads is not waited for`() async throws {
        try await RetentionBench.with { (shop) async throws in
            try await shop.makeOldMonth(.webhookDeliveries)
            let store = PartitionStore(pool: shop.pool)
            let old = try await store.ended(of: .webhookDeliveries, before: .seconds(86_400))
            #expect(old.map(\.name) == ["webhook_deliveries_\(RetentionBench.month)"])
            try await shop.pool.withTransaction { reader in
                _ = try await reader.query("SELECT count(*) AS n FROM webhook_deliveries")
                #expect(try await store.drop(old[0], of: .webhookDeliveries) == .busy)
            }
            #expect(try await store.drop(old[0], of: .webhookDeliveries) == .dropped)
            #expect(try await store.drop(old[0], of: .webhookDeliveries) == .dropped, "it is gone")
        }
    }

    @Test func `a month of positions goes after the events that it numbers`() async throws {
        try await RetentionBench.with { (shop) async throws in
            for table in [PartitionStore.Table.events, .eventPositions] { try await shop.makeOldMonth(table) }
            let store = PartitionStore(pool: shop.pool)
            let old = try await store.ended(of: .eventPositions, before: .seconds(86_400))
            #expect(old.map(\.name) == ["event_positions_\(RetentionBench.month)"])
            #expect(
                try await store.drop(old[0], of: .eventPositions)
                    == .stays(because: "events that it numbers are still there"))
            try await shop.look()
            #expect(try await !shop.isThere("events_\(RetentionBench.month)"))
            #expect(try await !shop.isThere(old[0].name))
        }
    }

    @Test func `the functions refuse what no retention asks for`() async throws {
        try await RetentionBench.with { (shop) async throws in
            let store = PartitionStore(pool: shop.pool)
            let name = try await shop.pool.query(
                "SELECT partition_name FROM table_months WHERE table_name = 'events' ORDER BY ends_at LIMIT 1"
            ).rows[0].decode("partition_name", as: String.self)
            let young = PartitionStore.Partition(name: name, endsAt: .distantPast)
            #expect(try await store.drop(young, of: .events) == .stays(because: "its month is not over for a week"))
            for table in ["orders", "ledger_entries", "submissions"] {
                #expect(try await store.drop(.init(name: table, endsAt: .distantPast), of: .events) == .dropped, "none")
                #expect(try await shop.isThere(table))
            }
            for call in [
                "make_month('orders', now()::date)", "make_month('events', '2199-01-01')",
                "drop_submissions('notifications', now(), 10)",
                "drop_submissions('fulfilled', now() - interval '2 years', 10)",
            ] {
                await #expect(throws: PostgresError.self) {
                    _ = try await shop.pool.query("SELECT \(unescaped: call) AS x")
                }
            }
        }
    }

    @Test func `two events of one number are refused within a month`() async throws {
        try await RetentionBench.with { (shop) async throws in
            let insert = """
                INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body)
                SELECT event_floor(now()) || gen_random_uuid(), 't', 'production', 'a', 'anna', 1, '1', 'p', '{}'
                """
            try await shop.execute(insert)
            await #expect(throws: PostgresError.self) { try await shop.execute(insert) }
        }
    }
}
