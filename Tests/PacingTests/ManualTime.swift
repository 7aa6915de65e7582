import Synchronization

@testable import Pacing

/// Time that passes when a test says so.
final class ManualTime: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Sleeper: Sendable {
        let end: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State: Sendable {
        var now: Instant
        var sleepers: [Int: Sleeper] = [:]
        var lastID = 0
    }

    /// When it began.
    let start: Instant
    private let state: Mutex<State>

    init() {
        let start = ContinuousClock.now
        self.start = start
        state = Mutex(State(now: start))
    }

    /// What the library is given.
    var source: TimeSource {
        TimeSource(now: { self.now }, sleep: { try await self.sleep(until: $0) })
    }

    var now: Instant {
        state.withLock { $0.now }
    }

    /// How many tasks sleep.
    var sleepers: Int {
        state.withLock { $0.sleepers.count }
    }

    /// How far away the next end of a sleep is.
    var nextEnd: Duration? {
        state.withLock { state in
            state.sleepers.values.map(\.end).min().map { state.now.duration(to: $0) }
        }
    }

    /// Lets time pass, and wakes those whose sleep ends.
    func advance(by duration: Duration) {
        let awake = state.withLock { state in
            state.now += duration
            let due = state.sleepers.filter { $0.value.end <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in awake { continuation.resume() }
    }

    private func sleep(until end: Instant) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if end <= state.now { return true }
                    state.sleepers[id] = Sleeper(end: end, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
                if Task.isCancelled { wake(id) }
            }
        } onCancel: {
            wake(id)
        }
    }

    private func wake(_ id: Int) {
        state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
    }
}

/// Lets other tasks run until something holds; the time limit of the test ends it if it never does.
func until(_ condition: () -> Bool) async {
    while !condition(), !Task.isCancelled { await Task.yield() }
}

/// Something that tasks wait for, and a test opens.
final class Gate: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// How many wait.
    var waiters: Int {
        state.withLock { $0.waiters.count }
    }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}

/// A list that tasks write down things in.
final class Notes<Element: Sendable>: Sendable {
    private let notes = Mutex<[Element]>([])

    var all: [Element] {
        notes.withLock { $0 }
    }

    func add(_ note: Element) {
        notes.withLock { $0.append(note) }
    }
}

/// A breaker that its own listener can reach.
final class Reference: Sendable {
    private let kept = Mutex<CircuitBreaker?>(nil)

    var breaker: CircuitBreaker? {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }
}
