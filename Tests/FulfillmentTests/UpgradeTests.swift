import Foundation
import Logging
import PersistenceTesting
import Postgres
import Synchronization
import Testing

@testable import Persistence

/// A database of each released version becomes what a new one is, beside running services.
@Suite(.enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct UpgradeTests {
    /// A version that was released.
    private struct Release {
        let name: String
        /// The version of its schema.
        let schema: Int64
        /// Its `schema.sql`, as `ReleasedSchemas/NAME.sql`.
        var script: String {
            get throws {
                let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "ReleasedSchemas")
                return try String(contentsOf: folder.appending(path: "\(name).sql"), encoding: .utf8)
            }
        }
    }

    /// The oldest first.
    private static let releases = [Release(name: "0.1.0", schema: 1)]

    @Test func `a database of each release becomes what a new one is`() async throws {
        for release in Self.releases {
            let upgraded = try await Self.upgraded(try release.script, release.schema, by: Migrator.migrations)
            #expect(try await upgraded == Self.new(), "\(release.name)")
        }
    }

    @Test func `what programs of a release use is there, and nothing new is asked of them`() async throws {
        let (new, compatibleFrom) = try await TestDatabase.with { pool in
            (try await Self.uses(pool), try await Migrator(pool: pool).state().compatibleFrom)
        }
        for release in Self.releases where release.schema >= compatibleFrom {
            let old = try await TestDatabase.with { pool in
                try await Self.make(try release.script, release.schema, in: pool)
                return try await Self.uses(pool)
            }
            #expect(old.names.subtracting(new.names).isEmpty, "\(release.name)")
            let tables = Set(old.names.compactMap { $0.split(separator: " ").first })
            let asked = new.required.filter { $0.split(separator: " ").first.map(tables.contains) ?? false }
            #expect(asked.subtracting(old.required).isEmpty, "\(release.name)")
        }
    }

    /// What an older version lacks, for the tests of the tests and of the Migrator.
    private enum Sample {
        static let lacking =
            Migrator.schema + """
                DROP INDEX orders_waiting;
                DROP TRIGGER spends_unchanged ON spends;
                ALTER TABLE orders DROP COLUMN is_price_expected, DROP CONSTRAINT orders_quantity_is_positive;
                CREATE OR REPLACE FUNCTION position_floor(at timestamptz) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
                """
        static let column = Migrator.Migration(
            version: 2, name: "say_whether_a_price_is_expected", compatibleFrom: 1,
            sql: """
                ALTER TABLE orders ADD COLUMN is_price_expected boolean,
                    ADD CONSTRAINT orders_quantity_is_positive CHECK (quantity >= 1);
                CREATE TRIGGER spends_unchanged BEFORE UPDATE ON spends FOR EACH ROW EXECUTE FUNCTION
                    refuse_other_change('account', 'idempotency_key', 'request_sha256', 'reference')
                """)
        static let index = IndexChange.make(
            "orders_waiting", on: "orders (environment, reason, created_at) WHERE state = 'parked'")
        static let function = Migrator.Migration(
            version: 3, name: "floor_positions", compatibleFrom: 1,
            sql: """
                CREATE OR REPLACE FUNCTION position_floor(at timestamptz) RETURNS bigint
                LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
                    SELECT floor(extract(epoch FROM at) * 1000000)::bigint
                $$
                """, indexes: [index])
    }

    @Test func `an upgrade that leaves something out is seen, and one that is whole is not`() async throws {
        let new = try await Self.new()
        let whole = try await Self.upgraded(Sample.lacking, 1, by: [Sample.column, Sample.function])
        #expect(whole == new)
        let half = try await Self.upgraded(Sample.lacking, 1, by: [Sample.column])
        #expect(new.subtracting(half).count == 2 && half.subtracting(new).count == 1, "the index, and the function")
        let none = try await Self.upgraded(Sample.lacking, 1, by: [])
        #expect(new.subtracting(none).count == 5)
    }

    @Test func `what fails is gone on with, and what was done before its indexes stays`() async throws {
        try await TestDatabase.with { pool in
            try await Self.make(Sample.lacking, 1, in: pool)
            let broken = Migrator.Migration(
                version: 3, name: "broken", compatibleFrom: 1, sql: "SELECT 1; DROP TABLE orders; SELECT 1 / 0",
                indexes: [Sample.index])
            await #expect(throws: PostgresError.self) {
                _ = try await Migrator(pool: pool, migrations: [Sample.column, broken]).migrate()
            }
            #expect(try await Migrator(pool: pool).state().version == 2)
            #expect(
                try await pool.query("SELECT to_regclass('orders_waiting') IS NOT NULL AS is_there").rows[0].decode(
                    "is_there"))
            let whole = Migrator(pool: pool, migrations: [Sample.column, Sample.function])
            #expect(try await whole.migrate() == ["floor_positions"])
            #expect(try await whole.migrate().isEmpty)
        }
    }

    @Test func `a new database has the newest version, and no migration to come`() async throws {
        try await TestDatabase.with { pool in
            try await Self.clear(pool)
            let migrator = Migrator(pool: pool, migrations: [Sample.column, Sample.function])
            #expect(try await migrator.migrate() == ["schema"])
            #expect(try await migrator.state().version == 3)
            #expect(try await migrator.migrate().isEmpty)
        }
    }

    @Test func `who needs a table lets its reader go first, again and again, and says so once`() async throws {
        try await TestDatabase.withAddress { pool, url in
            try await Self.make(Migrator.schema, 1, in: pool)
            var configuration = try PostgresConfiguration(url: url)
            configuration.applicationName = "migrating"
            let migrating = PostgresPool(configuration: configuration, logger: Logger(label: "tests"))
            let lines = Mutex<[String]>([])
            let migrator = Migrator(
                pool: migrating,
                migrations: [
                    .init(
                        version: 2, name: "widen", compatibleFrom: 1, sql: "ALTER TABLE orders ADD COLUMN new text",
                        locksTables: true)
                ]
            ) { line in lines.withLock { $0.append(line) } }
            let upgrade = try await pool.withTransaction { reader in
                _ = try await reader.query("SELECT count(*) AS n FROM orders")
                let upgrade = Task { try await migrator.migrate() }
                // It has stood before the reader, and begun anew, twice.
                for _ in 0..<2 {
                    while try await Self.standing(pool) == 0 {}
                    while try await Self.standing(pool) > 0 {}
                }
                return upgrade
            }
            #expect(try await upgrade.value == ["widen"])
            let told = lines.withLock { $0 }
            #expect(told.count == 1 && told.allSatisfy { $0.contains("pg_stat_activity") }, "\(told)")
            await migrating.close()
        }
    }

    private static func standing(_ pool: PostgresPool) async throws -> Int64 {
        let result = try await pool.query(
            """
            SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()
                AND application_name = 'migrating' AND wait_event_type = 'Lock'
            """)
        return try result.rows[0].decode("n")
    }

    @Test("of two who migrate at once one waits, and finds everything done")
    func together() async throws {
        try await TestDatabase.withAddress { pool, url in
            try await Self.clear(pool)
            let other = PostgresPool(
                configuration: try PostgresConfiguration(url: url), logger: Logger(label: "tests"))
            async let first = Migrator(pool: pool).migrate()
            async let second = Migrator(pool: other).migrate()
            let applied = try await [first, second].map(\.count).sorted()
            #expect(applied == [0, 1])
            await other.close()
        }
    }

    @Test("who comes while another migrates waits for it, longer than for other locks")
    func waiting() async throws {
        try await TestDatabase.withAddress { pool, url in
            var configuration = try PostgresConfiguration(url: url)
            configuration.lockTimeout = .milliseconds(20)
            let impatient = PostgresPool(configuration: configuration, logger: Logger(label: "tests"))
            let later = try await pool.withConnection { connection in
                _ = try await connection.query("SELECT pg_advisory_lock($1)::text", [.int8(Migrator.lockKey)])
                let later = Task { try await Migrator(pool: impatient).migrate() }
                // Until it waits; then as long again as it may wait elsewhere, and more.
                var looks = 0
                while looks < 500, try await Self.waiting(pool) == 0 { looks += 1 }
                _ = try await pool.query("SELECT pg_sleep(0.1)::text")
                _ = try await connection.query("SELECT pg_advisory_unlock($1)", [.int8(Migrator.lockKey)])
                return later
            }
            #expect(try await later.value.isEmpty)
            await impatient.close()
        }
    }

    private static func waiting(_ pool: PostgresPool) async throws -> Int64 {
        let result = try await pool.query(
            """
            SELECT count(*) AS n, pg_sleep(0.01)::text FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'idle in transaction'
                AND query LIKE 'SET LOCAL idle_in_transaction%'
            """)
        return try result.rows[0].decode("n")
    }
}

extension UpgradeTests {
    private static func clear(_ pool: PostgresPool) async throws {
        try await pool.withConnection { try await $0.executeScript("DROP SCHEMA public CASCADE; CREATE SCHEMA public") }
    }

    /// Makes the database anew, as an older version did.
    private static func make(_ script: String, _ version: Int64, in pool: PostgresPool) async throws {
        try await clear(pool)
        try await pool.withTransaction { connection in
            try await connection.executeScript(Migrator.own)
            try await connection.executeScript(script)
            _ = try await connection.query(
                "INSERT INTO schema_migrations (version, name, compatible_from) VALUES ($1, 'schema', 1)",
                [.int8(version)])
        }
    }

    private static func upgraded(
        _ script: String, _ version: Int64, by migrations: [Migrator.Migration]
    ) async throws -> Set<String> {
        try await TestDatabase.with { pool in
            try await make(script, version, in: pool)
            _ = try await Migrator(pool: pool, migrations: migrations).migrate()
            return try await description(pool)
        }
    }

    private static func new() async throws -> Set<String> {
        try await TestDatabase.with { try await description($0) }
    }

    /// What programs name: columns and functions with their types; and the columns that an INSERT has to give.
    private static func uses(_ pool: PostgresPool) async throws -> (names: Set<String>, required: Set<String>) {
        let result = try await pool.query(
            """
            SELECT concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod)) AS name,
                c.relkind IN ('r', 'p') AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS is_required
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v')
            UNION ALL SELECT concat_ws(' ', oid::regprocedure, pg_get_function_result(oid)), false FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace
            """)
        let rows = try result.rows.map { try $0.decode((String, Bool).self) }
        return (Set(rows.map(\.0)), Set(rows.filter(\.1).map(\.0)))
    }

    /// All of the schema, a line each; the order of columns is not told.
    private static func description(_ pool: PostgresPool) async throws -> Set<String> {
        let result = try await pool.query(
            """
            WITH classes AS (SELECT * FROM pg_class WHERE relnamespace = 'public'::regnamespace)
            SELECT concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
                pg_get_expr(d.adbin, d.adrelid)) AS line
            FROM classes c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum) WHERE c.relkind IN ('r', 'p')
            UNION ALL SELECT concat_ws(' ', relname, relkind, pg_get_partkeydef(oid), pg_get_expr(relpartbound, oid))
            FROM classes WHERE relkind IN ('r', 'p')
            UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid))
            FROM pg_constraint WHERE connamespace = 'public'::regnamespace
            UNION ALL SELECT concat_ws(' ', i.indisvalid, pg_get_indexdef(i.indexrelid))
            FROM pg_index i JOIN classes c ON c.oid = i.indexrelid
            UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN classes c ON c.oid = t.tgrelid WHERE NOT tgisinternal
            UNION ALL SELECT concat_ws(' ', relname, pg_get_viewdef(oid)) FROM classes WHERE relkind = 'v'
            UNION ALL SELECT concat_ws(' ', pg_get_functiondef(oid), proacl::text) FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace
            """)
        return Set(try result.rows.map { try $0.decode("line", as: String.self) })
    }
}
