import Foundation
import Persistence
import Synchronization

/// What the delivery loop is told while it sleeps.
final class DeliveryInbox: Sendable {
    /// An attempt, and what follows.
    struct Attempt: Sendable {
        /// When it began.
        let beganAt: Date
        let duration: Duration
        /// The beginning of what the endpoint said.
        let answer: String?
        let verdict: DeliveryVerdict
    }

    /// An attempt that has ended.
    struct Finished: Sendable {
        let eventId: String
        let endpointId: String
        /// Whether its endpoint takes an account's events in their order.
        let isOrdered: Bool
        /// The number of the attempt, from 1.
        let number: Int
        let attempt: Attempt
        /// Nil where the delivery has a row.
        let claim: EventClaim?

        /// What follows.
        var verdict: DeliveryVerdict { attempt.verdict }

        init(_ delivery: LeasedDelivery, _ attempt: Attempt) {
            (eventId, endpointId) = (delivery.due.eventId, delivery.endpoint.id)
            isOrdered = delivery.endpoint.isOrdered
            number = delivery.due.attempts + 1
            claim = delivery.claim
            self.attempt = attempt
        }

        /// As it is written down.
        var ended: DeliveryStore.Ended {
            DeliveryStore.Ended(
                eventId: eventId, endpointId: endpointId, result: verdict.result,
                attempt: .init(
                    number: number, beganAt: attempt.beganAt, duration: attempt.duration, answer: attempt.answer))
        }
    }

    /// Everything that was told since the loop last asked.
    struct Content: Sendable {
        var finished: [Finished] = []
        var isStopping = false
    }

    private struct State {
        var content = Content()
        var isRung = false
        var sleeper: CheckedContinuation<Void, Never>?
        /// When the alarm rings that was set last; nil when it has rung.
        var alarm: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    /// Adds an attempt that has ended, without waking the loop.
    func add(_ finished: Finished) {
        state.withLock { $0.content.finished.append(finished) }
    }

    /// Wakes the loop, or keeps it from falling asleep.
    func ring() {
        wakeSleeper { $0.isRung = true }
    }

    /// The process stops: finish what is in hand, begin nothing.
    func stop() {
        wakeSleeper { state in
            state.content.isStopping = true
            state.isRung = true
        }
    }

    /// Takes what was told; that the process stops is told again every time.
    func take() -> Content {
        state.withLock { state in
            defer {
                state.content.finished = []
                state.isRung = false
            }
            return state.content
        }
    }

    /// Sleeps until it is rung, at the latest at `instant`, or until cancellation; it may wake for nothing.
    func wait(until instant: ContinuousClock.Instant) async {
        setAlarm(instant)
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasNews = state.withLock { state in
                    if state.isRung || Task.isCancelled { return true }
                    state.sleeper = continuation
                    return false
                }
                if hasNews { continuation.resume() }
            }
        } onCancel: {
            wakeSleeper { _ in }
        }
    }

    /// Makes it ring at an instant; one that rings earlier will do, since the loop then asks again.
    private func setAlarm(_ instant: ContinuousClock.Instant) {
        let isNew = state.withLock { state in
            if let alarm = state.alarm, alarm <= instant { return false }
            state.alarm = instant
            return true
        }
        guard isNew else { return }
        // A sleep that is cancelled still costs its timer: this one is left to its end, which is seconds away.
        Task {
            try? await Task.sleep(until: instant, clock: .continuous)
            wakeSleeper { state in
                if state.alarm == instant { state.alarm = nil }
                state.isRung = true
            }
        }
    }

    private func wakeSleeper(_ change: (inout State) -> Void) {
        let sleeper = state.withLock { state in
            change(&state)
            defer { state.sleeper = nil }
            return state.sleeper
        }
        sleeper?.resume()
    }
}
