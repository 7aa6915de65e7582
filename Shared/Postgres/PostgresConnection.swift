import BlockingThreads
public import Logging

/// One connection to PostgreSQL, on a thread of its own, so that waiting for the server blocks nobody else.
///
/// Each call from outside is one hop to that thread. A function that takes an `isolated PostgresConnection` runs on the
/// thread as a whole and makes all its calls without a hop. Cancelling the caller's task does not stop a statement; the
/// server's `statement_timeout` bounds it.
public actor PostgresConnection {
    private let executor: ThreadExecutor
    private let configuration: PostgresConfiguration
    private let logger: Logger
    private let responseTimeout: Int64
    private var native: NativeConnection?
    private var statements: StatementCache
    private var parameterBuffer = ParameterBuffer()
    /// The newest failure of the open transaction, which COMMIT reports if the body went on regardless.
    private var transactionFailure: PostgresError?
    /// Set when the session must not be used again although it is alive.
    private var isUnfit = false

    /// Tells connections of one process apart in logs.
    public nonisolated let id: Int

    /// The thread, for tasks that make many calls: what they do in between runs there, too.
    nonisolated var thread: any TaskExecutor { executor }

    /// The thread that this actor's calls run on.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private init(configuration: PostgresConfiguration, logger: Logger, id: Int) {
        executor = ThreadExecutor(name: "postgres-\(id)")
        self.configuration = configuration
        self.logger = logger
        self.id = id
        responseTimeout = configuration.responseTimeout.wholeMilliseconds
        statements = StatementCache(capacity: configuration.statementCacheCapacity)
    }

    deinit {
        // The handle is finished with the last reference, which does not block (see `NativeConnection`).
        executor.stop()
    }

    /// Connects and sets the session's time limits.
    ///
    /// - Parameters:
    ///   - configuration: where, and the limits.
    ///   - logger: gets one line at debug level.
    ///   - id: tells connections apart in logs and thread names.
    /// - Throws: `connectionFailed`.
    public static func connect(
        configuration: PostgresConfiguration, logger: Logger, id: Int = 0
    ) async throws(PostgresError) -> PostgresConnection {
        let connection = PostgresConnection(configuration: configuration, logger: logger, id: id)
        try await connection.open()
        return connection
    }

    private func open() throws(PostgresError) {
        do {
            native = try NativeConnection.connect(configuration)
            _ = try runScript(configuration.sessionSettings, timeout: responseTimeout)
        } catch {
            native = nil
            // A server that goes away right after the handshake is a failed attempt, not a lost statement.
            throw PostgresError(
                code: .connectionFailed, reason: "no connection", sqlState: error.sqlState,
                serverMessage: error.serverMessage, wasSent: false)
        }
        logger.debug("Connected to PostgreSQL", metadata: [PostgresLogKey.connection: "\(id)"])
    }

    /// Ends the connection and its thread; calls after this throw `poolClosed`.
    public func close() {
        native = nil
        executor.stop()
        logger.debug("Closed a connection to PostgreSQL", metadata: [PostgresLogKey.connection: "\(id)"])
    }

    /// Runs one statement, prepared on its first use and kept prepared, unless `preparesStatements` is false.
    ///
    /// - Parameter sql: one statement, with at most 65,535 values.
    /// - Returns: all its rows; bound them by LIMIT where they could be many.
    /// - Throws: `statementFailed` with the server's SQLSTATE, `connectionLost` when the outcome is unknown,
    ///   `staleStatement`, or `poolClosed`.
    public func query(_ sql: SQL) throws(PostgresError) -> PostgresResult {
        let (text, parameters) = sql.statement
        return try query(text, parameters)
    }

    /// The same for a statement whose text and values are apart.
    ///
    /// - Parameters:
    ///   - sql: one statement, with `$1`, `$2` … for the parameters.
    ///   - parameters: at most 65,535 values.
    /// - Returns: all its rows; bound them by LIMIT where they could be many.
    /// - Throws: `statementFailed` with the server's SQLSTATE, `connectionLost` when the outcome is unknown,
    ///   `staleStatement`, or `poolClosed`.
    @_disfavoredOverload  // A literal is an `SQL`.
    public func query(
        _ sql: String, _ parameters: [PostgresValue] = []
    ) throws(PostgresError) -> PostgresResult {
        let native = try checkedNative()
        do {
            try parameterBuffer.fill(parameters)
            return try execute(sql, native)
        } catch {
            note(error)
            throw error
        }
    }

    /// Runs several statements by the simple protocol, as one transaction unless the script says otherwise; for
    /// migrations.
    ///
    /// There is no time limit of ours; the server's `statement_timeout` holds until the script sets another.
    ///
    /// - Parameter sql: the statements, separated by semicolons; no parameters, no results.
    /// - Throws: the first failure: `statementFailed`, `connectionLost`, or `poolClosed`.
    public func executeScript(_ sql: String) throws(PostgresError) {
        _ = try checkedNative()
        do {
            _ = try runScript(sql, timeout: 0)
        } catch {
            note(error)
            throw error
        }
    }

    // MARK: Statements

    private func execute(_ sql: String, _ native: NativeConnection) throws(PostgresError) -> PostgresResult {
        guard configuration.preparesStatements else { return try executeUnprepared(sql, native) }
        if let statement = statements.statement(for: sql), statement.types == parameterBuffer.types {
            do {
                return try execute(statement, native)
            } catch {
                guard Self.isStale(error) else { throw error }
                try forget(sql, native)
                if native.transactionState != .idle {
                    throw PostgresError(
                        code: .staleStatement, reason: "the schema changed under a prepared statement",
                        sqlState: error.sqlState, serverMessage: error.serverMessage)
                }
            }
        }
        return try execute(try prepare(sql, native), native)
    }

    private func execute(
        _ statement: StatementCache.Statement, _ native: NativeConnection
    ) throws(PostgresError) -> PostgresResult {
        statements.touch(statement)
        guard native.sendPrepared(statement.name, parameterBuffer) else { throw native.sendFailure() }
        var answer = PostgresResult.empty
        try native.readAnswer(timeout: responseTimeout) { result in
            let (rows, columns) = result.rows(columns: statement.columns)
            statement.columns = columns
            answer = PostgresResult(rows: rows, affectedRows: result.affectedRows)
        }
        return answer
    }

    private func executeUnprepared(
        _ sql: String, _ native: NativeConnection
    ) throws(PostgresError) -> PostgresResult {
        guard native.sendUnprepared(sql, parameterBuffer) else { throw native.sendFailure() }
        var answer = PostgresResult.empty
        try native.readAnswer(timeout: responseTimeout) { result in
            answer = PostgresResult(rows: result.rows(columns: nil).rows, affectedRows: result.affectedRows)
        }
        return answer
    }

    private func prepare(
        _ sql: String, _ native: NativeConnection
    ) throws(PostgresError) -> StatementCache.Statement {
        let statement = statements.makeStatement(types: parameterBuffer.types)
        guard native.sendPrepare(sql, name: statement.name, types: statement.types) else {
            throw native.sendFailure()
        }
        try native.readAnswer(timeout: responseTimeout) { _ in }
        if let displaced = statements.insert(statement, for: sql) {
            _ = try runScript("DEALLOCATE \(displaced.name)", timeout: responseTimeout)
        }
        return statement
    }

    /// A prepared statement whose columns have changed (0A000, "cached plan must not change result type"), or that
    /// somebody's DEALLOCATE or DISCARD removed (26000).
    ///
    /// Both fail before anything took effect.
    private static func isStale(_ error: PostgresError) -> Bool {
        error.code == .statementFailed && (error.sqlState == "0A000" || error.sqlState == "26000")
    }

    private func forget(_ sql: String, _ native: NativeConnection) throws(PostgresError) {
        guard let statement = statements.remove(sql), native.transactionState == .idle else { return }
        do {
            _ = try runScript("DEALLOCATE \(statement.name)", timeout: responseTimeout)
        } catch {
            // 26000: it is gone already, which is what we want.
            guard error.code == .statementFailed else { throw error }
        }
    }

    /// - Returns: the command tag of the last statement.
    private func runScript(_ sql: String, timeout: Int64) throws(PostgresError) -> String {
        let native = try openNative()
        guard native.sendScript(sql) else { throw native.sendFailure() }
        var tag = ""
        try native.readAnswer(timeout: timeout) { tag = $0.commandTag }
        return tag
    }

    private func openNative() throws(PostgresError) -> NativeConnection {
        guard let native else {
            throw PostgresError(code: .poolClosed, reason: "the connection is closed", wasSent: false)
        }
        return native
    }

    /// The handle, after a look whether the server has ended an idle session, so that nothing is sent into the void.
    private func checkedNative() throws(PostgresError) -> NativeConnection {
        let native = try openNative()
        if native.transactionState == .idle { native.noticeDeath() }
        guard native.isAlive else {
            throw PostgresError(code: .connectionLost, reason: "the connection is gone", wasSent: false)
        }
        return native
    }

    private func note(_ error: PostgresError) {
        transactionFailure = error
        // 25006: the server became read-only, as after a failover; a new connection may find the new primary.
        if error.sqlState == "25006" { isUnfit = true }
    }
}

// MARK: - For the pool

extension PostgresConnection {
    /// Whether the session may serve somebody else: alive, and in no transaction.
    var isReusable: Bool {
        guard let native, !isUnfit else { return false }
        return native.isAlive && native.transactionState == .idle
    }

    /// Whether the server has not ended the session.
    func checkAlive() -> Bool {
        native?.noticeDeath()
        return isReusable
    }

    /// One statement and the verdict on the session, in one hop.
    func queryOnce(
        _ sql: String, _ parameters: [PostgresValue]
    ) -> (outcome: Result<PostgresResult, PostgresError>, isReusable: Bool) {
        do {
            let result = try query(sql, parameters)
            return (.success(result), isReusable)
        } catch {
            return (.failure(error), isReusable)
        }
    }

    func begin() throws(PostgresError) {
        _ = try checkedNative()
        transactionFailure = nil
        _ = try runScript("BEGIN", timeout: responseTimeout)
    }

    /// Commits, whether or not the caller's task is cancelled.
    ///
    /// - Returns: whether the session may be used again.
    /// - Throws: what COMMIT gave; `transactionAborted` with the SQLSTATE of the statement that had failed;
    ///   `transactionEnded`; `connectionLost` when nobody knows.
    func commit() throws(PostgresError) -> Bool {
        let native = try openNative()
        switch native.transactionState {
        case .open:
            // The server answers a COMMIT that it could not do with the tag ROLLBACK and no error.
            guard try runScript("COMMIT", timeout: responseTimeout) == "COMMIT" else { throw abortedError() }
            return isReusable
        case .failed:
            let error = abortedError()
            _ = rollBack()
            throw error
        case .idle:
            throw PostgresError(
                code: .transactionEnded, reason: "the transaction's body ended the transaction itself")
        case .unknown:
            throw PostgresError(
                code: .connectionLost, reason: "the connection died in a transaction",
                sqlState: transactionFailure?.sqlState)
        }
    }

    private func abortedError() -> PostgresError {
        PostgresError(
            code: .transactionAborted, reason: "a statement of the transaction had failed",
            sqlState: transactionFailure?.sqlState, constraintName: transactionFailure?.constraintName,
            serverMessage: transactionFailure?.serverMessage)
    }

    func openSavepoint() throws(PostgresError) { _ = try runScript("SAVEPOINT joined", timeout: responseTimeout) }

    func closeSavepoint() throws(PostgresError) {
        _ = try runScript("RELEASE SAVEPOINT joined", timeout: responseTimeout)
    }

    /// Where this fails COMMIT fails, too.
    func rollBackToSavepoint() {
        _ = try? runScript("ROLLBACK TO SAVEPOINT joined; RELEASE SAVEPOINT joined", timeout: responseTimeout)
    }

    /// Rolls back, whether or not the caller's task is cancelled.
    ///
    /// - Returns: whether the session may be used again.
    func rollBack() -> Bool {
        guard let native, native.isAlive else { return false }
        if native.transactionState != .idle {
            guard (try? runScript("ROLLBACK", timeout: responseTimeout)) != nil else { return false }
        }
        return isReusable
    }
}
