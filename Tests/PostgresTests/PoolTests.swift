import Foundation
import ServiceLifecycle
import Synchronization
import Testing

@testable import Postgres

@Suite("The pool", .enabled(if: TestServer.isConfigured, TestServer.missing))
struct PoolTests {
    @Test("connections are made when needed, used again, and never too many")
    func reusesConnections() async throws {
        try await TestServer.withPool { pool in
            #expect(pool.statistics.opened == 0)
            for _ in 0..<20 { _ = try await pool.query("SELECT 1") }
            #expect(pool.statistics == .init(leased: 0, idle: 1, waiting: 0, maximum: 8, opened: 1, discarded: 0))
        }
    }

    @Test("two hundred tasks share four connections, and each gets its own answer")
    func manyTasks() async throws {
        try await TestServer.withPool {
            $0.poolSizeMaximum = 4
        } _: { pool in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let sql = "SELECT $1::int8 AS n, $2::text AS t"
                        for round in 0..<10 {
                            let wanted = Int64(number * 1000 + round)
                            let parameters: [PostgresValue] = [.int8(wanted), .text("task \(wanted)")]
                            let row =
                                round % 2 == 0
                                ? try await pool.query(sql, parameters).rows[0]
                                : try await pool.withTransaction { try await $0.query(sql, parameters).rows[0] }
                            guard try row.decode("n") == wanted, try row.decode("t") == "task \(wanted)" else {
                                return false
                            }
                        }
                        return true
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
            let statistics = pool.statistics
            #expect(statistics.opened <= 4 && statistics.leased == 0 && statistics.discarded == 0)
        }
    }

    @Test("waiters are served in the order they came")
    func servesInOrder() async throws {
        try await TestServer.withPool {
            $0.poolSizeMaximum = 1
        } _: { pool in
            let held = try await pool.lease()
            let order = Mutex<[Int]>([])
            let tasks = try await startWaiters(10, pool) { number in
                try await pool.withConnection { _ in order.withLock { $0.append(number) } }
            }
            await pool.giveBack(held, isReusable: true)
            for task in tasks { try await task.value }
            #expect(order.withLock { $0 } == Array(0..<10))
        }
    }

    @Test("a cancelled waiter leaves the queue, the others move up")
    func cancelsWaiter() async throws {
        try await TestServer.withPool {
            $0.poolSizeMaximum = 1
        } _: { pool in
            let held = try await pool.lease()
            let order = Mutex<[Int]>([])
            let tasks = try await startWaiters(3, pool) { number in
                try await pool.withConnection { _ in order.withLock { $0.append(number) } }
            }
            tasks[1].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[1].value }
            #expect(pool.statistics.waiting == 2)
            await pool.giveBack(held, isReusable: true)
            try await tasks[0].value
            try await tasks[2].value
            #expect(order.withLock { $0 } == [0, 2])
            #expect(pool.statistics.leased == 0 && pool.statistics.idle == 1)
        }
    }

    @Test("cancelling at any moment loses no connection")
    func cancellationStorm() async throws {
        try await TestServer.withPool {
            $0.poolSizeMaximum = 2
        } _: { pool in
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<300 {
                    let task = Task { _ = try await pool.query("SELECT 1") }
                    group.addTask {
                        for _ in 0..<(number % 40) { await Task.yield() }
                        task.cancel()
                        _ = await task.result
                    }
                }
            }
            let statistics = pool.statistics
            #expect(statistics.leased == 0 && statistics.waiting == 0 && statistics.discarded == 0)
            _ = try await pool.query("SELECT 1")
        }
    }

    @Test("a lease that takes too long is an error, and too many waiters are refused at once")
    func timesOut() async throws {
        try await TestServer.withPool {
            $0.poolSizeMaximum = 1
            $0.leaseTimeout = .seconds(1)
            $0.waitersMaximum = 2
        } _: { pool in
            let held = try await pool.lease()
            let codes = Mutex<[PostgresError.Code]>([])
            let tasks = try await startWaiters(2, pool) { _ in
                let error = try await TestServer.failure { _ = try await pool.query("SELECT 1") }
                codes.withLock { $0.append(error.code) }
                #expect(error.isRetriable)
            }
            let refused = try await TestServer.failure { _ = try await pool.query("SELECT 1") }
            #expect(refused.code == .tooManyWaiters && refused.isRetriable)
            for task in tasks { try await task.value }
            #expect(codes.withLock { $0 } == [.leaseTimedOut, .leaseTimedOut])
            // The timer starts again for a later waiter.
            let later = try await TestServer.failure { _ = try await pool.query("SELECT 1") }
            #expect(later.code == .leaseTimedOut)
            await pool.giveBack(held, isReusable: true)
            _ = try await pool.query("SELECT 1")
        }
    }

    @Test("a connection that comes back inside a transaction is closed and replaced")
    func discardsOpenTransaction() async throws {
        try await TestServer.withPool {
            $0.poolSizeMaximum = 1
        } _: { pool in
            try await pool.withConnection { _ = try await $0.query("BEGIN") }
            #expect(pool.statistics.discarded == 1)
            _ = try await pool.query("BEGIN")
            #expect(pool.statistics.discarded == 2)
            let row = try await pool.query("SELECT pg_current_xact_id_if_assigned() IS NULL AS clean").rows[0]
            #expect(try row.decode("clean", as: Bool.self))
        }
    }

    /// Starts tasks one after the other, each once the one before it waits in the queue.
    private func startWaiters(
        _ count: Int, _ pool: PostgresPool, _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> [Task<Void, any Error>] {
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<count {
            tasks.append(Task { try await body(number) })
            try await TestServer.eventually { pool.statistics.waiting == number + 1 }
        }
        return tasks
    }
}

@Suite("Closing the pool", .enabled(if: TestServer.isConfigured, TestServer.missing))
struct PoolCloseTests {
    @Test("closing waits for leases, fails waiters, and refuses what comes after")
    func closesWhileLeased() async throws {
        let pool = PostgresPool(
            configuration: try TestServer.configuration { $0.poolSizeMaximum = 1 }, logger: TestServer.logger)
        let (inside, entered) = AsyncStream.makeStream(of: Void.self)
        let (gate, opened) = AsyncStream.makeStream(of: Void.self)
        let lease = Task {
            try await pool.withTransaction { connection in
                entered.yield()
                for await _ in gate { break }
                return try await connection.query("SELECT 7 AS n").rows[0].decode("n", as: Int.self)
            }
        }
        for await _ in inside { break }
        let waiter = Task { _ = try await pool.query("SELECT 1") }
        try await TestServer.eventually { pool.statistics.waiting == 1 }
        let isClosed = Mutex(false)
        let closing = Task {
            await pool.close()
            isClosed.withLock { $0 = true }
        }
        let refused = try await TestServer.failure { try await waiter.value }
        #expect(refused.code == .poolClosed && !refused.isRetriable)
        let late = try await TestServer.failure { _ = try await pool.query("SELECT 1") }
        #expect(late.code == .poolClosed)
        #expect(!isClosed.withLock { $0 })
        opened.yield()
        #expect(try await lease.value == 7)
        await closing.value
        #expect(pool.statistics.leased == 0 && pool.statistics.idle == 0)
        await pool.close()
    }

    @Test("closing gives up waiting after its time-out; the lease then ends its connection")
    func closeTimesOut() async throws {
        let pool = PostgresPool(
            configuration: try TestServer.configuration { $0.closeTimeout = .milliseconds(50) },
            logger: TestServer.logger)
        let connection = try await pool.lease()
        await pool.close()
        #expect(try await connection.query("SELECT 1").rows.count == 1)
        await pool.giveBack(connection, isReusable: true)
        let error = try await TestServer.failure { _ = try await connection.query("SELECT 1") }
        #expect(error.code == .poolClosed)
    }

    @Test("as a service it runs until graceful shutdown, then closes")
    func runsAsService() async throws {
        let pool = PostgresPool(configuration: try TestServer.configuration(), logger: TestServer.logger)
        let group = ServiceGroup(services: [pool], logger: TestServer.logger)
        let running = Task { try await group.run() }
        _ = try await pool.query("SELECT 1")
        await group.triggerGracefulShutdown()
        try await running.value
        let error = try await TestServer.failure { _ = try await pool.query("SELECT 1") }
        #expect(error.code == .poolClosed)
    }

    @Test("a cancelled run closes too")
    func cancelledRunCloses() async throws {
        let pool = PostgresPool(configuration: try TestServer.configuration(), logger: TestServer.logger)
        let running = Task { try await pool.run() }
        running.cancel()
        try await running.value
        let error = try await TestServer.failure { _ = try await pool.query("SELECT 1") }
        #expect(error.code == .poolClosed)
    }
}
