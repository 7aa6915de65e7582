import Foundation
import Testing

@testable import Postgres

@Suite("A transaction that several join", .enabled(if: TestServer.isConfigured, TestServer.missing))
struct JoinedTransactionTests {
    private struct BodyError: Error {}

    private func count(_ pool: PostgresPool, _ table: String) async throws -> Int {
        try await pool.query("SELECT count(*) AS n FROM \(unescaped: table)").rows[0].decode("n")
    }

    private func insert(_ value: Int, _ pool: PostgresPool, _ table: String) async throws {
        _ = try await pool.query("INSERT INTO \(unescaped: table) VALUES (\(value))")
    }

    @Test("statements and transactions of a pool are committed together, or not at all")
    func together() async throws {
        try await TestServer.withPool { pool in
            try await TestServer.withTable(pool) { table in
                for fails in [true, false] {
                    let body: @Sendable () async throws -> Void = {
                        try await insert(1, pool, table)
                        try await pool.withTransaction { connection in
                            _ = try await connection.query("INSERT INTO \(unescaped: table) VALUES (2)")
                        }
                        let seen = try await pool.withConnection { connection in
                            try await connection.query("SELECT count(*) AS n FROM \(unescaped: table)").rows[0]
                                .decode("n", as: Int.self)
                        }
                        #expect(seen == 2)
                        #expect(pool.statistics.leased == 1)
                        if fails { throw BodyError() }
                    }
                    if fails {
                        await #expect(throws: BodyError.self) { try await pool.withJoinedTransaction(body) }
                        #expect(try await count(pool, table) == 0)
                    } else {
                        try await pool.withJoinedTransaction(body)
                        #expect(try await count(pool, table) == 2)
                    }
                }
                #expect(pool.statistics.discarded == 0)
            }
        }
    }

    @Test("a transaction within it that fails takes back its own statements alone")
    func savepoints() async throws {
        try await TestServer.withPool { pool in
            try await TestServer.withTable(pool) { table in
                try await pool.withJoinedTransaction {
                    try await insert(1, pool, table)
                    let error = try await TestServer.failure {
                        try await pool.withTransaction { connection in
                            _ = try await connection.query("INSERT INTO \(unescaped: table) VALUES (2)")
                            try await pool.withTransaction { _ in try await insert(3, pool, table) }
                            _ = try await connection.query("INSERT INTO \(unescaped: table) VALUES (1)")
                        }
                    }
                    #expect(error.sqlState == "23505")
                    #expect(try await count(pool, table) == 1)
                    try await insert(4, pool, table)
                }
                #expect(try await count(pool, table) == 2)
            }
        }
    }

    @Test("a task that lives longer joins no more, and another pool never does")
    func apart() async throws {
        try await TestServer.withPool { pool in
            try await TestServer.withPool { other in
                try await TestServer.withTable(pool) { table in
                    let (over, signal) = AsyncStream.makeStream(of: Void.self)
                    let task = try await pool.withJoinedTransaction {
                        try await insert(1, pool, table)
                        #expect(try await count(other, table) == 0)
                        return Task {
                            for await _ in over {}
                            try await insert(2, pool, table)
                        }
                    }
                    signal.finish()
                    try await task.value
                    #expect(try await count(pool, table) == 2)
                }
            }
        }
    }
}
