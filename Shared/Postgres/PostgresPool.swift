public import Logging
public import ServiceLifecycle
import Synchronization

/// Connections to one database, shared by the tasks of a process.
///
/// They are made when they are needed, so a pool can be made while the server is down, and finds the server again by
/// itself. Tasks get connections in the order they asked. A connection that comes back inside a transaction, or dead,
/// is closed and replaced on the next need. The pool works from `init` on; `run()` only ties its end to a
/// `ServiceGroup`.
public final class PostgresPool: Service, Sendable {
    /// The pool at one moment, for metrics.
    public struct Statistics: Sendable, Hashable {
        /// Connections in use, or being made.
        public let leased: Int
        /// Connections ready for use.
        public let idle: Int
        /// Tasks that wait for a connection.
        public let waiting: Int
        /// Connections the pool may have.
        public let maximum: Int
        /// Connections made since the start.
        public let opened: Int
        /// Connections given up since the start because they were dead or came back inside a transaction.
        public let discarded: Int
    }

    private struct State {
        var pool: PoolState<PostgresConnection>
        var opened = 0
        var discarded = 0
        var nextConnectionID = 1
    }

    let configuration: PostgresConfiguration
    let logger: Logger
    private let state: Mutex<State>

    /// Makes a pool; no connection is made yet.
    ///
    /// - Parameters:
    ///   - configuration: where the database is, and the limits.
    ///   - logger: gets lines at debug level only.
    public init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        let size = min(max(1, configuration.poolSizeMaximum), PostgresConfiguration.poolSizeLimit)
        state = Mutex(
            State(pool: PoolState(permitsMaximum: size, waitersMaximum: max(0, configuration.waitersMaximum))))
    }

    /// The pool at this moment.
    public var statistics: Statistics {
        state.withLock { state in
            Statistics(
                leased: state.pool.permitsHeld, idle: state.pool.idle.count, waiting: state.pool.waiters.count,
                maximum: state.pool.permitsMaximum, opened: state.opened, discarded: state.discarded)
        }
    }

    // MARK: Life

    /// Waits for graceful shutdown or cancellation, then closes the pool.
    public func run() async throws {
        // Cancellation ends the wait too, and closing is due either way.
        try? await gracefulShutdown()
        await close()
    }

    /// Closes the pool: tasks that wait get `poolClosed`, idle connections end, and leases have `closeTimeout` to come
    /// back.
    ///
    /// A connection that is still out then ends when it comes back.
    public func close() async {
        let (waiters, idle) = state.withLock { $0.pool.close() }
        for waiter in waiters { waiter.continuation.resume(throwing: PoolState<PostgresConnection>.closedError) }
        for connection in idle { await connection.close() }
        let id = state.withLock { $0.pool.makeID() }
        let timeout = configuration.closeTimeout
        let timer = Task {
            try await Task.sleep(for: timeout)
            state.withLock { $0.pool.abandonDrain(id) }?.resume()
        }
        await withCheckedContinuation { continuation in
            let mustWait = state.withLock { $0.pool.awaitDrain(id, continuation) }
            if !mustWait { continuation.resume() }
        }
        timer.cancel()
    }

    // MARK: Leases

    /// Gets a connection: an idle one, or one made by this task.
    ///
    /// - Throws: `leaseTimedOut`, `tooManyWaiters`, `poolClosed`, `connectionFailed`, or `CancellationError`.
    func lease() async throws -> PostgresConnection {
        try Task.checkCancellation()
        let idle: PostgresConnection?
        if let granted = try state.withLock({ state throws(PostgresError) in try state.pool.acquire() }) {
            idle = granted
        } else {
            try await waitForPermit()
            // A permit that came together with the cancellation goes to the next in the queue.
            if Task.isCancelled {
                giveBackPermit(nil)
                throw CancellationError()
            }
            idle = state.withLock { $0.pool.takeIdle() }
        }
        if let idle { return idle }
        return try await connect()
    }

    /// Makes a connection for a permit that is held; gives the permit back on failure.
    private func connect() async throws(PostgresError) -> PostgresConnection {
        let id = state.withLock { state in
            defer { state.nextConnectionID += 1 }
            return state.nextConnectionID
        }
        do {
            let connection = try await PostgresConnection.connect(configuration: configuration, logger: logger, id: id)
            state.withLock { $0.opened += 1 }
            return connection
        } catch {
            logger.debug(
                "Could not connect to PostgreSQL",
                metadata: [PostgresLogKey.connection: "\(id)", PostgresLogKey.error: "\(error)"])
            giveBackPermit(nil)
            throw error
        }
    }

    private func waitForPermit() async throws {
        let id = state.withLock { $0.pool.makeID() }
        let deadline = ContinuousClock.now + configuration.leaseTimeout
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let verdict = state.withLock {
                    $0.pool.wait(.init(id: id, deadline: deadline, continuation: continuation))
                }
                switch verdict {
                case .granted: continuation.resume()
                case .refused(let error): continuation.resume(throwing: error)
                case .waiting(let startTimer):
                    if startTimer { expireWaiters(at: deadline) }
                    // The handler may have run before there was anything to cancel.
                    if Task.isCancelled { cancelWaiter(id) }
                }
            }
        } onCancel: {
            cancelWaiter(id)
        }
    }

    private func cancelWaiter(_ id: UInt64) {
        state.withLock { $0.pool.cancel(id) }?.resume(throwing: CancellationError())
    }

    /// One timer for the whole queue, alive only while somebody waits: it sleeps until the first one's deadline.
    private func expireWaiters(at first: ContinuousClock.Instant) {
        Task {
            var next: ContinuousClock.Instant? = first
            while let deadline = next {
                try? await Task.sleep(until: deadline, clock: .continuous)
                let (expired, following) = state.withLock { $0.pool.expire(.now) }
                let error = PostgresError(
                    code: .leaseTimedOut, reason: "no connection became free within \(configuration.leaseTimeout)",
                    wasSent: false)
                for continuation in expired { continuation.resume(throwing: error) }
                next = following
            }
        }
    }

    /// Gives a connection back: into the pool if it can serve again, else it is closed.
    func giveBack(_ connection: PostgresConnection, isReusable: Bool) async {
        if isReusable {
            if let surplus = giveBackPermit(connection) { await surplus.close() }
            return
        }
        state.withLock { $0.discarded += 1 }
        logger.debug(
            "Discarding a connection to PostgreSQL", metadata: [PostgresLogKey.connection: "\(connection.id)"])
        // Closed before the permit is free, so that the server never sees more connections than the maximum.
        await connection.close()
        giveBackPermit(nil)
    }

    /// - Returns: the connection, when the pool is closed and does not take it.
    @discardableResult
    private func giveBackPermit(_ connection: PostgresConnection?) -> PostgresConnection? {
        let release = state.withLock { $0.pool.release(connection) }
        release.granted?.resume()
        for continuation in release.drained { continuation.resume() }
        return release.surplus
    }
}
