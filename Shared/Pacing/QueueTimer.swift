/// One timer for a whole queue: it sleeps until the first thing that will happen, and lives only while somebody waits.
///
/// A value to be kept with the queue, under the same lock, so that the queue and its timer never disagree.
struct QueueTimer: Sendable {
    private struct Alarm {
        let id: UInt64
        let instant: ContinuousClock.Instant
        let task: Task<Void, Never>
    }

    private var alarm: Alarm?
    private var lastID: UInt64 = 0

    /// Whether a task sleeps for the queue.
    var isSet: Bool {
        alarm != nil
    }

    /// Sees to it that `wake` is called at `instant`, or earlier; nil when nobody waits.
    ///
    /// An alarm that is due earlier stays: whoever wakes up too early sets the next one.
    ///
    /// - Parameter wake: gets the number to show to ``takeAlarm(_:)``.
    /// - Returns: a task that is not needed any more, to be cancelled outside the lock.
    mutating func set(
        for instant: ContinuousClock.Instant?, _ time: TimeSource, wake: @escaping @Sendable (UInt64) -> Void
    ) -> Task<Void, Never>? {
        let former = alarm
        guard let instant else {
            alarm = nil
            return former?.task
        }
        if let former, former.instant <= instant { return nil }
        lastID += 1
        let id = lastID
        // Not of the priority of who happened to come first: it works for everybody.
        let task = Task(priority: .high) {
            do { try await time.sleep(instant) } catch { return }
            wake(id)
        }
        alarm = Alarm(id: id, instant: instant, task: task)
        return former?.task
    }

    /// Ends the alarm that rang.
    ///
    /// - Returns: false when it was replaced or called off meanwhile.
    mutating func takeAlarm(_ id: UInt64) -> Bool {
        guard alarm?.id == id else { return false }
        alarm = nil
        return true
    }
}
