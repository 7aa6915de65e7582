import Logging
import Persistence
import PurchaseModel
import ServiceLifecycle
import ServiceRuntime
import Synchronization

/// Wakes those who wait for events: one look at what came for all of them, and none while nobody waits.
///
/// Only a look ends a wait early, and looks have their interval: nobody who waits can make another read more often, whatever
/// position either waits after.
final class EventTail: Sendable {
    enum Limit {
        /// The time between looks.
        static let interval = Duration.milliseconds(200)
        /// Pulls and streams that wait; one more is answered at once, or refused.
        static let waiters = 2_000
        /// Looks at ``EventFeedStore/Limit/tail`` events each that one run makes.
        static let looksPerRun = 20
    }

    /// Why a wait is over.
    enum End: Sendable, Hashable {
        /// There may be something to read.
        case arrival
        case time
        /// The caller has gone.
        case closed
        /// The process is to stop, or the caller's task was cancelled.
        case stopping
        /// It did not begin, for too many wait.
        case full
    }

    private struct Owner: Hashable {
        let app: String
        /// Nil for those who wait for anybody's.
        let account: Account?
    }

    private struct Waiter {
        let filter: EventFilter
        let position: Int64
        let end: @Sendable (End) -> Void
    }

    private struct State {
        /// Everything up to here was shown to those who waited; nil while nobody does.
        var position: Int64?
        var nextId: UInt64 = 0
        var waiters: [Owner: [UInt64: Waiter]] = [:]
        var count = 0
    }

    /// Reads what came after a position; see `EventFeedStore.arrivals`.
    typealias Arrivals = @Sendable (Int64) async throws -> [EventFeedStore.Arrival]

    private let arrivals: Arrivals
    private let waitersMaximum: Int
    private let state = Mutex(State())

    init(waitersMaximum: Int = Limit.waiters, arrivals: @escaping Arrivals) {
        self.arrivals = arrivals
        self.waitersMaximum = waitersMaximum
    }

    /// How many wait.
    var count: Int { state.withLock { $0.count } }

    /// What looks again and again.
    func task(logger: Logger) -> PeriodicTask {
        PeriodicTask("event-tail", schedule: .init(every: Limit.interval), logger: logger) { try await self.look() }
    }

    /// Looks until it has seen all that came.
    ///
    /// - Throws: what the reading throws; the next look goes on.
    func look() async throws {
        for _ in 0..<Limit.looksPerRun {
            let from = state.withLock { state -> Int64? in
                if state.count == 0 { state.position = nil }
                return state.position
            }
            guard let from else { return }
            let found = try await arrivals(from)
            show(found, after: from)
            if found.count < EventFeedStore.Limit.tail { return }
        }
    }

    private func show(_ found: [EventFeedStore.Arrival], after from: Int64) {
        guard let last = found.last else { return }
        let ended = state.withLock { state in
            // Who has come meanwhile may wait after less; the next look begins there.
            if state.position == from { state.position = last.position }
            var ended: [@Sendable (End) -> Void] = []
            for arrival in found {
                var owners = [Owner(app: arrival.app, account: nil)]
                if let account = arrival.account { owners.append(Owner(app: arrival.app, account: account)) }
                for owner in owners {
                    guard let waiters = state.waiters[owner] else { continue }
                    for (id, waiter) in waiters
                    where arrival.position > waiter.position && waiter.filter.matches(arrival) {
                        ended.append(waiter.end)
                        Self.remove(id, owner, &state)
                    }
                }
            }
            return ended
        }
        for end in ended { end(.arrival) }
    }

    private static func remove(_ id: UInt64, _ owner: Owner, _ state: inout State) {
        guard state.waiters[owner]?.removeValue(forKey: id) != nil else { return }
        state.count -= 1
        if state.waiters[owner]?.isEmpty == true { state.waiters[owner] = nil }
    }

    /// Waits for an event that is meant, after a position up to which the caller has looked.
    ///
    /// It ends at once where too many wait. What came since that position, the next look finds.
    @inline(never)
    func wait(
        for filter: EventFilter, after position: Int64, within time: Duration,
        connection: ConnectionSignals.Connection?
    ) async -> End {
        guard time > .zero else { return .time }
        let (ends, continuation) = AsyncStream<End>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let end: @Sendable (End) -> Void = { reason in
            continuation.yield(reason)
            continuation.finish()
        }
        let owner = Owner(app: filter.app, account: filter.account)
        guard let id = enter(Waiter(filter: filter, position: position, end: end), owner) else { return .full }
        defer { state.withLock { Self.remove(id, owner, &$0) } }
        connection?.onClose { end(.closed) }
        defer { connection?.forget() }
        let clock = Task {
            try await Task.sleep(for: time)
            end(.time)
        }
        defer { clock.cancel() }
        return await withTaskCancellationOrGracefulShutdownHandler {
            for await reason in ends { return reason }
            return .stopping
        } onCancelOrGracefulShutdown: {
            end(.stopping)
        }
    }

    /// Nil where too many wait.
    private func enter(_ waiter: Waiter, _ owner: Owner) -> UInt64? {
        state.withLock { state in
            guard state.count < waitersMaximum else { return nil }
            state.position = min(state.position ?? waiter.position, waiter.position)
            state.nextId += 1
            state.waiters[owner, default: [:]][state.nextId] = waiter
            state.count += 1
            return state.nextId
        }
    }
}
