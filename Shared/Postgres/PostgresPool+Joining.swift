import Synchronization

/// One transaction for all that a task does with a pool, so that several stores' writes are committed together.
extension PostgresPool {
    /// A transaction that statements of a task join.
    final class Joined: Sendable {
        private let pool: PostgresPool
        private let connection: PostgresConnection
        private let isOver = Mutex(false)

        init(_ pool: PostgresPool, _ connection: PostgresConnection) {
            self.pool = pool
            self.connection = connection
        }

        /// What a task that was started within it, and lives longer, joins no more.
        func end() { isOver.withLock { $0 = true } }

        func connection(of pool: PostgresPool) -> PostgresConnection? {
            pool === self.pool && !isOver.withLock { $0 } ? connection : nil
        }
    }

    @TaskLocal private static var joined: Joined?

    /// The connection whose transaction the task's statements join; nil outside of ``withJoinedTransaction(_:)``.
    var joinedConnection: PostgresConnection? { Self.joined?.connection(of: self) }

    /// Runs a transaction that everything joins which `body` does with this pool: statements, and whole transactions as savepoints.
    ///
    /// What `body` calls need not know of it. It must not use the pool from two tasks at once. After a conflict all of it runs again,
    /// as in ``withTransaction(attempts:_:)``.
    ///
    /// - Throws: what `body` throws, which rolls back all of it; and what ``withTransaction(attempts:_:)`` throws.
    public func withJoinedTransaction<R: Sendable>(_ body: @Sendable () async throws -> R) async throws -> R {
        try await withTransaction { connection in
            let joined = Joined(self, connection)
            defer { joined.end() }
            return try await Self.$joined.withValue(joined) { try await body() }
        }
    }

    /// A transaction within the joined one: what it throws rolls back its own statements alone.
    func withSavepoint<R: Sendable>(
        on connection: PostgresConnection, _ body: @Sendable (PostgresConnection) async throws -> R
    ) async throws -> R {
        try await connection.openSavepoint()
        do {
            let value = try await body(connection)
            try await connection.closeSavepoint()
            return value
        } catch {
            await connection.rollBackToSavepoint()
            throw error
        }
    }
}
