import PersistenceTesting
import Postgres

/// A database of its own on the server that `COUNTERSIGN_TEST_POSTGRES` names; dropped in the end.
struct TestDatabase: Sendable {
    static let url = PersistenceTesting.TestDatabase.url
    static let skipComment = PersistenceTesting.TestDatabase.skipComment

    let pool: PostgresPool

    static func with<Value>(_ body: (TestDatabase) async throws -> Value) async throws -> Value {
        try await PersistenceTesting.TestDatabase.with { try await body(TestDatabase(pool: $0)) }
    }

    /// Writes events as fulfillment does, due.
    func insertEvents(_ ids: [String], type: String = "iap.transaction.fulfilled") async throws {
        _ = try await pool.query(
            """
            WITH outbox AS (INSERT INTO event_outbox (event_id, due_at) SELECT id, now() FROM unnest($1::text[]) AS id)
            INSERT INTO events (id, type, environment, app, transaction_id, partition_key, body)
            SELECT id, $2, 'production', 'com.example.game', '1', '1', '{"id":"' || id || '","name":"Zoë"}'
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

    /// Returns once a delivery to `backend` has this state.
    func waitForState(_ state: String, _ eventId: String) async throws {
        try await waitUntil { try await delivery(eventId)?.state == state }
    }

    /// Lets time pass for all that is written down: every instant is so much longer ago.
    func pass(_ interval: String) async throws {
        let columns = [
            ("webhook_deliveries", ["created_at", "due_at", "failed_at"]), ("events", ["created_at"]),
            ("webhook_endpoints", ["failing_since", "succeeded_at", "disabled_at", "resumed_at"]),
        ]
        let script = columns.map { table, columns in
            "UPDATE \(table) SET "
                + columns.map { column in
                    // What waits for its turn is due never.
                    "\(column) = CASE WHEN \(column) < '9999-12-31' THEN \(column) - interval '\(interval)' ELSE \(column) END"
                }.joined(separator: ", ")
        }.joined(separator: ";\n")
        // One script is one transaction: no loop sees a part of it.
        try await pool.withConnection { try await $0.executeScript(script) }
    }

    /// How many deliveries are in each state.
    func states() async throws -> [String: Int] {
        let rows = try await pool.query("SELECT state, count(*) AS count FROM webhook_deliveries GROUP BY state").rows
        return Dictionary(uniqueKeysWithValues: try rows.map { (try $0.decode("state"), try $0.decode("count")) })
    }

    /// Counts the statements that update deliveries from now on: claims, those that find nothing as well, and records.
    func countUpdatesOfDeliveries() async throws {
        try await pool.withConnection { connection in
            try await connection.executeScript(
                """
                CREATE TABLE delivery_updates (at timestamptz DEFAULT clock_timestamp());
                CREATE FUNCTION count_delivery_update() RETURNS trigger LANGUAGE plpgsql
                    AS $$ BEGIN INSERT INTO delivery_updates DEFAULT VALUES; RETURN NULL; END $$;
                CREATE TRIGGER count_updates AFTER UPDATE ON webhook_deliveries
                    FOR EACH STATEMENT EXECUTE FUNCTION count_delivery_update();
                """)
        }
    }

    func updatesOfDeliveries() async throws -> Int64 {
        let result = try await pool.query("SELECT count(*) AS count FROM delivery_updates")
        return try result.rows[0].decode("count")
    }
}

/// Returns once a condition holds.
func waitUntil(_ condition: () async throws -> Bool) async throws {
    while try await !condition() {
        // The loop tells nobody what it has recorded; a suite's time limit ends the wait.
        try await Task.sleep(for: .milliseconds(10))
    }
}
