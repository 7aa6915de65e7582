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

    /// Runs `body` with a pool on a fresh database.
    ///
    /// - Throws: what `body` throws, and `PostgresError`.
    public static func with(_ body: (PostgresPool) async throws -> Void) async throws {
        guard let url else { return }
        let name = "test_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        let admin = try pool(url, connections: 1)
        try await admin.withConnection { try await $0.executeScript("CREATE DATABASE \(name)") }
        let pool = try pool(replacing(url, name), connections: poolSizeMaximum)
        do {
            _ = try await Migrator(pool: pool).migrate()
            try await body(pool)
        } catch {
            try await drop(name, pool, admin)
            throw error
        }
        try await drop(name, pool, admin)
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
