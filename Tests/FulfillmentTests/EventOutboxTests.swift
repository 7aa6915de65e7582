import PersistenceTesting
import Postgres
import Testing

@testable import Persistence

/// Events are sent again until the notification service has them, whichever version has written them.
@Suite(.enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct EventOutboxTests {
    private func claim(_ pool: PostgresPool, limit: Int = 10, lease: Duration = .seconds(60)) async throws -> Set<
        String
    > {
        Set(
            try await EventStore(pool: pool).claimDue(limit: limit, lease: lease, leaseMaximum: .seconds(600)).map(\.id)
        )
    }

    /// Writes an event as the version before did, with the time when it is sent again in its own row.
    private func writeAsBefore(_ id: String, due: String, in pool: PostgresPool) async throws {
        _ = try await pool.query(
            """
            INSERT INTO events (id, type, environment, app, transaction_id, partition_key, body, due_at, attempts)
            VALUES ($1, 'iap.transaction.fulfilled', 'production', 'a', '1', '1', '{}', \(due), 3)
            """, [.text(id)])
    }

    private func takeOver(_ id: String, in pool: PostgresPool) async throws {
        let made = try await DeliveryStore(pool: pool).takeOver(
            eventIds: [id], deliveries: [.init(eventId: id, endpointId: "shop", body: nil)], lease: .seconds(60))
        #expect(made.map(\.eventId) == [id])
    }

    @Test func `an event of the version before is sent when it is due, and is done with once it was taken over`()
        async throws
    {
        try await TestDatabase.with { pool in
            try await writeAsBefore("due", due: "now()", in: pool)
            try await writeAsBefore("later", due: "now() + interval '1 hour'", in: pool)
            #expect(try await claim(pool) == ["due"])
            #expect(try await claim(pool).isEmpty, "it has a lease")
            try await takeOver("due", in: pool)
            _ = try await pool.query("UPDATE events SET due_at = now() WHERE due_at IS NOT NULL")
            #expect(try await claim(pool, lease: .zero) == ["later"])
            #expect(try await claim(pool, lease: .zero) == ["later"], "nobody has it yet")
            try await takeOver("later", in: pool)
            #expect(try await claim(pool).isEmpty)
        }
    }

    @Test func `an event that a notification of the version before has taken over is taken over again without harm`()
        async throws
    {
        try await TestDatabase.with { pool in
            try await writeAsBefore("evt", due: "NULL", in: pool)
            _ = try await pool.query("INSERT INTO event_outbox (event_id, due_at) VALUES ('evt', now())")
            _ = try await pool.query(
                "INSERT INTO webhook_deliveries (event_id, endpoint_id, state) VALUES ('evt', 'shop', 'delivered')")
            #expect(try await claim(pool) == ["evt"])
            let made = try await DeliveryStore(pool: pool).takeOver(
                eventIds: ["evt"], deliveries: [.init(eventId: "evt", endpointId: "shop", body: nil)],
                lease: .seconds(60))
            #expect(made.isEmpty, "its delivery was made before")
            #expect(try await pool.query("SELECT 1 AS one FROM event_outbox").rows.isEmpty)
        }
    }

    @Test func `the upgrade moves what is due into the outbox, with its attempts`() async throws {
        try await TestDatabase.with { pool in
            let upgrade = try #require(Migrator.migrations.first { $0.version == 12 })
            try await pool.withConnection { connection in
                try await connection.executeScript("DROP TABLE event_outbox")
            }
            try await writeAsBefore("due", due: "now()", in: pool)
            try await writeAsBefore("taken over", due: "NULL", in: pool)
            try await pool.withConnection { try await $0.executeScript(upgrade.sql) }
            let rows = try await pool.query(
                "SELECT event_id, attempts, (SELECT count(due_at) FROM events) AS left_behind FROM event_outbox"
            ).rows
            #expect(try rows.map { try $0.decode("event_id", as: String.self) } == ["due"])
            #expect(try rows.map { try $0.decode("attempts", as: Int32.self) } == [3])
            #expect(try rows.map { try $0.decode("left_behind", as: Int64.self) } == [0])
        }
    }
}
