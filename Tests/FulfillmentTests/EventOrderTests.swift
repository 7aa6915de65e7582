import Foundation
import Messages
import PersistenceTesting
import Postgres
import PurchaseModel
import Synchronization
import Testing

@testable import Persistence

/// Every event gets one place in one order after its commit, and no reader passes one that is still to come.
@Suite(.enabled(if: TestDatabase.url != nil, Bench.skipComment), .timeLimit(.minutes(1)))
struct EventOrderTests {
    private static func draft(_ account: String?) -> EventDraft {
        EventDraft(
            type: "iap.transaction.fulfilled", environment: .production, app: Bench.app,
            account: account.map { Account(stored: $0) }, correlationId: "req_1",
            payload: PurchaseEvent.Payload(transaction: nil))
    }

    private static func write(_ accounts: [String?], on connection: PostgresConnection) async throws -> [String] {
        try await EventStore.write(accounts.map(draft), lease: .seconds(600), on: connection).map(\.id)
    }

    private static func number(_ pool: PostgresPool) async throws {
        while try await EventPositionStore(pool: pool).number().isMoreDue {}
    }

    /// How far readers came that died and went on.
    private struct Progress: Sendable {
        let cursor: Int64?
        let read: [String]
    }

    /// A reader that goes on from its cursor.
    private final class Reader: Sendable {
        private let store: EventFeedStore
        private let position: Mutex<Int64?>
        /// How far it came.
        var cursor: Int64? { position.withLock { $0 } }

        init(_ pool: PostgresPool, after cursor: Int64? = nil) {
            store = EventFeedStore(pool: pool)
            position = Mutex(cursor)
        }

        func read(limit: Int = 1_000) async throws -> [String] {
            let page = try await store.page(EventFilter(app: Bench.app), after: cursor, limit: limit)
            position.withLock { $0 = page.next }
            return try page.events.map {
                try MessageCoding.decode(PurchaseEvent.self, from: Array($0.body.utf8)).id
            }
        }
    }

    @Test func `a transaction that commits late is read after those that began after it, and is not missed`()
        async throws
    {
        try await TestDatabase.with { pool in
            let reader = Reader(pool)
            let (early, late) = try await pool.withTransaction { slow in
                let early = try await Self.write(["slow"], on: slow)
                let late = try await pool.withTransaction { try await Self.write(["quick"], on: $0) }
                #expect(early[0] < late[0], "ids are no order of commits")
                try await Self.number(pool)
                #expect(try await reader.read() == late)
                try await Self.number(pool)
                #expect(try await reader.read().isEmpty)
                return (early, late)
            }
            #expect(try await reader.read().isEmpty, "it has no place yet")
            try await Self.number(pool)
            #expect(try await reader.read() == early)
            let another = Reader(pool)
            #expect(try await another.read() == late + early, "everybody reads the same order")
        }
    }

    @Test func `what was rolled back is in no order, and leaves no hole that a reader waits for`() async throws {
        struct RolledBack: Error {}
        try await TestDatabase.with { pool in
            await #expect(throws: RolledBack.self) { () async throws in
                try await pool.withTransaction { (connection) async throws -> Void in
                    _ = try await Self.write(["anna"], on: connection)
                    throw RolledBack()
                }
            }
            let ids = try await pool.withTransaction { try await Self.write(["anna"], on: $0) }
            try await Self.number(pool)
            let reader = Reader(pool)
            #expect(try await reader.read() == ids)
        }
    }

    @Test func `while one process gives places, another gives none`() async throws {
        try await TestDatabase.with { pool in
            let ids = try await pool.withTransaction { try await Self.write(["anna"], on: $0) }
            try await pool.withTransaction { holder in
                try await EventPositionStore.hold(on: holder)
                #expect(try await EventPositionStore(pool: pool).number() == EventPositionStore.Step())
            }
            try await Self.number(pool)
            let reader = Reader(pool)
            #expect(try await reader.read() == ids)
        }
    }

    @Test func `for how long the oldest event without a place waits is known, and is nothing once it has one`()
        async throws
    {
        try await TestDatabase.with { pool in
            let store = EventPositionStore(pool: pool)
            #expect(try await store.oldestWaitSeconds() == 0)
            try await pool.withConnection { connection in
                try await connection.executeScript(
                    """
                    INSERT INTO events (id, type, environment, app, transaction_id, partition_key, body, created_at)
                    VALUES ('evt_1', 't', 'production', 'a', '1', '1', '{}', now() - interval '1 hour');
                    INSERT INTO event_outbox (event_id, due_at) VALUES ('evt_1', now())
                    """)
            }
            _ = try await pool.withTransaction { try await Self.write(["anna"], on: $0) }
            let waited = try await store.oldestWaitSeconds()
            #expect((3_600...3_660).contains(waited))
            try await Self.number(pool)
            #expect(try await store.oldestWaitSeconds() == 0)
        }
    }

    /// What the racing writers have committed.
    private final class Committed: Sendable {
        private let state = Mutex<(ids: [String], isOver: Bool)>(([], false))
        func add(_ ids: [String]) { state.withLock { $0.ids += ids } }
        func end() { state.withLock { $0.isOver = true } }
        var ids: [String] { state.withLock { $0.ids } }
        var isOver: Bool { state.withLock { $0.isOver } }
    }

    private static func race(_ pool: PostgresPool, _ committed: Committed) async throws {
        try await withThrowingTaskGroup(of: Void.self) { writers in
            for writer in 0..<3 {
                writers.addTask {
                    for _ in 0..<40 {
                        let accounts: [String?] = (0..<Int.random(in: 1...4)).map { _ in
                            ["anna", "ben", nil, "writer-\(writer)"].randomElement() ?? nil
                        }
                        let isKept = Int.random(in: 0..<5) > 0
                        let ids = try? await pool.withTransaction { connection in
                            let ids = try await Self.write(accounts, on: connection)
                            _ = try await connection.query("SELECT pg_sleep(random() * 0.01) IS NULL AS slept")
                            if !isKept { throw CancellationError() }
                            return ids
                        }
                        if let ids { committed.add(ids) }
                    }
                }
            }
            try await writers.waitForAll()
        }
        committed.end()
    }

    @Test
    func `a reader that dies anywhere misses nothing while writers race, and repeats only the page it had not kept`()
        async throws
    {
        try await TestDatabase.with { pool in
            let committed = Committed()
            let progress = try await withThrowingTaskGroup(of: Progress?.self) { group in
                group.addTask {
                    try await Self.race(pool, committed)
                    return nil
                }
                for _ in 0..<2 {
                    group.addTask {
                        while !committed.isOver { _ = try await EventPositionStore(pool: pool).number() }
                        return nil
                    }
                }
                group.addTask {
                    var (kept, all): (Int64?, [String]) = (nil, [])
                    while !committed.isOver {
                        // Another process each time, with what the one before had kept.
                        let reader = Reader(pool, after: kept)
                        let page = try await reader.read(limit: 7)
                        // It dies before the cursor is kept, and what it had done of the page is done again.
                        if Int.random(in: 0..<3) == 0 { continue }
                        (kept, all) = (reader.cursor, all + page)
                    }
                    return Progress(cursor: kept, read: all)
                }
                var progress: Progress?
                for try await one in group where one != nil { progress = one }
                return progress
            }
            // Nobody else gives positions any more, so that none is left out for another's sake.
            try await Self.number(pool)
            let before = try #require(progress)
            let rest = try await Reader(pool, after: before.cursor).read()
            let read = before.read + rest
            #expect(read.count > 100)
            #expect(read.count == Set(read).count, "nothing twice")
            #expect(Set(read) == Set(committed.ids))
            let fresh = Reader(pool)
            #expect(try await fresh.read() == read, "the order is the same for who reads later")
            // An account's events are in the order of their numbers.
            let wrong = try await pool.query(
                """
                SELECT 1 AS one FROM (
                    SELECT e.sequence, lag(e.sequence) OVER (PARTITION BY e.account ORDER BY p.position) AS before
                    FROM event_positions p JOIN events e ON e.id = p.event_id WHERE e.account IS NOT NULL) own
                WHERE sequence <= before
                """)
            #expect(wrong.rows.isEmpty)
        }
    }

    @Test func `a cursor is good after a failover that lost the last positions`() async throws {
        try await TestDatabase.with { pool in
            let ids = try await pool.withTransaction { try await Self.write(["a", "b", "c"], on: $0) }
            try await Self.number(pool)
            let reader = Reader(pool)
            #expect(try await reader.read() == ids)
            // The standby had the first position; of the others it had one event, still queued.
            try await pool.withConnection { connection in
                try await connection.executeScript(
                    """
                    DELETE FROM event_positions WHERE event_id <> '\(ids[0])';
                    DELETE FROM events WHERE id = '\(ids[2])';
                    INSERT INTO event_queue (event_ids) VALUES (ARRAY['\(ids[1])']);
                    UPDATE event_numbering SET last_position = (SELECT max(position) FROM event_positions)
                    """)
            }
            let later = try await pool.withTransaction { try await Self.write(["d"], on: $0) }
            try await Self.number(pool)
            #expect(
                try await reader.read() == [ids[1]] + later, "what lost its place is read again, and nothing is missed")
        }
    }

    @Test func `events are published in the order of their positions; what failed comes again, before what is new`()
        async throws
    {
        try await TestDatabase.with { pool in
            let topic = EventPositionStore(pool: pool)
            let first = try await pool.withTransaction { try await Self.write(["alice", nil, "bob"], on: $0) }
            let come = Mutex<[String]>([])
            let publish: @Sendable ([EventStore.StoredEvent]) -> Void = { events in
                come.withLock { $0 += events.map(\.id) }
            }
            #expect(try await topic.publishNext(publish).count == 0, "without a position it is not published")
            try await Self.number(pool)
            #expect(try await topic.oldestUnpublishedSeconds() > 0)
            await #expect(throws: CancellationError.self) {
                try await topic.publishNext { _ in throw CancellationError() }
            }
            let second = try await pool.withTransaction { try await Self.write(["alice"], on: $0) }
            try await Self.number(pool)
            #expect(try await topic.publishNext(publish) == .init(count: 4, isMoreDue: false))
            #expect(come.withLock { $0 } == first + second)
            #expect(try await topic.publishNext(publish).count == 0)
            #expect(try await topic.oldestUnpublishedSeconds() == 0)
        }
    }

    @Test func `while one process publishes, another does not, and positions are given all the same`() async throws {
        try await TestDatabase.with { pool in
            let topic = EventPositionStore(pool: pool)
            _ = try await pool.withTransaction { try await Self.write(["alice"], on: $0) }
            try await Self.number(pool)
            let step = try await topic.publishNext { events in
                #expect(events.count == 1)
                #expect(try await topic.publishNext { _ in Issue.record("it was published twice") }.count == 0)
                _ = try await pool.withTransaction { try await Self.write(["bob"], on: $0) }
                #expect(try await EventPositionStore(pool: pool).number().count == 1)
            }
            #expect(step.count == 1)
            #expect(try await topic.publishNext { _ in }.count == 1)
        }
    }
}
