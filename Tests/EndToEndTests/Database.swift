import Foundation
import Logging
import Postgres

/// Looks into the stack's database, to check what the services have written.
struct Database: Sendable {
    private let pool: PostgresPool

    init(_ stack: Stack) throws {
        var configuration = try PostgresConfiguration(url: stack.setting("COUNTERSIGN_POSTGRES_URL"))
        configuration.poolSizeMaximum = 2
        pool = PostgresPool(configuration: configuration, logger: Logger(label: "tests"))
    }

    func rows(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> [PostgresRow] {
        try await pool.query(sql, parameters).rows
    }

    /// A single number; the statement must name it `n`.
    func number(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> Int64 {
        guard let row = try await rows(sql, parameters).first else { throw StackFailure("no row: \(sql)") }
        return try row.decode("n", as: Int64.self)
    }

    /// Asks until a number is what is expected, for a bounded time; returns the last answer.
    func wait(for expected: Int64, within: Duration, _ sql: String, _ parameters: [PostgresValue] = []) async throws
        -> Int64
    {
        let deadline = ContinuousClock.now + within
        while true {
            let value = try await number(sql, parameters)
            if value == expected || ContinuousClock.now > deadline { return value }
            // Another process writes the row: the database has no signal for that, only the bounded question.
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Waits until that many more orders are granted: the pipeline moves, and a crash would hit it at work.
    ///
    /// - Returns: false where it does not move for a minute.
    func grantsMore(_ orders: Int64) async throws -> Bool {
        let sql = "SELECT count(*) AS n FROM orders WHERE state = 'granted'"
        let deadline = ContinuousClock.now + .seconds(60)
        var start: Int64?
        while ContinuousClock.now < deadline {
            // The database may be the part that was just killed: no answer is no progress.
            if let now = try? await number(sql) {
                if let start, now >= start + orders { return true }
                if start == nil { start = now }
            }
            // Progress of other processes has no signal: a bounded question is all there is.
            try await Task.sleep(for: .milliseconds(100))
        }
        return false
    }

    /// Runs a body while nobody else can use a table.
    func whileLocked<Value: Sendable>(_ table: String, _ body: @Sendable () async throws -> Value) async throws -> Value
    {
        try await pool.withTransaction(attempts: 1) { connection in
            try await connection.executeScript("LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
            return try await body()
        }
    }

    /// Ends the sessions that wait for others; what they were told to do is not done then.
    func endWaitingSessions() async throws {
        _ = try await rows(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0
            """)
    }

    func close() async {
        await pool.close()
    }
}

/// Runs a body with what a test of the shared stack needs, and closes it afterwards.
///
/// A test that ends with an error may leave a part down; it is started again, or every later test would wait in vain.
func withStack(_ body: (Stack, IntakeClient, Database) async throws -> Void) async throws {
    let stack = try await Stack()
    do {
        try await using(stack, body)
    } catch {
        _ = try? await stack.command(["up"])
        throw error
    }
}

/// The same with any stack.
func using(_ stack: Stack, _ body: (Stack, IntakeClient, Database) async throws -> Void) async throws {
    let database = try Database(stack)
    do {
        try await body(stack, try IntakeClient(stack), database)
    } catch {
        await database.close()
        throw error
    }
    await database.close()
}
