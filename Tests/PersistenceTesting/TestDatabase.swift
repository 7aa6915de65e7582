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
        let admin = try pool(url, connections: 1)
        try await admin.withConnection { try await $0.executeScript("CREATE DATABASE \(name)") }
        let pool = try pool(own, connections: poolSizeMaximum)
        let outcome: Result<Value, any Error>
        do {
            _ = try await Migrator(pool: pool).migrate()
            outcome = .success(try await body(pool, own))
        } catch {
            outcome = .failure(error)
        }
        try await drop(name, pool, admin)
        return try outcome.get()
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
