/// How many requests of the last while failed.
///
/// Time is cut into slots, and a slot leaves as a whole: so memory does not depend on the number of requests, and the
/// window is at most one slot shorter than it is said to be.
struct FailureWindow: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Limit {
        /// Slots of the window.
        static let slots = 20
        /// A shorter window could not be cut.
        static let lengthMinimum = Duration.milliseconds(1)
    }

    private struct Slot: Sendable {
        /// Which slot since the beginning this is.
        var number: Int64 = -1
        var samples = 0
        var failures = 0
    }

    private let origin: Instant
    private let slotLength: Duration
    private var slots = [Slot](repeating: Slot(), count: Limit.slots)

    init(length: Duration, now: Instant) {
        origin = now
        slotLength = max(length, Limit.lengthMinimum) / Limit.slots
    }

    /// Counts one request that ended now.
    mutating func add(isFailure: Bool, now: Instant) {
        let number = number(of: now)
        let index = Int(number % Int64(Limit.slots))
        if slots[index].number != number { slots[index] = Slot(number: number) }
        slots[index].samples += 1
        if isFailure { slots[index].failures += 1 }
    }

    /// The requests in the window, and those of them that failed.
    func counts(_ now: Instant) -> (samples: Int, failures: Int) {
        let oldest = number(of: now) - Int64(Limit.slots) + 1
        return slots.reduce(into: (samples: 0, failures: 0)) { counts, slot in
            guard slot.number >= max(0, oldest) else { return }
            counts.samples += slot.samples
            counts.failures += slot.failures
        }
    }

    /// Forgets everything.
    mutating func clear() {
        slots = [Slot](repeating: Slot(), count: Limit.slots)
    }

    private func number(of now: Instant) -> Int64 {
        Int64(max(0, origin.duration(to: now) / slotLength))
    }
}
