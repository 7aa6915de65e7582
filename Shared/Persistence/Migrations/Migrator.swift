import Foundation
package import Postgres
import SchemaFile

/// Brings a database to the schema that this program knows, forwards only.
///
/// A new database gets `schema.sql`. One that an older version made gets the migrations that it lacks: numbered SQL files, each
/// applied once and remembered in `schema_migrations`. All that is missing is one transaction, applied as a whole or not at
/// all; before a migration that makes indexes beside running services, what precedes it is one of its own. Several processes
/// may try at once: an advisory lock lets one through.
package struct Migrator: Sendable {
    private let pool: PostgresPool
    private let migrations: [Migration]
    private let report: LockWait.Report

    /// A numbered SQL file.
    package struct Migration: Sendable {
        package let version: Int64
        let name: String
        package let sql: String
        /// What is done before the SQL, outside of any transaction.
        package var indexes: [IndexChange] = []
        /// Whether it locks tables that purchases need: its locks are waited for as ``LockWait`` says.
        var locksTables = false
    }

    /// The whole schema, as a new database gets it: what all migrations lead to.
    package static var schema: String { String(cString: schema_file()) }

    /// The version of `schema.sql` while there is no migration.
    static let firstVersion: Int64 = 1

    /// Every migration, in order; what each changes is in `schema.sql`, too.
    ///
    /// None before the first release: until then `schema.sql` is changed, and nothing else. A file that was released is never
    /// changed, only followed by another.
    package static let migrations: [Migration] = []

    /// The newest version that this program knows.
    package static var newestVersion: Int64 { newestVersion(of: migrations) }

    private static func newestVersion(of migrations: [Migration]) -> Int64 {
        migrations.last?.version ?? firstVersion
    }

    /// The Migrator's own table, which is there before any schema.
    static let own = """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())
        """

    /// The key of the advisory lock; any number that nothing else in the database uses.
    static let lockKey: Int64 = 0x436F_756E_7465

    /// Works on the database of a pool.
    ///
    /// - Parameter report: is told in a sentence what a migration waits for.
    package init(pool: PostgresPool, report: @escaping @Sendable (String) -> Void = { _ in }) {
        self.init(pool: pool, migrations: Self.migrations, report: report)
    }

    /// Has other migrations follow the first version.
    init(pool: PostgresPool, migrations: [Migration], report: @escaping @Sendable (String) -> Void = { _ in }) {
        self.pool = pool
        self.migrations = migrations
        self.report = report
    }

    /// Applies what is missing.
    ///
    /// - Returns: the names of the migrations that were applied now; `schema` where there was nothing yet.
    /// - Throws: `PostgresError`; `SchemaError` when the database is newer than this program.
    package func migrate() async throws -> [String] {
        // The lock is a transaction's, so that it goes with it whatever happens, behind a pooler of connections, too. The
        // work is done on another connection meanwhile.
        return try await pool.withTransaction { holder in
            try await Self.lock(on: holder)
            try await pool.withConnection { try await $0.executeScript(Self.own) }
            let present = try await Self.version(on: holder)
            try await Self.rest(on: holder)
            let newest = Self.newestVersion(of: migrations)
            guard present <= newest else { throw SchemaError(found: present, known: newest) }
            if present == 0 {
                try await apply([Migration(version: newest, name: "schema", sql: Self.schema)])
                return ["schema"]
            }
            var missing = migrations.filter { $0.version > present }[...]
            var applied: [String] = []
            while let first = missing.first {
                try await make(first.indexes)
                // What locks tables is a transaction of its own, so that nobody waits for what comes after it.
                let following = first.locksTables ? [] : missing.dropFirst()
                let batch = [first] + following.prefix { $0.indexes.isEmpty && !$0.locksTables }
                try await apply(batch)
                applied += batch.map(\.name)
                missing = missing.dropFirst(batch.count)
            }
            return applied
        }
    }

    /// Makes and drops indexes while services run.
    private func make(_ changes: [IndexChange]) async throws {
        guard !changes.isEmpty else { return }
        try await pool.withConnection { connection in
            try await IndexChange.apply(changes, on: connection)
        }
    }

    private func apply(_ migrations: [Migration]) async throws {
        guard migrations.contains(where: \.locksTables) else { return try await applyOnce(migrations) }
        try await LockWait.retrying(report: report) { try await applyOnce(migrations) }
    }

    private func applyOnce(_ migrations: [Migration]) async throws {
        try await pool.withTransaction { connection in
            if migrations.contains(where: \.locksTables) {
                try await connection.executeScript("SET LOCAL lock_timeout = '\(LockWait.patience)'")
            }
            for migration in migrations {
                try await connection.executeScript(migration.sql)
                _ = try await connection.query(
                    "INSERT INTO schema_migrations (version, name) VALUES ($1, $2)",
                    [.int8(migration.version), .text(migration.name)])
            }
        }
    }

    /// How often it is tried to be the one who migrates.
    private static let lockInterval = Duration.milliseconds(100)

    /// Waits for whoever migrates, however long that takes; then others wait until the caller's transaction ends.
    private static func lock(on connection: PostgresConnection) async throws {
        while true {
            let result = try await connection.query("SELECT pg_try_advisory_xact_lock($1) AS locked", [.int8(lockKey)])
            if try result.rows.first?.decode("locked", as: Bool.self) ?? false { return }
            try await rest(on: connection)
            try await Task.sleep(for: lockInterval)
        }
    }

    /// Leaves a transaction open in which nothing is done for minutes.
    ///
    /// A statement keeps its snapshot until the next one takes its place, and the making of an index waits for older
    /// snapshots, those of who waits for the lock, too. A script keeps none.
    private static func rest(on connection: PostgresConnection) async throws {
        try await connection.executeScript("SET LOCAL idle_in_transaction_session_timeout = 0")
    }

    /// Refuses a schema that is not the one this program was written for.
    ///
    /// - Throws: `SchemaError`, or `PostgresError` when the database does not answer.
    package func requireCurrentSchema() async throws {
        let found = try await schemaVersion()
        guard found == Self.newestVersion else {
            throw SchemaError(found: found, known: Self.newestVersion)
        }
    }

    /// The version the database is at; 0 when it was never migrated.
    ///
    /// - Throws: `PostgresError`.
    package func schemaVersion() async throws -> Int64 {
        let present = try await pool.query("SELECT to_regclass('schema_migrations') IS NOT NULL AS present")
        guard let row = present.rows.first, try row.decode("present", as: Bool.self) else { return 0 }
        return try await pool.withConnection { try await Self.version(on: $0) }
    }

    private static func version(on connection: PostgresConnection) async throws -> Int64 {
        let result = try await connection.query("SELECT coalesce(max(version), 0) AS version FROM schema_migrations")
        guard let row = result.rows.first else { return 0 }
        return try row.decode("version", as: Int64.self)
    }
}

/// The database's schema is not the one this program knows.
package struct SchemaError: Error, CustomStringConvertible, Sendable {
    /// The version the database is at.
    package let found: Int64
    /// The version this program needs.
    package let known: Int64

    /// What is wrong and what to do.
    package var description: String {
        found < known
            ? "the database's schema is at version \(found), this program needs \(known): run `countersign migrate`"
            : "the database's schema is at version \(found), newer than the \(known) that this program knows: update it"
    }
}

/// An index that a migration makes or drops while services run: `CONCURRENTLY`, which no transaction may hold.
///
/// A plain `CREATE INDEX` would keep everybody from writing for as long as it reads the table: minutes without purchases.
/// Each change may have been made before: a migration that was ended goes on where it ended.
package struct IndexChange: Sendable, Hashable {
    /// The index.
    package let name: String
    /// The table and what follows it in `CREATE INDEX name ON`; nil where the index is dropped.
    package let definition: String?

    /// An index to make.
    static func make(_ name: String, on definition: String) -> IndexChange {
        IndexChange(name: name, definition: definition)
    }

    /// An index to drop.
    static func drop(_ name: String) -> IndexChange {
        IndexChange(name: name, definition: nil)
    }

    /// Makes the changes one after the other, each for as long as it takes: an index waits for the transactions that were
    /// there before it.
    ///
    /// - Parameter connection: in no transaction.
    /// - Throws: `PostgresError`; what was done before stays, and is passed over by the next call.
    static func apply(_ changes: [IndexChange], on connection: PostgresConnection) async throws {
        let usual = try await connection.query(
            "SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock")
        try await connection.executeScript("SET statement_timeout = 0; SET lock_timeout = 0")
        let outcome: Result<Void, any Error>
        do {
            for change in changes { try await change.apply(on: connection) }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        if let row = usual.rows.first {
            _ = try await connection.query(
                "SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false)",
                [.text(try row.decode("statement")), .text(try row.decode("lock"))])
        }
        try outcome.get()
    }

    private func apply(on connection: PostgresConnection) async throws {
        let found = try await connection.query(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)", [.text(name)])
        let isValid = try found.rows.first?.decode("indisvalid", as: Bool.self)
        // One whose making was ended is in the way, and is written to by every purchase, but answers nothing.
        if isValid == false || definition == nil && isValid != nil {
            try await connection.executeScript("DROP INDEX CONCURRENTLY IF EXISTS \(name)")
        }
        guard let definition, isValid != true else { return }
        try await connection.executeScript("CREATE INDEX CONCURRENTLY \(name) ON \(definition)")
    }
}
