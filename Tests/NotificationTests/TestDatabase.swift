import Foundation
import Logging
import Persistence
import Postgres

/// A schema of its own in the PostgreSQL that `COUNTERSIGN_TEST_POSTGRES` names, migrated, and dropped afterwards.
struct TestDatabase: Sendable {
    static let url = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_POSTGRES"]
    static let skipComment = "COUNTERSIGN_TEST_POSTGRES is not set: nothing of PostgreSQL is tested here"

    let pool: PostgresPool

    static func with<Result>(_ body: (TestDatabase) async throws -> Result) async throws -> Result {
        let url = url ?? ""
        let schema = "notification_" + UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: "")
        let option = "options=-csearch_path%3D\(schema)"
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let plain = PostgresPool(configuration: try PostgresConfiguration(url: url), logger: logger)
        let pool = PostgresPool(
            configuration: try PostgresConfiguration(url: url + (url.contains("?") ? "&" : "?") + option),
            logger: logger)
        _ = try await plain.query("CREATE SCHEMA \(schema)")
        let outcome: Swift.Result<Result, any Error>
        do {
            _ = try await Migrator(pool: pool).migrate()
            outcome = .success(try await body(TestDatabase(pool: pool)))
        } catch {
            outcome = .failure(error)
        }
        await pool.close()
        _ = try await plain.query("DROP SCHEMA \(schema) CASCADE")
        await plain.close()
        return try outcome.get()
    }

    /// Writes events as fulfillment does, due.
    func insertEvents(_ ids: [String], type: String = "iap.transaction.fulfilled") async throws {
        _ = try await pool.query(
            """
            INSERT INTO events (id, type, environment, app, transaction_id, partition_key, body, due_at)
            SELECT id, $2, 'production', 'com.example.game', '1', '1', '{"id":"' || id || '","name":"Zoë"}', now()
            FROM unnest($1::text[]) AS id
            """, [.textArray(ids), .text(type)])
    }

    struct Delivery: Sendable {
        let state: String
        let attempts: Int32
        let status: Int32?
        let error: String?
        let secondsUntilDue: Double?
    }

    func delivery(_ eventId: String, _ endpointId: String = "backend") async throws -> Delivery? {
        let result = try await pool.query(
            """
            SELECT state, attempts, last_status, last_error, extract(epoch FROM due_at - now())::float8 AS seconds
            FROM webhook_deliveries WHERE event_id = $1 AND endpoint_id = $2
            """, [.text(eventId), .text(endpointId)])
        return try result.rows.first.map { row in
            Delivery(
                state: try row.decode("state"), attempts: try row.decode("attempts"),
                status: try row.decodeIfPresent("last_status"), error: try row.decodeIfPresent("last_error"),
                secondsUntilDue: try row.decodeIfPresent("seconds"))
        }
    }
}
