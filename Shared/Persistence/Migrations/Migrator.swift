import Foundation
package import Postgres
import SchemaFile

/// Brings a database to the schema that this program knows, forwards only.
///
/// A new database gets `schema.sql`. One that an older version made gets the migrations that it lacks: numbered SQL files, each
/// applied once and remembered in `schema_migrations`. All that is missing is one transaction, applied as a whole or not at
/// all; before a migration that makes indexes beside running services, what precedes it is one of its own. Several processes
/// may try at once: an advisory lock lets one through.
///
/// Each migration says which programs work with what it leads to, so that old and new ones run side by side during an
/// upgrade, and so that there is a way back: decision 0038.
package struct Migrator: Sendable {
    private let pool: PostgresPool
    private let migrations: [Migration]
    private let report: LockWait.Report

    /// A numbered SQL file.
    package struct Migration: Sendable {
        package let version: Int64
        let name: String
        /// The oldest schema version whose programs work on what the migration leads to: 1 for what only adds.
        let compatibleFrom: Int64
        package let sql: String
        /// What is done before the SQL, outside of any transaction.
        package var indexes: [IndexChange] = []
        /// Whether it locks tables that purchases need: its locks are waited for as ``LockWait`` says.
        var locksTables = false
    }

    /// The whole schema, as a new database gets it: what all migrations lead to.
    package static var schema: String { String(cString: schema_file()) }

    /// The version of the first release's `schema.sql`.
    static let firstVersion: Int64 = 1

    /// Every migration, in order; what each changes is in `schema.sql`, too.
    ///
    /// A file that was released is never changed, only followed by another.
    package static let migrations: [Migration] = [
        Migration(
            version: 2, name: "what_0_2_0_needs", compatibleFrom: 1, sql: String(cString: migration_0002()),
            indexes: [
                .make(
                    "apple_calls_extensions", on: "apple_calls (environment, transaction_id) WHERE kind = 'extension'"),
                .make(
                    "submissions_dealt_with",
                    on: "submissions (settled_at) "
                        + "WHERE account = '' AND NOT is_imported AND state IN ('fulfilled', 'rejected')"),
                .drop("submissions_notifications"),
            ], locksTables: true)
    ]

    /// The newest version that this program knows.
    package static var newestVersion: Int64 { newestVersion(of: migrations) }

    private static func newestVersion(of migrations: [Migration]) -> Int64 {
        migrations.last?.version ?? firstVersion
    }

    /// The newest version that the given migrations lead to.
    private var newest: Int64 { Self.newestVersion(of: migrations) }

    /// The Migrator's own table, which is there before any schema.
    package static let own = """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now(),
            compatible_from bigint NOT NULL)
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
    /// A newer schema that this program works with stays as it is.
    ///
    /// - Returns: the names of the migrations that were applied now; `schema` where there was nothing yet.
    /// - Throws: `PostgresError`; `SchemaError` where the database's schema is too new for this program.
    package func migrate() async throws -> [String] {
        // The lock is a transaction's, so that it goes with it whatever happens, behind a pooler of connections, too. The
        // work is done on another connection meanwhile.
        return try await pool.withTransaction { holder in
            try await Self.lock(on: holder)
            try await pool.withConnection { try await $0.executeScript(Self.own) }
            let present = try await Self.state(on: holder)
            try await Self.rest(on: holder)
            try present.requireNotTooNew(for: newest)
            var missing = missing(in: present)[...]
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

    /// What is to be applied to a database of that schema, in order.
    private func missing(in present: SchemaState) -> [Migration] {
        guard present.version == 0 else { return migrations.filter { $0.version > present.version } }
        let compatibleFrom = migrations.map(\.compatibleFrom).max() ?? Self.firstVersion
        return [Migration(version: newest, name: "schema", compatibleFrom: compatibleFrom, sql: Self.schema)]
    }

    /// What ``migrate()`` would do now; nothing is changed.
    ///
    /// - Returns: the names that it would return, and the schema that it would leave.
    /// - Throws: as ``migrate()``.
    package func plan() async throws -> (missing: [String], state: SchemaState) {
        let present = try await state()
        try present.requireNotTooNew(for: newest)
        let missing = missing(in: present)
        return (missing.map(\.name), missing.reduce(present) { $0.followed(by: $1) })
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
                    "INSERT INTO schema_migrations (version, name, compatible_from) VALUES ($1, $2, $3)",
                    [.int8(migration.version), .text(migration.name), .int8(migration.compatibleFrom)])
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

    /// Refuses a schema that this program does not work with.
    ///
    /// - Returns: the database's schema.
    /// - Throws: `SchemaError`, or `PostgresError` when the database does not answer.
    @discardableResult
    package func requireUsableSchema() async throws -> SchemaState {
        let present = try await state()
        try present.requireUsable(by: newest)
        return present
    }

    /// The schema the database has.
    ///
    /// - Throws: `PostgresError`.
    package func state() async throws -> SchemaState {
        let present = try await pool.query("SELECT to_regclass('schema_migrations') IS NOT NULL AS present")
        guard let row = present.rows.first, try row.decode("present", as: Bool.self) else { return SchemaState() }
        return try await pool.withConnection { try await Self.state(on: $0) }
    }

    private static func state(on connection: PostgresConnection) async throws -> SchemaState {
        let result = try await connection.query(
            """
            SELECT coalesce(max(version), 0) AS version, coalesce(max(compatible_from), 0) AS compatible_from
            FROM schema_migrations
            """)
        guard let row = result.rows.first else { return SchemaState() }
        return SchemaState(
            version: try row.decode("version"), compatibleFrom: try row.decode("compatible_from"))
    }
}
