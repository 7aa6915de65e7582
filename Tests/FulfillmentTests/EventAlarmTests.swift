import Foundation
import LogTesting
import Persistence
import PersistenceTesting
import Postgres
import Testing

@testable import Fulfillment

/// Events that nobody takes over are told of, once, whoever keeps putting them off.
@Suite("Alarms of events without a delivery", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct EventAlarmTests {
    /// Writes events as fulfillment does, so many seconds ago.
    private func write(_ ids: [String], secondsAgo: Int, in pool: PostgresPool) async throws {
        _ = try await pool.query(
            """
            INSERT INTO events (id, type, environment, app, transaction_id, partition_key, body)
            SELECT id, 'iap.transaction.fulfilled', 'production', 'a', '1', '1', '{}' FROM unnest($1::text[]) AS id
            """, [.textArray(ids)])
        _ = try await pool.query(
            """
            INSERT INTO event_outbox (event_id, due_at, queued_at)
            SELECT id, now() + interval '30 seconds', now() - $2 * interval '1 second' FROM unnest($1::text[]) AS id
            """, [.textArray(ids), .int8(Int64(secondsAgo))])
    }

    private func look(_ pool: PostgresPool, _ lines: CapturedLog) async throws {
        try await RaiseEventAlarms(store: EventStore(pool: pool), age: .seconds(300), logger: lines.logger()).look()
    }

    @Test func `an event alarms once after the age, however often it is sent again and put off`() async throws {
        try await TestDatabase.with { pool in
            let lines = CapturedLog()
            try await write(["evt_1"], secondsAgo: 290, in: pool)
            for _ in 1...3 {
                let due = try await EventStore(pool: pool).claimDue(
                    limit: 10, lease: .zero, leaseMaximum: .seconds(600))
                #expect(due.count <= 1)
                _ = try await pool.query("UPDATE event_outbox SET due_at = now() + interval '1 year'")
                try await look(pool, lines)
            }
            #expect(lines.all.isEmpty)
            _ = try await pool.query("UPDATE event_outbox SET queued_at = queued_at - interval '11 seconds'")
            for _ in 1...3 { try await look(pool, lines) }
            #expect(lines.all.count == 1)
            let fields = try #require(lines.all.first?.fields)
            #expect(fields["event"] == "evt_1" && fields["type"] == "iap.transaction.fulfilled")
            #expect((301...330).contains(Int(fields["age_seconds"] ?? "") ?? 0))
        }
    }

    @Test func `an event that is claimed is told of when its claim is over and it still waits`() async throws {
        try await TestDatabase.with { pool in
            let lines = CapturedLog()
            try await write(["evt_1"], secondsAgo: 400, in: pool)
            #expect(
                try await DeliveryStore(pool: pool).claim([(id: "evt_1", body: Array("{}".utf8))], lease: .seconds(60))
                    .count == 1)
            try await look(pool, lines)
            #expect(try await EventStore(pool: pool).waiting(longerThan: .seconds(300)).count == 0)
            #expect(lines.all.isEmpty)
            _ = try await pool.query("UPDATE event_outbox SET claimed_until = now()")
            #expect(try await EventStore(pool: pool).waiting(longerThan: .seconds(300)).count == 1)
            try await look(pool, lines)
            #expect(lines.all.count == 1)
        }
    }

    @Test func `many alarm once each, in few lines, also where several processes look at once`() async throws {
        try await TestDatabase.with { pool in
            try await write((1...1_200).map { "evt_\($0)" }, secondsAgo: 400, in: pool)
            try await write(["evt_new"], secondsAgo: 1, in: pool)
            let store = EventStore(pool: pool)
            let found = try await withThrowingTaskGroup(of: [EventStore.Alarm].self) { group in
                for _ in 1...4 {
                    group.addTask { try await store.raiseAlarms(olderThan: .seconds(300), limit: 500) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(Set(found.map(\.eventId)).count == found.count, "each once")
            let lines = CapturedLog()
            try await look(pool, lines)
            let told = lines.all.compactMap { $0.fields["count"] }.compactMap { Int($0) }.reduce(0, +)
            #expect(found.count + told + lines.all.filter { $0.fields["event"] != nil }.count == 1_200)
        }
    }

    @Test func `the gauge counts what waits and goes back to zero when it is taken over`() async throws {
        try await TestDatabase.with { pool in
            try await write(["evt_1", "evt_2"], secondsAgo: 4_000, in: pool)
            try await write(["evt_3"], secondsAgo: 10, in: pool)
            let gauges = BacklogGauges(pool: pool)
            let count = BacklogGauges.Series(name: FulfillmentMetrics.events, labels: [:])
            let age = BacklogGauges.Series(name: FulfillmentMetrics.eventsAge, labels: [:])
            let before = try await gauges.measure()
            #expect(before[count] == 2)
            #expect((4_000...4_060).contains(try #require(before[age])))
            try await look(pool, CapturedLog())
            #expect(try await gauges.measure()[count] == 2, "an alarm changes nothing of it")
            _ = try await DeliveryStore(pool: pool).takeOver(
                eventIds: ["evt_1", "evt_2"], deliveries: [], lease: .seconds(60))
            let after = try await gauges.measure()
            #expect(after[count] == 0 && after[age] == 0)
        }
    }

    @Test func `another gauge tells for how long an event could not be pulled, whoever took it over`() async throws {
        try await TestDatabase.with { pool in
            _ = try await pool.query(
                """
                INSERT INTO events (id, type, environment, app, transaction_id, partition_key, body, created_at)
                VALUES ('evt_1', 't', 'production', 'a', '1', '1', '{}', now() - interval '1 hour')
                """)
            _ = try await pool.query("INSERT INTO event_outbox (event_id, due_at) VALUES ('evt_1', now())")
            _ = try await pool.query("DELETE FROM event_outbox")
            let gauges = BacklogGauges(pool: pool)
            let age = BacklogGauges.Series(name: FulfillmentMetrics.unnumberedAge, labels: [:])
            let before = try await gauges.measure()
            #expect((3_600...3_660).contains(try #require(before[age])))
            while try await EventPositionStore(pool: pool).number().isMoreDue {}
            #expect(try await gauges.measure()[age] == 0)
        }
    }

    @Test func `of very many at least so many are counted, and the oldest exactly`() async throws {
        try await TestDatabase.with { pool in
            _ = try await pool.query(
                """
                INSERT INTO event_outbox (event_id, due_at, queued_at, alarmed_at)
                SELECT 'evt_' || n, now(), now() - n * interval '1 second', CASE WHEN n % 2 = 0 THEN now() END
                FROM generate_series(301, \(EventStore.WaitingLimit.countMaximum * 2 + 600)) AS n
                """)
            let waiting = try await EventStore(pool: pool).waiting(longerThan: .seconds(300))
            #expect(waiting.count == Int64(EventStore.WaitingLimit.countMaximum))
            #expect(waiting.oldestSeconds >= Double(EventStore.WaitingLimit.countMaximum * 2 + 600))
        }
    }
}
