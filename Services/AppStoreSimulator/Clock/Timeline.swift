import Foundation
import HTTPTypes
import Logging
import ServiceLifecycle

/// Lets things happen when their time comes: while the clock runs, and on the way when it is advanced.
///
/// One step at a time: what is due happens, then what it has to tell is sent, then the next. An advance stops the clock,
/// goes from one due instant to the next, and lets it run on from where it ends; so each renewal has its own date, and
/// each delivery its own attempt.
actor Timeline: Service {
    enum Limit {
        /// Instants at which something happened, in one advance.
        static let steps = 1_000_000
        /// Real milliseconds after which a sleeping timeline looks again, whatever its clock says.
        static let sleep: Int64 = 60_000
        /// Real milliseconds after a failure until the next try: a store that cannot write has what is due for ever.
        static let sleepAfterFailure: Int64 = 5_000
    }

    /// What an advance did.
    struct Advance: Sendable {
        /// Where the clock stands; milliseconds since 1970.
        let now: Int64
        /// How many things happened.
        let events: Int
    }

    private let store: Store
    private let clock: VirtualClock
    private let deliver: @Sendable ([NotificationRecord]) async -> Void
    private let logger: Logger
    /// The last piece of work that was begun: the next waits for it.
    private var last: Task<Void, Never>?

    /// - Parameter deliver: sends notifications and records their attempts.
    init(store: Store, logger: Logger, deliver: @escaping @Sendable ([NotificationRecord]) async -> Void) {
        self.store = store
        clock = store.clock
        self.deliver = deliver
        self.logger = logger
    }

    /// Follows the clock until the process is to end.
    func run() async throws {
        await withGracefulShutdownHandler {
            await follow()
        } onGracefulShutdown: {
            self.store.wakeTimeline()
        }
    }

    /// Moves the clock, and lets everything on the way happen at its own instant.
    ///
    /// - Throws: a ``Problem`` when the instant is in the past, or too much happens on the way.
    func advance(to target: Int64) async throws -> Advance {
        guard target >= clock.now else { throw Problem(.badRequest, "by: the clock does not go back by an advance") }
        return try await inTurn { try await self.walk(to: target) }
    }

    /// Lets happen what is due by now, and waits until it has been told.
    func catchUp() async throws {
        _ = try await inTurn { try await self.perform(until: self.clock.now) }
    }

    private func follow() async {
        var signals = store.dueSignal.makeAsyncIterator()
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            var hasFailed = false
            do {
                try await catchUp()
            } catch {
                hasFailed = true
                logger.error(
                    "the timeline stumbled; nothing happens by itself until it gets on",
                    metadata: ["error": "\(error)"])
            }
            let delay = Self.pause(await store.delayUntilDue(maximum: Limit.sleep), hasFailed: hasFailed)
            if delay <= 0 { continue }
            // The alarm rings at the same bell as a change of the store.
            let alarm = Task { [store] in
                try await Task.sleep(for: .milliseconds(delay))
                store.wakeTimeline()
            }
            let goesOn: Void? = await signals.next()
            alarm.cancel()
            guard goesOn != nil else { return }
        }
    }

    /// Real milliseconds to sleep before what is due in `delay` is looked at.
    static func pause(_ delay: Int64, hasFailed: Bool) -> Int64 {
        hasFailed ? max(delay, Limit.sleepAfterFailure) : delay
    }

    private func walk(to target: Int64) async throws -> Advance {
        let speed = clock.speed
        var events = 0
        try await store.setClock(speed: 0)
        do {
            while let date = await store.nextDueDate(), date <= target {
                guard events < Limit.steps else {
                    throw Problem(
                        .contentTooLarge, "more than \(Limit.steps) events on the way; the clock stands at one")
                }
                if date > clock.now { clock.set(date) }
                events += try await perform(until: clock.now)
            }
        } catch {
            try await store.setClock(speed: speed)
            throw error
        }
        try await store.setClock(target, speed: speed)
        return Advance(now: target, events: events)
    }

    /// Lets everything happen that is due by an instant, and what follows from it by the same instant.
    private func perform(until instant: Int64) async throws -> Int {
        var events = 0
        while true {
            let step = try await store.change { state, _ in state.performDue(until: instant) }
            if step.count == 0 { return events }
            events += step.count
            if !step.notifications.isEmpty { await deliver(step.notifications) }
        }
    }

    private func inTurn<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let previous = last
        let task = Task { () async -> Result<Value, any Error> in
            await previous?.value
            do { return .success(try await work()) } catch { return .failure(error) }
        }
        last = Task { _ = await task.value }
        return try await task.value.get()
    }
}
