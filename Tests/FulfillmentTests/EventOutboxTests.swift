import PersistenceTesting
import Postgres
import Testing

@testable import Persistence

/// Events are sent again until the notification service has them.
@Suite(.enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct EventOutboxTests {
    private func claim(_ pool: PostgresPool, limit: Int = 10, lease: Duration = .seconds(60)) async throws -> Set<
        String
    > {
        Set(
            try await EventStore(pool: pool).claimDue(limit: limit, lease: lease, leaseMaximum: .seconds(600)).map(\.id)
        )
    }

    private func write(_ id: String, due: String, in pool: PostgresPool) async throws {
        _ = try await pool.query(
            """
            WITH event AS (
                INSERT INTO events (id, type, environment, app, transaction_id, partition_key, body)
                VALUES ($1, 'iap.transaction.fulfilled', 'production', 'a', '1', '1', '{}')
            )
            INSERT INTO event_outbox (event_id, due_at) VALUES ($1, \(due))
            """, [.text(id)])
    }

    private func takeOver(_ id: String, in pool: PostgresPool) async throws -> [String] {
        try await DeliveryStore(pool: pool).takeOver(
            eventIds: [id], deliveries: [.init(eventId: id, endpointId: "shop", body: nil)], lease: .seconds(60)
        ).map(\.eventId)
    }

    @Test func `an event is sent when it is due, and is done with once it was taken over`() async throws {
        try await TestDatabase.with { pool in
            try await write("due", due: "now()", in: pool)
            try await write("later", due: "now() + interval '1 hour'", in: pool)
            #expect(try await claim(pool) == ["due"])
            #expect(try await claim(pool).isEmpty, "it has a lease")
            #expect(try await takeOver("due", in: pool) == ["due"])
            _ = try await pool.query("UPDATE event_outbox SET due_at = now()")
            #expect(try await claim(pool, lease: .zero) == ["later"])
            #expect(try await claim(pool, lease: .zero) == ["later"], "nobody has it yet")
            #expect(try await takeOver("later", in: pool) == ["later"])
            #expect(try await claim(pool).isEmpty)
        }
    }

    @Test func `an event that is claimed is sent again when its claim ends`() async throws {
        try await TestDatabase.with { pool in
            try await write("evt", due: "now() + interval '1 hour'", in: pool)
            let store = DeliveryStore(pool: pool)
            #expect(try await store.claim([(id: "evt", body: Array("{}".utf8))], lease: .seconds(60)).count == 1)
            let inTime = try await pool.query("SELECT due_at = claimed_until AS is_due FROM event_outbox").rows[0]
            #expect(try inTime.decode(Bool.self), "it is not due before, and not later")
            _ = try await pool.query("UPDATE event_outbox SET due_at = now()")
            #expect(try await claim(pool).isEmpty, "it is being posted")
            let putOff = try await pool.query(
                "SELECT due_at = claimed_until AND attempts = 0 AS is_so FROM event_outbox")
            #expect(try putOff.rows[0].decode(Bool.self))
            _ = try await pool.query("UPDATE event_outbox SET due_at = now(), claimed_until = now()")
            #expect(try await claim(pool) == ["evt"])
        }
    }

    @Test func `an event that has its delivery is taken over again without harm`() async throws {
        try await TestDatabase.with { pool in
            try await write("evt", due: "now()", in: pool)
            _ = try await pool.query(
                "INSERT INTO webhook_deliveries (event_id, endpoint_id, state) VALUES ('evt', 'shop', 'delivered')")
            #expect(try await claim(pool) == ["evt"])
            #expect(try await takeOver("evt", in: pool).isEmpty, "its delivery was made before")
            #expect(try await pool.query("SELECT 1 AS one FROM event_outbox").rows.isEmpty)
        }
    }
}
