import Foundation
import Logging
import Persistence
import Postgres
import Testing

@testable import ReceiptIntake

/// A database of its own on the server that `COUNTERSIGN_TEST_POSTGRES` names; dropped in the end.
struct TestDatabase: Sendable {
    static let serverURL = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_POSTGRES"]
    static let skipComment: Comment = "COUNTERSIGN_TEST_POSTGRES is not set: nothing of this suite is tested"

    let url: String
    let pool: PostgresPool

    /// Runs with a migrated database.
    static func with<Value: Sendable>(_ body: @Sendable (TestDatabase) async throws -> Value) async throws -> Value {
        let server = try #require(serverURL)
        let name = "intake_test_\(UUID().uuidString.prefix(8).lowercased())"
        var components = try #require(URLComponents(string: server))
        components.path = "/" + name
        let url = try #require(components.string)
        let admin = try PostgresPool(
            configuration: PostgresConfiguration(url: server), logger: Logger(label: "test"))
        try await admin.withConnection { try await $0.executeScript("CREATE DATABASE \(name)") }
        let pool = try PostgresPool(configuration: PostgresConfiguration(url: url), logger: Logger(label: "test"))
        let result: Result<Value, any Error>
        do {
            _ = try await Migrator(pool: pool).migrate()
            result = .success(try await body(TestDatabase(url: url, pool: pool)))
        } catch {
            result = .failure(error)
        }
        await pool.close()
        try await admin.withConnection { try await $0.executeScript("DROP DATABASE \(name) WITH (FORCE)") }
        await admin.close()
        return try result.get()
    }

    /// How many submissions there are.
    func submissionCount() async throws -> Int {
        let result = try await pool.query("SELECT count(*) AS n FROM submissions")
        return try Int(#require(result.rows.first).decode("n", as: Int64.self))
    }

    /// How many statements wait for a lock on the table.
    func insertsThatWait() async throws -> Int {
        let result = try await pool.query(
            """
            SELECT count(*) AS n FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO submissions%'
            """)
        return try Int(#require(result.rows.first).decode("n", as: Int64.self))
    }

    /// One column of a submission that may be NULL.
    func optionalColumn(_ name: String, of id: String) async throws -> String? {
        let result = try await pool.query("SELECT \(name) AS value FROM submissions WHERE id = $1", [.text(id)])
        return try #require(result.rows.first).decodeIfPresent("value")
    }

    /// One column of a submission.
    func column(_ name: String, of id: String) async throws -> String {
        let result = try await pool.query("SELECT \(name) AS value FROM submissions WHERE id = $1", [.text(id)])
        return try #require(result.rows.first).decode("value")
    }
}
