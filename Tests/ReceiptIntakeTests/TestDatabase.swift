import Persistence
import PersistenceTesting
import Postgres
import Testing

/// A database of its own on the server that `COUNTERSIGN_TEST_POSTGRES` names; dropped in the end.
struct TestDatabase: Sendable {
    static let serverURL = PersistenceTesting.TestDatabase.url
    static let skipComment = Comment(rawValue: PersistenceTesting.TestDatabase.skipComment)

    let url: String
    let pool: PostgresPool

    /// Runs with a migrated database.
    static func with<Value: Sendable>(_ body: @Sendable (TestDatabase) async throws -> Value) async throws -> Value {
        try await PersistenceTesting.TestDatabase.withAddress { pool, url in
            try await body(TestDatabase(url: url, pool: pool))
        }
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
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO submissions (%'
            """)
        return try Int(#require(result.rows.first).decode("n", as: Int64.self))
    }

    /// One column of a submission that may be NULL.
    func optionalColumn(_ name: String, of id: String) async throws -> String? {
        let result = try await pool.query("SELECT \(name) AS value FROM submissions WHERE id = $1", [.text(id)])
        return try #require(result.rows.first).decodeIfPresent("value")
    }

    /// One column of a submission, or its proof, wherever that is.
    func column(_ name: String, of id: String) async throws -> String {
        if name == "proof" { return try #require(await SubmissionStore(pool: pool).proof(of: id)) }
        let result = try await pool.query("SELECT \(name) AS value FROM submissions WHERE id = $1", [.text(id)])
        return try #require(result.rows.first).decode("value")
    }
}
