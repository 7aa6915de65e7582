/// What this library knows of time; tests bring their own.
struct TimeSource: Sendable {
    /// The time now.
    let now: @Sendable () -> ContinuousClock.Instant
    /// Returns at an instant, or throws when the task is cancelled.
    let sleep: @Sendable (_ until: ContinuousClock.Instant) async throws -> Void

    /// The machine's clock, which nobody sets back.
    static let continuous = TimeSource(
        now: { ContinuousClock.now },
        sleep: { try await Task.sleep(until: $0, clock: .continuous) })
}

extension Duration {
    /// The seconds, with their fraction.
    var inSeconds: Double {
        self / .seconds(1)
    }

    /// This duration, or the nearest one between zero and `maximum`.
    func bounded(by maximum: Duration) -> Duration {
        min(max(self, .zero), maximum)
    }
}
