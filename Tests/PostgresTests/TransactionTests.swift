import Foundation
import Synchronization
import Testing

@testable import Postgres

@Suite("Transactions", .enabled(if: TestServer.isConfigured, TestServer.missing))
struct TransactionTests {
    private struct BodyError: Error {}

    private func count(_ pool: PostgresPool, _ table: String) async throws -> Int {
        try await pool.query("SELECT count(*) AS n FROM \(unescaped: table)").rows[0].decode("n")
    }

    @Test("a body that returns is committed, a body that throws is rolled back")
    func commitsAndRollsBack() async throws {
        try await TestServer.withPool { pool in
            try await TestServer.withTable(pool) { table in
                let value = try await pool.withTransaction { connection in
                    try await connection.query("INSERT INTO \(unescaped: table) VALUES (1)").affectedRows
                }
                #expect(value == 1)
                #expect(try await count(pool, table) == 1)
                await #expect(throws: BodyError.self) {
                    try await pool.withTransaction { connection in
                        _ = try await connection.query("INSERT INTO \(unescaped: table) VALUES (2)")
                        throw BodyError()
                    }
                }
                #expect(try await count(pool, table) == 1)
                let error = try await TestServer.failure {
                    try await pool.withTransaction { connection in
                        _ = try await connection.query("INSERT INTO \(unescaped: table) VALUES (2)")
                        _ = try await connection.query("INSERT INTO \(unescaped: table) VALUES (1)")
                    }
                }
                #expect(error.sqlState == "23505" && error.constraintName == "\(table)_unique")
                #expect(try await count(pool, table) == 1)
                #expect(pool.statistics.discarded == 0)
            }
        }
    }

    @Test("a failure that the body hides does not pass for a commit")
    func noticesHiddenFailure() async throws {
        try await TestServer.withPool { pool in
            try await TestServer.withTable(pool) { table in
                let error = try await TestServer.failure {
                    try await pool.withTransaction { connection in
                        _ = try await connection.query("INSERT INTO \(unescaped: table) VALUES (1)")
                        _ = try? await connection.query("SELECT 1/0")
                    }
                }
                #expect(error.code == .transactionAborted && error.sqlState == "22012")
                #expect(try await count(pool, table) == 0)
                #expect(pool.statistics.discarded == 0)
            }
        }
    }

    @Test("a body that ends the transaction itself is told so")
    func noticesEndedTransaction() async throws {
        try await TestServer.withPool { pool in
            let error = try await TestServer.failure {
                try await pool.withTransaction { _ = try await $0.query("COMMIT") }
            }
            #expect(error.code == .transactionEnded && !error.isRetriable)
        }
    }

    @Test("a cancelled task rolls back, and the pool is not poisoned")
    func cancellationRollsBack() async throws {
        try await TestServer.withPool {
            $0.poolSizeMaximum = 1
        } _: { pool in
            try await TestServer.withTable(pool) { table in
                let (inside, entered) = AsyncStream.makeStream(of: Void.self)
                let task = Task {
                    try await pool.withTransaction { connection in
                        _ = try await connection.query("INSERT INTO \(unescaped: table) VALUES (1)")
                        entered.yield()
                        // Only cancellation ends this sleep.
                        try await Task.sleep(for: .seconds(60))
                    }
                }
                for await _ in inside { break }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                let rows = try await count(pool, table)
                #expect(rows == 0)
                #expect(pool.statistics.discarded == 0 && pool.statistics.leased == 0)
            }
        }
    }

    @Test("a body that finishes in a cancelled task is committed")
    func cancelledBodyThatFinishesIsCommitted() async throws {
        try await TestServer.withPool { pool in
            try await TestServer.withTable(pool) { table in
                let task = Task {
                    try await pool.withTransaction { connection in
                        withUnsafeCurrentTask { $0?.cancel() }
                        _ = try await connection.query("INSERT INTO \(unescaped: table) VALUES (1)")
                    }
                }
                try await task.value
                #expect(try await count(pool, table) == 1)
            }
        }
    }

    @Test("a serialization failure runs the whole again")
    func retriesSerializationFailure() async throws {
        try await TestServer.withPool { pool in
            try await TestServer.withTable(pool) { table in
                _ = try await pool.query("INSERT INTO \(unescaped: table) VALUES (1, '0')")
                let runs = Mutex(0)
                try await pool.withTransaction { connection in
                    let run = runs.withLock { runs in
                        runs += 1
                        return runs
                    }
                    try await connection.executeScript("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
                    let value: String = try await connection.query("SELECT value FROM \(unescaped: table)").rows[0]
                        .decode("value")
                    // Somebody else commits in between, the first time.
                    if run == 1 { _ = try await pool.query("UPDATE \(unescaped: table) SET value = '10'") }
                    _ = try await connection.query(
                        "UPDATE \(table) SET value = $1", [.text(String((Int(value) ?? 0) + 1))])
                }
                #expect(runs.withLock { $0 } == 2)
                let row = try await pool.query("SELECT value FROM \(unescaped: table)").rows[0]
                #expect(try row.decode("value", as: String.self) == "11")
            }
        }
    }

    @Test("conflicts are given up after the attempts, and are retriable")
    func givesUp() async throws {
        try await TestServer.withPool { pool in
            let runs = Mutex(0)
            let error = try await TestServer.failure {
                try await pool.withTransaction(attempts: 2) { connection in
                    runs.withLock { $0 += 1 }
                    try await connection.executeScript("DO $$ BEGIN RAISE EXCEPTION SQLSTATE '40001'; END $$")
                }
            }
            #expect(error.sqlState == "40001" && error.isRetriable)
            #expect(runs.withLock { $0 } == 2)
        }
    }

    @Test("two transactions that deadlock both commit in the end")
    func resolvesDeadlock() async throws {
        try await TestServer.withPool { pool in
            try await TestServer.withTable(pool) { table in
                _ = try await pool.query("INSERT INTO \(unescaped: table) VALUES (1, ''), (2, '')")
                let barrier = Barrier(2)
                @Sendable func run(_ first: Int, _ second: Int) async throws {
                    try await pool.withTransaction { connection in
                        let sql = "UPDATE \(table) SET value = value || 'x' WHERE id = $1"
                        _ = try await connection.query(sql, [.int8(Int64(first))])
                        await barrier.arrive()
                        _ = try await connection.query(sql, [.int8(Int64(second))])
                    }
                }
                async let one: Void = run(1, 2)
                async let two: Void = run(2, 1)
                _ = try await (one, two)
                let rows = try await pool.query("SELECT value FROM \(unescaped: table)").rows
                for row in rows { #expect(try row.decode("value", as: String.self) == "xx") }
                #expect(rows.count == 2)
            }
        }
    }

    @Test("a body runs on its connection's thread, between its statements, too")
    func runsOnItsThread() async throws {
        try await TestServer.withPool { pool in
            let names = try await pool.withTransaction { connection in
                let first = threadName()
                _ = try await connection.query("SELECT 1")
                return [first, threadName()]
            }
            #expect(names.allSatisfy { $0.hasPrefix("postgres-") } && Set(names).count == 1, "\(names)")
            let borrowed = try await pool.withConnection { _ in threadName() }
            #expect(borrowed.hasPrefix("postgres-"))
            #expect(!threadName().hasPrefix("postgres-"), "and the test goes on elsewhere")
        }
    }

    @Test("a schema change under a prepared statement runs the transaction again")
    func retriesStaleStatement() async throws {
        try await TestServer.withPool {
            $0.poolSizeMaximum = 1
        } _: { pool in
            try await TestServer.withTable(pool) { table in
                _ = try await pool.query("SELECT * FROM \(unescaped: table)")
                _ = try await pool.query("ALTER TABLE \(unescaped: table) ADD extra int8")
                let names = try await pool.withTransaction { connection in
                    _ = try await connection.query("INSERT INTO \(unescaped: table) VALUES (1)")
                    return try await connection.query("SELECT * FROM \(unescaped: table)").rows[0].columnNames
                }
                #expect(names == ["id", "value", "extra"])
            }
        }
    }

    @Test("a deferred constraint that fails in COMMIT is reported, and the connection lives")
    func reportsDeferredConstraint() async throws {
        try await TestServer.withPool { pool in
            try await TestServer.withTable(pool) { table in
                _ = try await pool.query(
                    "ALTER TABLE \(unescaped: table) ADD CONSTRAINT late_unique UNIQUE (value) DEFERRABLE INITIALLY DEFERRED"
                )
                let error = try await TestServer.failure {
                    try await pool.withTransaction { connection in
                        _ = try await connection.query("INSERT INTO \(unescaped: table) VALUES (1, 'a'), (2, 'a')")
                    }
                }
                #expect(error.sqlState == "23505" && error.constraintName == "late_unique")
                #expect(pool.statistics.discarded == 0)
            }
        }
    }

    @Test("a connection that dies in COMMIT leaves the outcome unknown, and is retriable")
    func losesConnectionInCommit() async throws {
        try await TestServer.withPool { pool in
            try await TestServer.withTable(pool) { table in
                // The deferred trigger runs inside COMMIT and ends its own backend there.
                try await pool.withConnection { connection in
                    try await connection.executeScript(
                        """
                        CREATE FUNCTION \(table)_die() RETURNS trigger LANGUAGE plpgsql AS
                            $$ BEGIN
                                PERFORM pg_terminate_backend(pg_backend_pid());
                                PERFORM pg_sleep(5);
                                RETURN NULL;
                            END $$;
                        CREATE CONSTRAINT TRIGGER die AFTER INSERT ON \(table) DEFERRABLE INITIALLY DEFERRED
                            FOR EACH ROW EXECUTE FUNCTION \(table)_die()
                        """)
                }
                let error = try await TestServer.failure {
                    try await pool.withTransaction {
                        _ = try await $0.query("INSERT INTO \(unescaped: table) VALUES (1)")
                    }
                }
                #expect(error.code == .connectionLost && error.isRetriable)
                #expect(error.sqlState == "57P01")
                #expect(pool.statistics.discarded == 1)
                #expect(try await count(pool, table) == 0)
                _ = try await pool.query("DROP FUNCTION \(unescaped: table)_die() CASCADE")
            }
        }
    }
}

/// What the system calls the thread that this runs on; "unknown" where it does not say.
private func threadName() -> String {
    (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? "unknown"
}

/// Lets tasks go on once `count` of them have arrived, and every later one at once.
actor Barrier {
    private var missing: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { missing = count }

    func arrive() async {
        missing -= 1
        if missing > 0 {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            for continuation in waiting { continuation.resume() }
            waiting = []
        }
    }
}
