import Synchronization

/// One request per key at a time: whoever asks for the same meanwhile shares its value.
///
/// A request that is out is a flight. Nobody's impatience ends it: it was paid for, and its value is kept for those who
/// went away and ask again. README.md says what is promised.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// What one object may hold.
    public struct Limits: Sendable, Hashable {
        /// Flights at a time.
        public var flightsMaximum: Int
        /// Values kept for those who ask again.
        public var rememberedMaximum: Int
        /// How long such a value is kept; a day at most.
        public var rememberedFor: Duration
        /// Callers that wait, for all flights together.
        public var waitersMaximum: Int
        /// Whether values are kept that all their callers got, too: what repetitions ask for then costs no request.
        public var keepsEveryValue: Bool

        /// The limits.
        public init(
            flightsMaximum: Int = 512, rememberedMaximum: Int = 10_000, rememberedFor: Duration = .seconds(300),
            waitersMaximum: Int = 10_000, keepsEveryValue: Bool = false
        ) {
            self.flightsMaximum = flightsMaximum
            self.rememberedMaximum = rememberedMaximum
            self.rememberedFor = rememberedFor
            self.waitersMaximum = waitersMaximum
            self.keepsEveryValue = keepsEveryValue
        }
    }

    /// What a caller gets.
    public enum Result: Sendable {
        /// The value: of a flight, or a remembered one.
        case value(Value)
        /// Patience ended, or the caller was cancelled. The flight goes on, and its value is remembered.
        case late
        /// There are too many flights or waiters, or ``SingleFlight/cancelAll()`` was called: nothing was begun.
        case full
    }

    /// Patience has an end, too.
    private static var durationMaximum: Duration { .seconds(24 * 3600) }

    private struct Flight: Sendable {
        let task: Task<Void, Never>
        var callers = LinkedLine<UInt64>()
        /// Whether somebody went away without the value.
        var wasLeft = false
    }

    private struct Caller: Sendable {
        let key: Key
        let continuation: CheckedContinuation<Result, Never>
    }

    private struct State: Sendable {
        var flights: [Key: Flight] = [:]
        var callers: [UInt64: Caller] = [:]
        var deadlines = DeadlineHeap<UInt64>()
        var remembered: RememberedValues<Key, Value>
        var timer = QueueTimer()
        var lastID: UInt64 = 0
        var isClosed = false

        mutating func makeID() -> UInt64 {
            lastID += 1
            return lastID
        }
    }

    private typealias Settled = (continuation: CheckedContinuation<Result, Never>, result: Result)

    private let limits: Limits
    private let time: TimeSource
    private let isWorthRemembering: @Sendable (Value) -> Bool
    private let state: Mutex<State>

    /// Nothing in flight.
    ///
    /// - Parameter isWorthRemembering: whether those who ask again should get this value; an error should be asked anew.
    public convenience init(limits: Limits = .init(), isWorthRemembering: @escaping @Sendable (Value) -> Bool) {
        self.init(limits: limits, time: .continuous, isWorthRemembering: isWorthRemembering)
    }

    init(limits: Limits, time: TimeSource, isWorthRemembering: @escaping @Sendable (Value) -> Bool) {
        self.limits = limits
        self.time = time
        self.isWorthRemembering = isWorthRemembering
        let lifetime = limits.rememberedFor.bounded(by: Self.durationMaximum)
        state = Mutex(State(remembered: .init(capacity: limits.rememberedMaximum, lifetime: lifetime)))
    }

    /// How many requests are in flight.
    public var flights: Int {
        state.withLock { $0.flights.count }
    }

    /// How many callers wait.
    public var waiters: Int {
        state.withLock { $0.callers.count }
    }

    /// Whether a task sleeps for the callers.
    var hasTimer: Bool {
        state.withLock { $0.timer.isSet }
    }

    /// The value of `key`: remembered, of the flight that is out, or of one that begins now.
    ///
    /// A caller whose task is cancelled gets ``Result/late`` at once, and the flight goes on without it.
    ///
    /// - Parameters:
    ///   - patience: how long to wait at most. With zero, a flight begins and the caller does not wait for it.
    ///   - body: makes the request. It runs in a task of its own, cancelled only by ``cancelAll()``; it must have a
    ///     time-out, and end soon when cancelled. Asking for its own key inside, it would wait for itself.
    public func value(
        of key: Key, within patience: Duration, _ body: @escaping @Sendable () async -> Value
    ) async -> Result {
        if Task.isCancelled { return .late }
        let caller = state.withLock { $0.makeID() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                change { state, now in
                    let caller = (id: caller, record: Caller(key: key, continuation: continuation))
                    let deadline = now + patience.bounded(by: Self.durationMaximum)
                    return self.board(caller, until: deadline, now: now, &state, body).map { [(continuation, $0)] }
                        ?? []
                }
                // The handler may have run before there was anything to cancel.
                if Task.isCancelled { leave(caller) }
            }
        } onCancel: {
            leave(caller)
        }
    }

    /// At shutdown: cancels what flies, and returns when the last flight has ended.
    ///
    /// From then on nothing begins. Callers that wait get what their body returns when it is cancelled; nothing of it is remembered.
    public func cancelAll() async {
        let tasks = state.withLock { state in
            state.isClosed = true
            return state.flights.values.map(\.task)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    // MARK: Callers

    /// - Returns: the result, if the caller does not have to wait.
    private func board(
        _ caller: (id: UInt64, record: Caller), until deadline: ContinuousClock.Instant, now: ContinuousClock.Instant,
        _ state: inout State, _ body: @escaping @Sendable () async -> Value
    ) -> Result? {
        let key = caller.record.key
        if let value = state.remembered.value(of: key, now: now) { return .value(value) }
        if state.isClosed { return .full }
        let waits = deadline > now
        if waits, state.callers.count >= limits.waitersMaximum { return .full }
        if state.flights[key] == nil {
            guard state.flights.count < limits.flightsMaximum else { return .full }
            state.flights[key] = begin(key, body)
        }
        guard waits else {
            state.flights[key]?.wasLeft = true
            return .late
        }
        state.flights[key]?.callers.append(caller.id)
        state.callers[caller.id] = caller.record
        state.deadlines.insert(caller.id, deadline: deadline)
        return nil
    }

    private func leave(_ caller: UInt64) {
        change { state, _ in Self.leave(caller, &state).map { [$0] } ?? [] }
    }

    private static func leave(_ id: UInt64, _ state: inout State) -> Settled? {
        guard let caller = state.callers.removeValue(forKey: id) else { return nil }
        state.deadlines.remove(id)
        state.flights[caller.key]?.callers.remove(id)
        state.flights[caller.key]?.wasLeft = true
        return (caller.continuation, .late)
    }

    // MARK: Flights

    /// The task is kept with the flight, ends it itself, and is cancelled and awaited by `cancelAll()`.
    private func begin(_ key: Key, _ body: @escaping @Sendable () async -> Value) -> Flight {
        let task = Task {
            let value = await body()
            land(key, value, isWhole: !Task.isCancelled)
        }
        return Flight(task: task)
    }

    private func land(_ key: Key, _ value: Value, isWhole: Bool) {
        let isKept = isWhole && isWorthRemembering(value)
        change { state, now in
            guard let flight = state.flights.removeValue(forKey: key) else { return [] }
            if flight.wasLeft || limits.keepsEveryValue, isKept { state.remembered.insert(value, of: key, now: now) }
            return flight.callers.all.compactMap { id in
                state.deadlines.remove(id)
                return state.callers.removeValue(forKey: id).map { ($0.continuation, .value(value)) }
            }
        }
    }

    // MARK: Time

    /// The timer rang: whose patience has ended goes away.
    private func wake(_ alarm: UInt64) {
        change { state, now in
            guard state.timer.takeAlarm(alarm) else { return [] }
            var settled: [Settled] = []
            while let id = state.deadlines.removeFirst(upTo: now) {
                if let late = Self.leave(id, &state) { settled.append(late) }
            }
            return settled
        }
    }

    /// The one way in: changes the state, sets the timer, and then, outside the lock, tells those who are settled.
    private func change(_ body: (inout State, ContinuousClock.Instant) -> [Settled]) {
        let (settled, idleTimer) = state.withLock { state in
            let settled = body(&state, time.now())
            return (settled, state.timer.set(for: state.deadlines.earliest, time) { self.wake($0) })
        }
        idleTimer?.cancel()
        for (continuation, result) in settled { continuation.resume(returning: result) }
    }
}

extension SingleFlight.Result: Equatable where Value: Equatable {}
extension SingleFlight.Result: Hashable where Value: Hashable {}
