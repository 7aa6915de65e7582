import Foundation
import Logging
import Persistence
public import Postgres

/// A database of a test's own in the server that `deploy/test` started: migrated, and dropped afterwards.
public enum TestDatabase {
    /// The server's address; nil when the tests run without one.
    public static var url: String? {
        ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_POSTGRES"]
    }

    /// Connections of a test's pool: many tests run at once, and the server has a hundred.
    private static let poolSizeMaximum = 6

    /// Says loudly why a suite that is enabled by `url` did not run.
    public static let skipComment = "COUNTERSIGN_TEST_POSTGRES is not set: nothing of PostgreSQL is tested here"

    /// There is no server: the suite should have been disabled.
    public struct NoServer: Error {}

    /// Runs `body` with a pool on a fresh database.
    ///
    /// - Throws: what `body` throws, `PostgresError` and `NoServer`.
    public static func with<Value>(_ body: (PostgresPool) async throws -> Value) async throws -> Value {
        try await withAddress { pool, _ in try await body(pool) }
    }

    /// Runs `body` with a pool on a fresh database and the database's address.
    ///
    /// - Throws: what `body` throws, `PostgresError` and `NoServer`.
    public static func withAddress<Value>(
        _ body: (PostgresPool, _ url: String) async throws -> Value
    ) async throws -> Value {
        guard let url else { throw NoServer() }
        let name = "test_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        let own = replacing(url, name)
        let template = try await template.value
        let admin = try pool(url, connections: 1)
        try await admin.withConnection { try await $0.executeScript("CREATE DATABASE \(name) TEMPLATE \(template)") }
        let pool = try pool(own, connections: poolSizeMaximum)
        let outcome: Result<Value, any Error>
        do {
            outcome = .success(try await body(pool, own))
        } catch {
            outcome = .failure(error)
        }
        try await drop(name, pool, admin)
        return try outcome.get()
    }

    /// A database that has the schema: to copy it takes a third of the time of making it.
    private static let template = Task { try await makeTemplate() }
    /// Of the advisory lock under which it is made; any number that nothing else uses.
    private static let templateLock: Int64 = 0x7465_6D70_6C61

    /// Makes it, unless the server has one of the same schema.
    private static func makeTemplate() async throws -> String {
        guard let url else { throw NoServer() }
        let name = "test_template_" + fingerprint
        let unfinished = "\(name)_unfinished"
        let admin = try pool(url, connections: 1)
        try await admin.withConnection { connection in
            _ = try await connection.query("SELECT pg_advisory_lock($1)", [.int8(templateLock)])
            let found = try await connection.query("SELECT 1 FROM pg_database WHERE datname = $1", [.text(name)])
            if found.rows.isEmpty {
                try await connection.executeScript("DROP DATABASE IF EXISTS \(unfinished)")
                try await connection.executeScript("CREATE DATABASE \(unfinished)")
                let pool = try pool(replacing(url, unfinished), connections: 2)
                _ = try await Migrator(pool: pool).migrate()
                // Nobody may be in a database that is renamed or copied.
                await pool.close()
                try await connection.executeScript("ALTER DATABASE \(unfinished) RENAME TO \(name)")
            }
            _ = try await connection.query("SELECT pg_advisory_unlock($1)", [.int8(templateLock)])
        }
        await admin.close()
        return name
    }

    /// Differs where the schema does (FNV-1a).
    private static var fingerprint: String {
        let hash = "\(Migrator.newestVersion) \(Migrator.own) \(Migrator.schema)".utf8.reduce(
            0xcbf2_9ce4_8422_2325 as UInt64
        ) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 16)
    }

    private static func pool(_ url: String, connections: Int) throws -> PostgresPool {
        var configuration = try PostgresConfiguration(url: url)
        configuration.poolSizeMaximum = connections
        return PostgresPool(configuration: configuration, logger: Logger(label: "tests"))
    }

    private static func drop(_ name: String, _ pool: PostgresPool, _ admin: PostgresPool) async throws {
        await pool.close()
        try await admin.withConnection { connection in
            do {
                try await connection.executeScript("DROP DATABASE \(name) WITH (FORCE)")
            } catch let error as PostgresError where error.sqlState == "42501" {
                // Autovacuum is in it, which only a superuser may force out; without FORCE the server asks it to leave.
                try await connection.executeScript("DROP DATABASE \(name)")
            }
        }
        await admin.close()
    }

    private static func replacing(_ url: String, _ name: String) -> String {
        var components = URLComponents(string: url)
        components?.path = "/" + name
        return components?.string ?? url
    }
}
