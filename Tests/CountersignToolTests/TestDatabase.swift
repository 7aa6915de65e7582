import Foundation
import Logging
import Persistence
import Postgres

/// A database of a test's own in the server that `deploy/test` started, migrated, and dropped afterwards.
enum TestDatabase {
    static var url: String? {
        ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_POSTGRES"]
    }

    static func with(_ body: (PostgresPool) async throws -> Void) async throws {
        guard let url else { return }
        let name = "test_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        let logger = Logger(label: "tests")
        let admin = PostgresPool(configuration: try PostgresConfiguration(url: url), logger: logger)
        try await admin.withConnection { try await $0.executeScript("CREATE DATABASE \(name)") }
        let pool = PostgresPool(configuration: try PostgresConfiguration(url: replacing(url, name)), logger: logger)
        do {
            _ = try await Migrator(pool: pool).migrate()
            try await body(pool)
        } catch {
            try await drop(name, pool, admin)
            throw error
        }
        try await drop(name, pool, admin)
    }

    private static func drop(_ name: String, _ pool: PostgresPool, _ admin: PostgresPool) async throws {
        await pool.close()
        try await admin.withConnection { try await $0.executeScript("DROP DATABASE \(name) WITH (FORCE)") }
        await admin.close()
    }

    private static func replacing(_ url: String, _ name: String) -> String {
        var components = URLComponents(string: url)
        components?.path = "/" + name
        return components?.string ?? url
    }
}
