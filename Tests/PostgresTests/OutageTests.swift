import Foundation
import Glibc
import Testing

@testable import Postgres

@Suite("Outages", .enabled(if: TestServer.isConfigured, TestServer.missing))
struct OutageTests {
    @Test("a backend that is terminated in a statement gives a connection loss, and the pool works again")
    func terminatedInStatement() async throws {
        try await TestServer.withPool { pool in
            let (pids, found) = AsyncStream.makeStream(of: Int32.self)
            let victim = Task {
                try await pool.withConnection { connection in
                    found.yield(try await connection.query("SELECT pg_backend_pid() AS pid").rows[0].decode("pid"))
                    _ = try await connection.query("SELECT pg_sleep(20)")
                }
            }
            for await pid in pids {
                try await pool.terminate(pid)
                break
            }
            let error = try await TestServer.failure { try await victim.value }
            #expect(error.code == .connectionLost && error.isConnectionLoss && error.isRetriable)
            #expect(error.sqlState == "57P01")
            #expect(pool.statistics.discarded == 1)
            #expect(try await pool.query("SELECT 1").rows.count == 1)
        }
    }

    @Test("a backend that is terminated in a transaction gives a connection loss")
    func terminatedInTransaction() async throws {
        try await TestServer.withPool { pool in
            let error = try await TestServer.failure {
                try await pool.withTransaction { connection in
                    let pid: Int32 = try await connection.query("SELECT pg_backend_pid() AS pid").rows[0].decode("pid")
                    try await pool.terminate(pid)
                    // Even a body that hides the failure must not be taken for committed.
                    _ = try? await connection.query("SELECT 1")
                }
            }
            #expect(error.isConnectionLoss && error.isRetriable)
            #expect(try await pool.query("SELECT 1").rows.count == 1)
        }
    }

    @Test("connections that died while idle are replaced without an error")
    func replacesDeadIdleConnections() async throws {
        try await TestServer.withPool {
            $0.poolSizeMaximum = 3
        } _: { pool in
            try await TestServer.withPool { killer in
                for _ in 0..<3 {
                    let pid = try await pool.backendPID()
                    try await killer.terminate(pid)
                    #expect(try await pool.query("SELECT 1").rows.count == 1)
                    try await killer.terminate(try await pool.backendPID())
                    #expect(try await pool.withTransaction { try await $0.query("SELECT 1").rows.count } == 1)
                    try await killer.terminate(try await pool.backendPID())
                    #expect(try await pool.withConnection { try await $0.query("SELECT 1").rows.count } == 1)
                }
            }
            #expect(pool.statistics.discarded == 9)
        }
    }

    @Test("a transaction that idles too long is ended by the server, as a retriable loss")
    func idleInTransaction() async throws {
        try await TestServer.withPool {
            $0.idleInTransactionTimeout = .milliseconds(100)
        } _: { pool in
            let error = try await TestServer.failure {
                try await pool.withTransaction { connection in
                    // The idleness is what is tested: longer than the server allows.
                    try await Task.sleep(for: .milliseconds(400))
                    _ = try await connection.query("SELECT 1")
                }
            }
            #expect(error.isConnectionLoss && error.isRetriable)
            #expect(error.sqlState == "25P03")
        }
    }

    @Test("a lock that is held too long is a retriable failure")
    func lockTimeout() async throws {
        try await TestServer.withPool {
            $0.lockTimeout = .milliseconds(100)
        } _: { pool in
            try await TestServer.withTable(pool) { table in
                try await pool.withTransaction { connection in
                    _ = try await connection.query("LOCK TABLE \(unescaped: table)")
                    let error = try await TestServer.failure {
                        _ = try await pool.query("SELECT * FROM \(unescaped: table)")
                    }
                    #expect(error.sqlState == "55P03" && error.isRetriable)
                }
            }
        }
    }
}

@Suite("A server that is down")
struct ServerDownTests {
    @Test("a lease fails as retriable, and the pool goes on")
    func connectionFails() async throws {
        let port = try unusedPort()
        var configuration = try PostgresConfiguration(url: "postgresql://app:s3cret@127.0.0.1:\(port)/shop")
        configuration.poolSizeMaximum = 2
        let pool = PostgresPool(configuration: configuration, logger: TestServer.logger)
        try await withThrowingTaskGroup(of: PostgresError.self) { group in
            for _ in 0..<20 {
                group.addTask { try await TestServer.failure { _ = try await pool.query("SELECT 1") } }
            }
            for try await error in group {
                #expect(error.code == .connectionFailed && error.isRetriable && !error.isConnectionLoss)
                #expect(!String(reflecting: error).contains("s3cret"))
            }
        }
        let error = try await TestServer.failure { try await pool.withTransaction { _ in } }
        #expect(error.code == .connectionFailed)
        #expect(pool.statistics.leased == 0 && pool.statistics.opened == 0)
        await pool.close()
    }

    @Test("a server that accepts and says nothing is given up after connectTimeout")
    func silentServer() async throws {
        let (descriptor, port) = try listener()
        defer { Glibc.close(descriptor) }
        var configuration = try PostgresConfiguration(url: "postgresql://127.0.0.1:\(port)/shop")
        configuration.connectTimeout = .seconds(1)
        let pool = PostgresPool(configuration: configuration, logger: TestServer.logger)
        let error = try await TestServer.failure { _ = try await pool.query("SELECT 1") }
        #expect(error.code == .connectionFailed)
        await pool.close()
    }

    /// A port that nobody listens on.
    private func unusedPort() throws -> UInt16 {
        let (descriptor, port) = try listener()
        Glibc.close(descriptor)
        return port
    }

    private func listener() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        try #require(isBound)
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}
