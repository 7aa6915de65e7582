/// Who may use a connection: permits, first come first served, and the connections that lie idle.
///
/// A value without I/O: an event goes in, what to do comes out. A permit is the right to hold one connection; there are
/// as many as the pool may have connections. Whoever holds a permit takes an idle connection or makes one, so that
/// there are never more connections than permits, and an attempt to connect blocks only the task that makes it.
struct PoolState<Connection> {
    typealias WaiterID = UInt64

    struct Waiter {
        let id: WaiterID
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    let permitsMaximum: Int
    let waitersMaximum: Int
    private(set) var permitsHeld = 0
    /// The last one given back is the first one used again: its caches are warm.
    private(set) var idle: [Connection] = []
    private(set) var waiters: [Waiter] = []
    private(set) var isClosed = false
    private(set) var isTimerRunning = false
    private var nextID: WaiterID = 0
    private var drainWaiters: [(id: WaiterID, continuation: CheckedContinuation<Void, Never>)] = []

    init(permitsMaximum: Int, waitersMaximum: Int) {
        self.permitsMaximum = permitsMaximum
        self.waitersMaximum = waitersMaximum
    }

    mutating func makeID() -> WaiterID {
        nextID += 1
        return nextID
    }

    // MARK: Leasing

    /// Takes a permit if one is free.
    ///
    /// Nobody overtakes: while somebody waits, no permit is free.
    ///
    /// - Returns: nil when the caller must wait.
    mutating func acquire() throws(PostgresError) -> Connection?? {
        if isClosed { throw Self.closedError }
        guard permitsHeld < permitsMaximum else { return nil }
        permitsHeld += 1
        return .some(idle.popLast())
    }

    enum WaitVerdict {
        case waiting(startTimer: Bool)
        case granted
        case refused(PostgresError)
    }

    /// Puts a caller at the end of the queue, or grants the permit that became free meanwhile.
    mutating func wait(_ waiter: Waiter) -> WaitVerdict {
        if isClosed { return .refused(Self.closedError) }
        if permitsHeld < permitsMaximum {
            permitsHeld += 1
            return .granted
        }
        guard waiters.count < waitersMaximum else {
            return .refused(
                PostgresError(
                    code: .tooManyWaiters, reason: "\(waitersMaximum) tasks wait for a connection already",
                    wasSent: false))
        }
        waiters.append(waiter)
        defer { isTimerRunning = true }
        return .waiting(startTimer: !isTimerRunning)
    }

    /// The idle connection for a permit that was granted to a waiter; nil when it has to make one.
    mutating func takeIdle() -> Connection? { idle.popLast() }

    /// Removes a waiter that was cancelled.
    ///
    /// - Returns: its continuation, unless it has been resumed already.
    mutating func cancel(_ id: WaiterID) -> CheckedContinuation<Void, any Error>? {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return nil }
        return waiters.remove(at: index).continuation
    }

    // MARK: Giving back

    struct Release {
        /// Gets the permit.
        var granted: CheckedContinuation<Void, any Error>?
        /// Must be closed by the caller.
        var surplus: Connection?
        /// Wait for the last lease to end.
        var drained: [CheckedContinuation<Void, Never>] = []
    }

    /// Gives a permit back, with the connection if it can serve again.
    mutating func release(_ connection: Connection?) -> Release {
        var release = Release()
        if isClosed {
            release.surplus = connection
        } else if let connection {
            idle.append(connection)
        }
        if !waiters.isEmpty {
            // The permit goes over; it is never free in between.
            release.granted = waiters.removeFirst().continuation
            return release
        }
        permitsHeld -= 1
        if isClosed, permitsHeld == 0 {
            release.drained = drainWaiters.map(\.continuation)
            drainWaiters = []
        }
        return release
    }

    // MARK: Time

    /// Removes those whose time is over.
    ///
    /// All wait equally long, so they are the first of the queue.
    ///
    /// - Returns: them, and when to look again; nil when nobody waits, and the timer has ended.
    mutating func expire(
        _ now: ContinuousClock.Instant
    ) -> (expired: [CheckedContinuation<Void, any Error>], next: ContinuousClock.Instant?) {
        let expired = waiters.prefix { $0.deadline <= now }
        waiters.removeFirst(expired.count)
        let next = waiters.first?.deadline
        if next == nil { isTimerRunning = false }
        return (expired.map(\.continuation), next)
    }

    // MARK: Closing

    /// Refuses everybody from now on.
    ///
    /// - Returns: the waiters, and the idle connections, for the caller to close.
    mutating func close() -> (waiters: [Waiter], idle: [Connection]) {
        isClosed = true
        defer {
            waiters = []
            idle = []
        }
        return (waiters, idle)
    }

    /// Waits for the last lease.
    ///
    /// - Returns: false when there is none.
    mutating func awaitDrain(_ id: WaiterID, _ continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard permitsHeld > 0 else { return false }
        drainWaiters.append((id, continuation))
        return true
    }

    /// Stops waiting for the last lease.
    mutating func abandonDrain(_ id: WaiterID) -> CheckedContinuation<Void, Never>? {
        guard let index = drainWaiters.firstIndex(where: { $0.id == id }) else { return nil }
        return drainWaiters.remove(at: index).continuation
    }

    static var closedError: PostgresError {
        PostgresError(code: .poolClosed, reason: "the pool is closed", wasSent: false)
    }
}
