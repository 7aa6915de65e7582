import Foundation
import Logging
import PersistenceTesting
import Postgres
import Synchronization
import Testing

@testable import Persistence

/// A database with rows is divided by month while purchases go on.
@Suite("Divided by month", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct DivideByMonthTests {
    /// Events, deliveries and submissions that are there; `COUNTERSIGN_UPGRADE_ROWS` asks for more, such as 10,000,000.
    private static let rows =
        ProcessInfo.processInfo.environment["COUNTERSIGN_UPGRADE_ROWS"].flatMap { Int($0) } ?? 20_000

    /// A database as the version before left it.
    private static func goBack(_ pool: PostgresPool) async throws {
        try await pool.withConnection { connection in
            try await connection.executeScript(
                """
                DROP SCHEMA public CASCADE;
                CREATE SCHEMA public;
                CREATE TABLE schema_migrations (
                    version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
                SET statement_timeout = 0
                """)
            for migration in Migrator.migrations where migration.version < 18 {
                try await IndexChange.apply(migration.indexes, on: connection)
                try await connection.executeScript(migration.sql)
                _ = try await connection.query(
                    "INSERT INTO schema_migrations (version, name) VALUES ($1, $2)",
                    [.int8(migration.version), .text(migration.name)])
            }
        }
    }

    private static func fill(_ pool: PostgresPool) async throws {
        try await pool.withConnection { connection in
            try await connection.executeScript(
                """
                SET statement_timeout = 0;
                INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body)
                SELECT 'evt_' || lpad(to_hex(1700000000000 + n * 1000::bigint), 12, '0') || '7000' || lpad(to_hex(n), 16, '0'),
                    'iap.transaction.fulfilled', 'production', 'a', 'player' || n, 1, n::text, 'p', repeat('x', 600)
                FROM generate_series(1, \(rows)) n;
                INSERT INTO webhook_deliveries (event_id, endpoint_id, state) SELECT id, 'backend', 'delivered' FROM events;
                INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof, state, settled_at, outcome)
                SELECT 'sub_' || n, 'a', 'player' || n, 'signed_transaction', 'p', 'r', repeat('y', 900), 'fulfilled', now(),
                    '{}' FROM generate_series(1, \(rows)) n
                """)
            try await connection.executeScript("VACUUM ANALYZE")
        }
    }

    /// What the version before writes of a purchase: its submission, its event, its delivery, each by itself.
    private static func buy(_ number: Int, _ pool: PostgresPool) async throws {
        _ = try await pool.query(
            """
            INSERT INTO submissions (id, app, account, kind, partition_key, correlation_id, proof, due_at)
            VALUES ($1, 'a', 'player', 'signed_transaction', 'p', 'r', 'proof', now())
            """, [.text("new\(number)")])
        let event = try await pool.query(
            """
            INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body)
            SELECT 'evt_' || lpad(to_hex(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '8' || $1,
                'iap.transaction.fulfilled', 'production', 'a', 'buyer' || $1, 1, 'n' || $1, 'p', '{}'
            RETURNING id
            """, [.text("\(number)")]
        ).rows[0].decode("id", as: String.self)
        _ = try await pool.query(
            "INSERT INTO webhook_deliveries (event_id, endpoint_id, due_at) VALUES ($1, 'backend', now())",
            [.text(event)])
        _ = try await pool.query(
            "UPDATE webhook_deliveries SET state = 'delivered', due_at = NULL WHERE event_id = $1", [.text(event)])
    }

    private static func number(_ sql: String, _ pool: PostgresPool) async throws -> Int64 {
        try await pool.query("SELECT (\(sql))::int8 AS n").rows[0].decode("n")
    }

    /// The files of the indexes of the large tables: an index that is built anew has another.
    private static func files(_ pool: PostgresPool) async throws -> Set<Int64> {
        let result = try await pool.query(
            """
            SELECT c.relfilenode::int8 AS file FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
            WHERE i.indrelid IN (coalesce(to_regclass('events_first'), 'events'::regclass),
                coalesce(to_regclass('webhook_deliveries_first'), 'webhook_deliveries'::regclass)) AND c.relkind = 'i'
            """)
        return Set(try result.rows.map { try $0.decode("file") })
    }

    /// Starts the upgrade beside a reader that holds the tables, until it has stood before the reader and begun anew, twice.
    private static func upgrade(
        _ migrator: Migrator, besideReaderOf pool: PostgresPool
    ) async throws -> Task<[String], any Error> {
        try await pool.withTransaction { reader in
            _ = try await reader.query("SELECT count(*) AS n FROM (SELECT FROM events LIMIT 1) one")
            let upgrade = Task { try await migrator.migrate() }
            let stands = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                    AND application_name = 'migrating' AND wait_event_type = 'Lock'
                """
            for _ in 0..<2 {
                while try await number(stands, pool) == 0 {}
                while try await number(stands, pool) > 0 {}
            }
            return upgrade
        }
    }

    @Test func `purchases go on meanwhile, beside a reader that holds the tables, and no index is built anew`()
        async throws
    {
        try await TestDatabase.withAddress { pool, url in
            try await Self.goBack(pool)
            try await Self.fill(pool)
            _ = try await pool.query("GRANT SELECT ON events TO pg_read_all_stats")
            _ = try await pool.query("GRANT UPDATE (due_at) ON webhook_deliveries TO pg_read_all_stats")
            // Making an index waits for whoever reads; so they are made before there is a reader.
            try await pool.withConnection { try await IndexChange.apply(IndexChange.divideByMonth, on: $0) }
            let files = try await Self.files(pool)
            var configuration = try PostgresConfiguration(url: url)
            configuration.applicationName = "migrating"
            let migrating = PostgresPool(configuration: configuration, logger: Logger(label: "tests"))
            let buyers = Buyers(pool)
            let clock = ContinuousClock()
            let began = clock.now
            let waits = Waits()
            let upgrade = try await Self.upgrade(
                Migrator(pool: migrating) { line in waits.lines.withLock { $0.append(line) } }, besideReaderOf: pool)
            // Whoever started it is told at the first wait, and not at each.
            let lines = waits.lines.withLock { $0 }
            #expect(lines.count == 1 && lines.allSatisfy { $0.contains("pg_stat_activity") }, "\(lines)")
            #expect(try await upgrade.value.first == "divide_by_month")
            let took = clock.now - began
            let before = buyers.bought
            while buyers.bought < before + 20 { await Task.yield() }
            try await buyers.end()
            print(
                "upgrade of \(Self.rows) rows each: \(took), \(buyers.bought) purchases meanwhile, the slowest \(buyers.slowest)"
            )
            await migrating.close()
            let count = Int64(buyers.bought + Self.rows)
            for table in ["events", "webhook_deliveries", "submissions"] {
                #expect(try await Self.number("SELECT count(*) FROM \(table)", pool) == count, "\(table)")
            }
            #expect(try await Self.number("SELECT count(*) FROM events_first", pool) == count)
            #expect(try await Self.files(pool) == files)
            #expect(
                try await Self.number(
                    """
                    SELECT (has_table_privilege('pg_read_all_stats', 'events', 'SELECT')
                        AND has_column_privilege('pg_read_all_stats', 'webhook_deliveries', 'due_at', 'UPDATE')
                        AND NOT has_column_privilege('pg_read_all_stats', 'webhook_deliveries', 'state', 'UPDATE'))::int
                    """, pool) == 1)
        }
    }

    @Test func `an upgrade that was ended before its last step is gone on with`() async throws {
        try await TestDatabase.with { pool in
            try await Self.goBack(pool)
            try await Self.fill(pool)
            for _ in 0..<2 { try await pool.withConnection { try await FirstPartition.prepare(on: $0) } }
            // The version before goes on with it.
            try await Self.buy(1, pool)
            #expect(
                try await Migrator(pool: pool).migrate() == [
                    "divide_by_month", "sweep_history", "answer_apple", "import_from_older_systems", "find_numbers",
                    "number_events", "store_webhook_endpoints", "record_attempts", "ask_for_sweeps",
                    "forget_as_of_a_moment",
                ])
            #expect(try await Self.number("SELECT count(*) FROM events", pool) == Int64(Self.rows) + 1)
            #expect(
                try await Self.number("SELECT count(*) FROM pg_constraint WHERE conname LIKE '%_first_bound'", pool)
                    == 0)
            try await Self.buy(2, pool)
            #expect(
                try await Self.number("SELECT count(*) FROM webhook_deliveries_first", pool) == Int64(Self.rows) + 2)
        }
    }

    @Test func `the first rows may come between the preparation and the step`() async throws {
        try await TestDatabase.with { pool in
            try await Self.goBack(pool)
            try await pool.withConnection { try await FirstPartition.prepare(on: $0) }
            try await Self.buy(1, pool)
            let migration = try #require(Migrator.migrations.first { $0.version == 18 })
            try await pool.withTransaction { try await $0.executeScript(migration.sql) }
            #expect(try await Self.number("SELECT count(*) FROM events_first", pool) == 1)
        }
    }
}

extension DivideByMonthTests {
    /// Buys as the version before does, one purchase after the other, until it is ended.
    private final class Buyers: Sendable {
        private let counts = Mutex((bought: 0, slowest: Duration.zero, isEnding: false))
        private let task = Mutex<Task<Void, any Error>?>(nil)

        var bought: Int { counts.withLock { $0.bought } }
        var slowest: Duration { counts.withLock { $0.slowest } }

        init(_ pool: PostgresPool) {
            let buying = Task { [self] in
                while !counts.withLock({ $0.isEnding }) {
                    let took = try await ContinuousClock().measure { try await DivideByMonthTests.buy(bought, pool) }
                    counts.withLock { $0 = ($0.bought + 1, max($0.slowest, took), $0.isEnding) }
                }
            }
            task.withLock { $0 = buying }
        }

        func end() async throws {
            counts.withLock { $0.isEnding = true }
            try await task.withLock { $0 }?.value
        }
    }

    /// What the upgrade says that it waits for.
    private final class Waits: Sendable {
        let lines = Mutex<[String]>([])
    }
}
