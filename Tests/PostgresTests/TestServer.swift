import Foundation
import Logging
import Postgres
import Testing

/// The real server of these tests, and what they share to talk to it.
enum TestServer {
    static let variable = "COUNTERSIGN_TEST_POSTGRES"
    static let missing: Comment = "SKIPPED: set COUNTERSIGN_TEST_POSTGRES to the URL of a PostgreSQL that tests may use"

    static var url: String? { ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 } }
    static var isConfigured: Bool { url != nil }

    static let logger = Logger(label: "postgres-tests") { _ in SwiftLogNoOpLogHandler() }

    static func configuration(_ change: (inout PostgresConfiguration) -> Void = { _ in }) throws
        -> PostgresConfiguration
    {
        var configuration = try PostgresConfiguration(url: try #require(url))
        configuration.applicationName = "postgres-tests"
        change(&configuration)
        return configuration
    }

    /// Lends a pool that is closed afterwards.
    static func withPool<R: Sendable>(
        _ change: (inout PostgresConfiguration) -> Void = { _ in },
        _ body: (PostgresPool) async throws -> R
    ) async throws -> R {
        let pool = PostgresPool(configuration: try configuration(change), logger: logger)
        do {
            let value = try await body(pool)
            await pool.close()
            return value
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Lends one connection that is closed afterwards.
    static func withConnection<R: Sendable>(
        _ change: (inout PostgresConfiguration) -> Void = { _ in },
        _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        let connection = try await PostgresConnection.connect(configuration: try configuration(change), logger: logger)
        do {
            let value = try await body(connection)
            await connection.close()
            return value
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Lends the name of a table with the columns `id int8 primary key, value text`, dropped afterwards.
    static func withTable<R: Sendable>(
        _ pool: PostgresPool, _ body: (String) async throws -> R
    ) async throws -> R {
        let name = "postgres_tests_" + UUID().uuidString.lowercased().replacing("-", with: "")
        _ = try await pool.query(
            "CREATE TABLE \(unescaped: name) (id int8 CONSTRAINT \(unescaped: name)_unique PRIMARY KEY, value text)")
        do {
            let value = try await body(name)
            _ = try await pool.query("DROP TABLE \(unescaped: name)")
            return value
        } catch {
            _ = try? await pool.query("DROP TABLE \(unescaped: name)")
            throw error
        }
    }

    /// The error of this library that `body` throws.
    static func failure(_ body: () async throws -> Void) async throws -> PostgresError {
        do {
            try await body()
        } catch let error as PostgresError {
            return error
        }
        Issue.record("nothing was thrown")
        throw CancellationError()
    }

    /// Lets other tasks go on until `condition` holds; gives up after ten seconds.
    static func eventually(_ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(10)
        while !condition() {
            try #require(ContinuousClock.now < deadline, "the condition did not come true")
            await Task.yield()
        }
    }
}

extension PostgresPool {
    /// The backend process of the connection that the pool lends next.
    func backendPID() async throws -> Int32 {
        try await withConnection { try await $0.query("SELECT pg_backend_pid() AS pid").rows[0].decode("pid") }
    }

    /// Ends a backend from another connection, and waits until the server has let go of it.
    func terminate(_ pid: Int32) async throws {
        _ = try await query("SELECT pg_terminate_backend($1, 5000)", [.int4(pid)])
    }
}
