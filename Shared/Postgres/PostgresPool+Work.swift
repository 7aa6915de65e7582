import Logging

extension PostgresPool {
    /// The longest pause before a transaction that met a conflict runs again; drawn at random, times the attempt.
    ///
    /// 10 ms.
    static var conflictPauseMaximum: Duration { .milliseconds(10) }

    /// Runs one statement on a connection of the pool, committed by itself.
    ///
    /// - Parameter sql: one statement, with at most 65,535 values.
    /// - Throws: what `PostgresConnection.query` throws; `leaseTimedOut`, `tooManyWaiters`, `poolClosed`,
    ///   `connectionFailed`; `CancellationError` when the task was cancelled before the statement was sent.
    public func query(_ sql: SQL) async throws -> PostgresResult {
        let (text, parameters) = sql.statement
        return try await query(text, parameters)
    }

    /// The same for a statement whose text and values are apart.
    ///
    /// - Parameters:
    ///   - sql: one statement, with `$1`, `$2` … for the parameters.
    ///   - parameters: at most 65,535 values.
    /// - Throws: what `PostgresConnection.query` throws; `leaseTimedOut`, `tooManyWaiters`, `poolClosed`,
    ///   `connectionFailed`; `CancellationError` when the task was cancelled before the statement was sent.
    @_disfavoredOverload  // A literal is an `SQL`.
    public func query(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresResult {
        if let joinedConnection { return try await joinedConnection.query(sql, parameters) }
        var deadMaximum = statistics.maximum
        while true {
            let connection = try await lease()
            let (outcome, isReusable) = await connection.queryOnce(sql, parameters)
            await giveBack(connection, isReusable: isReusable)
            do {
                return try outcome.get()
            } catch {
                guard Self.isUnusedLoss(error), deadMaximum > 0 else { throw error }
                deadMaximum -= 1
            }
        }
    }

    /// Lends a connection that is in no transaction, but for the joined one.
    ///
    /// - Parameter body: must not keep the connection; a transaction it leaves open costs the connection.
    /// - Throws: what `body` throws; `leaseTimedOut`, `tooManyWaiters`, `poolClosed`, `connectionFailed`,
    ///   `CancellationError`.
    public func withConnection<R: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> R
    ) async throws -> R {
        if let joinedConnection { return try await body(joinedConnection) }
        let connection = try await leaseAlive()
        do {
            let value = try await withTaskExecutorPreference(connection.thread) { try await body(connection) }
            await giveBack(connection, isReusable: await connection.isReusable)
            return value
        } catch {
            await giveBack(connection, isReusable: await connection.isReusable)
            throw error
        }
    }

    /// Runs a transaction (READ COMMITTED unless the body sets another level first).
    ///
    /// COMMIT and ROLLBACK run even when the task is cancelled. After a conflict (`isTransactionConflict`) the whole
    /// runs again on a new lease, so `body` must do nothing outside the database that may not happen twice. Nested
    /// calls take a second connection; within ``withJoinedTransaction(_:)`` each is a savepoint of that transaction.
    ///
    /// - Parameters:
    ///   - attempts: how often the body runs at most.
    ///   - body: the statements; what it throws rolls back. It must not keep the connection, nor end the transaction.
    /// - Throws: what `body` throws; `connectionLost` when the connection died, in COMMIT with unknown outcome;
    ///   `transactionAborted` when the body hid a failed statement; what COMMIT gives (deferred constraints);
    ///   `leaseTimedOut`, `tooManyWaiters`, `poolClosed`, `connectionFailed`, `CancellationError`.
    public func withTransaction<R: Sendable>(
        attempts: Int = 3, _ body: @Sendable (PostgresConnection) async throws -> R
    ) async throws -> R {
        if let joinedConnection { return try await withSavepoint(on: joinedConnection, body) }
        var attempt = 1
        while true {
            do {
                return try await runTransaction(body)
            } catch let error as PostgresError where error.isTransactionConflict && attempt < attempts {
                logger.debug(
                    "Running a transaction again",
                    metadata: [PostgresLogKey.attempt: "\(attempt)", PostgresLogKey.error: "\(error)"])
                // At random, or those who met would meet again.
                try await Task.sleep(for: Self.conflictPauseMaximum * Double(attempt) * Double.random(in: 0...1))
                attempt += 1
            }
        }
    }

    /// On the connection's thread: a statement costs no change of threads.
    private func runTransaction<R: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> R
    ) async throws -> R {
        var deadMaximum = statistics.maximum
        while true {
            let connection = try await lease()
            let end = await withTaskExecutorPreference(connection.thread) {
                await Self.transact(body, on: connection)
            }
            await giveBack(connection, isReusable: end.isReusable)
            switch end.outcome {
            case .success(let value): return value
            case .failure(let error):
                // A dead connection that is found on the way is replaced, since nothing was lost.
                guard !end.hasBegun, (error as? PostgresError)?.isConnectionLoss ?? false, deadMaximum > 0 else {
                    throw error
                }
                deadMaximum -= 1
            }
        }
    }

    /// How a transaction ended.
    private struct End<R: Sendable>: Sendable {
        let outcome: Result<R, any Error>
        let isReusable: Bool
        var hasBegun = true
    }

    @inline(never)
    private static func transact<R: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> R, on connection: PostgresConnection
    ) async -> End<R> {
        do {
            try await connection.begin()
        } catch {
            return End(outcome: .failure(error), isReusable: false, hasBegun: false)
        }
        let value: R
        do {
            value = try await body(connection)
        } catch {
            return End(outcome: .failure(error), isReusable: await connection.rollBack())
        }
        do {
            let isReusable = try await connection.commit()
            return End(outcome: .success(value), isReusable: isReusable)
        } catch {
            return End(outcome: .failure(error), isReusable: await connection.isReusable)
        }
    }

    /// A connection that the server has not ended.
    private func leaseAlive() async throws -> PostgresConnection {
        for _ in 0..<statistics.maximum {
            let connection = try await lease()
            if await connection.checkAlive() { return connection }
            await giveBack(connection, isReusable: false)
        }
        // After as many dead ones as the pool can hold this one is new.
        return try await lease()
    }

    /// A connection that was dead before anything was sent on it: another may be tried.
    private static func isUnusedLoss(_ error: PostgresError) -> Bool { error.isConnectionLoss && !error.wasSent }
}
