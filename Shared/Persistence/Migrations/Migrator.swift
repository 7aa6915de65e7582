import Foundation
package import Postgres

/// Brings a database to the schema that this program knows, forwards only.
///
/// Every migration is a numbered SQL file, some with a step in Swift after it, applied once and remembered in
/// `schema_migrations`. All that is missing is one transaction, applied as a whole or not at all; before a migration that
/// makes indexes beside running services, what precedes it is one of its own. Several processes may try at once: an
/// advisory lock lets one through.
package struct Migrator: Sendable {
    private let pool: PostgresPool
    private let report: LockWait.Report

    /// A numbered SQL file.
    package struct Migration: Sendable {
        package let version: Int64
        let name: String
        package let sql: String
        /// What is done before the SQL, outside of any transaction.
        package var indexes: [IndexChange] = []
        /// What else precedes the SQL, outside of any transaction, beside running services; it may have been done before.
        var preparation: (@Sendable (PostgresConnection, LockWait.Report) async throws -> Void)?
        /// Whether it locks tables that purchases need: its locks are waited for as ``LockWait`` says.
        var locksTables = false
        /// What SQL alone does badly; it sees the schema as this migration leaves it, and never a later one.
        var step: (@Sendable (PostgresConnection) async throws -> Void)?
    }

    /// Every migration, in order.
    ///
    /// A file that was released is never changed, only followed by another.
    package static var migrations: [Migration] {
        [
            Migration(
                version: 1, name: "create_purchases",
                sql: String(decoding: PackageResources._001_create_purchases_sql, as: UTF8.self)),
            Migration(
                version: 2, name: "take_every_proof",
                sql: String(decoding: PackageResources._002_take_every_proof_sql, as: UTF8.self)),
            Migration(
                version: 3, name: "version_catalogues",
                sql: String(decoding: PackageResources._003_version_catalogues_sql, as: UTF8.self)),
            Migration(
                version: 4, name: "keep_owners_and_subscriptions",
                sql: String(decoding: PackageResources._004_keep_owners_and_subscriptions_sql, as: UTF8.self)),
            Migration(
                version: 5, name: "estimate_proceeds",
                sql: String(decoding: PackageResources._005_estimate_proceeds_sql, as: UTF8.self)),
            Migration(
                version: 6, name: "one_order_a_purchase",
                sql: String(decoding: PackageResources._006_one_order_a_purchase_sql, as: UTF8.self),
                step: { try await MergeDoubleOrders.run(on: $0) }),
            Migration(
                version: 7, name: "keep_purchases_unique",
                sql: String(decoding: PackageResources._007_keep_purchases_unique_sql, as: UTF8.self)),
            Migration(
                version: 8, name: "look_up_less",
                sql: String(decoding: PackageResources._008_look_up_less_sql, as: UTF8.self)),
            Migration(
                version: 9, name: "see_what_waits",
                sql: String(decoding: PackageResources._009_see_what_waits_sql, as: UTF8.self)),
            Migration(
                version: 10, name: "whose_refunds",
                sql: String(decoding: PackageResources._010_whose_refunds_sql, as: UTF8.self)),
            Migration(
                version: 11, name: "keep_chains_once",
                sql: String(decoding: PackageResources._011_keep_chains_once_sql, as: UTF8.self)),
            Migration(
                version: 12, name: "send_events_from_an_outbox",
                sql: String(decoding: PackageResources._012_send_events_from_an_outbox_sql, as: UTF8.self)),
            Migration(
                version: 13, name: "drop_idle_indexes",
                sql: String(decoding: PackageResources._013_drop_idle_indexes_sql, as: UTF8.self)),
            Migration(
                version: 14, name: "keep_revocations",
                sql: String(decoding: PackageResources._014_keep_revocations_sql, as: UTF8.self)),
            Migration(
                version: 15, name: "read_few_rows",
                sql: String(decoding: PackageResources._015_read_few_rows_sql, as: UTF8.self),
                indexes: IndexChange.readFewRows),
            Migration(
                version: 16, name: "hold_deliveries",
                sql: String(decoding: PackageResources._016_hold_deliveries_sql, as: UTF8.self),
                indexes: IndexChange.holdDeliveries),
            Migration(
                version: 17, name: "forget_accounts",
                sql: String(decoding: PackageResources._017_forget_accounts_sql, as: UTF8.self),
                indexes: IndexChange.forgetAccounts),
            Migration(
                version: 18, name: "divide_by_month",
                sql: String(decoding: PackageResources._018_divide_by_month_sql, as: UTF8.self),
                indexes: IndexChange.divideByMonth,
                preparation: { try await FirstPartition.prepare(on: $0, report: $1) },
                locksTables: true),
            Migration(
                version: 19, name: "sweep_history",
                sql: String(decoding: PackageResources._019_sweep_history_sql, as: UTF8.self),
                indexes: IndexChange.sweepHistory),
            Migration(
                version: 20, name: "answer_apple",
                sql: String(decoding: PackageResources._020_answer_apple_sql, as: UTF8.self)),
            Migration(
                version: 21, name: "import_from_older_systems",
                sql: String(decoding: PackageResources._021_import_from_older_systems_sql, as: UTF8.self),
                locksTables: true),
            Migration(
                version: 22, name: "find_numbers",
                sql: String(decoding: PackageResources._022_find_numbers_sql, as: UTF8.self),
                indexes: IndexChange.findNumbers),
            Migration(
                version: 23, name: "number_events",
                sql: String(decoding: PackageResources._023_number_events_sql, as: UTF8.self),
                locksTables: true),
            Migration(
                version: 24, name: "store_webhook_endpoints",
                sql: String(decoding: PackageResources._024_store_webhook_endpoints_sql, as: UTF8.self)),
            Migration(
                version: 25, name: "record_attempts",
                sql: String(decoding: PackageResources._025_record_attempts_sql, as: UTF8.self)),
            Migration(
                version: 26, name: "ask_for_sweeps",
                sql: String(decoding: PackageResources._026_ask_for_sweeps_sql, as: UTF8.self),
                indexes: IndexChange.askForSweeps),
            Migration(
                version: 27, name: "forget_as_of_a_moment",
                sql: String(decoding: PackageResources._027_forget_as_of_a_moment_sql, as: UTF8.self)),
        ]
    }

    /// The newest version that this program knows.
    package static var newestVersion: Int64 {
        migrations.last?.version ?? 0
    }

    /// The key of the advisory lock; any number that nothing else in the database uses.
    static let lockKey: Int64 = 0x436F_756E_7465

    /// Works on the database of a pool.
    ///
    /// - Parameter report: is told in a sentence what a migration waits for.
    package init(pool: PostgresPool, report: @escaping @Sendable (String) -> Void = { _ in }) {
        self.pool = pool
        self.report = report
    }

    /// Applies what is missing.
    ///
    /// - Returns: the names of the migrations that were applied now.
    /// - Throws: `PostgresError`; `SchemaError` when the database is newer than this program.
    package func migrate() async throws -> [String] {
        try await pool.withConnection { connection in
            try await connection.executeScript(
                """
                CREATE TABLE IF NOT EXISTS schema_migrations (
                    version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())
                """)
        }
        // The lock is a transaction's, so that it goes with it whatever happens, behind a pooler of connections, too. The
        // work is done on another connection meanwhile.
        return try await pool.withTransaction { holder in
            try await Self.lock(on: holder)
            let present = try await Self.version(on: holder)
            try await Self.rest(on: holder)
            guard present <= Self.newestVersion else {
                throw SchemaError(found: present, known: Self.newestVersion)
            }
            var missing = Self.migrations.filter { $0.version > present }[...]
            var applied: [String] = []
            while let first = missing.first {
                try await make(first.indexes)
                if let preparation = first.preparation {
                    try await pool.withConnection { try await preparation($0, report) }
                }
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
                try await migration.step?(connection)
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
