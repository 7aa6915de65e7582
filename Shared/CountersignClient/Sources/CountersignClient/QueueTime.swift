/// How time passes for the queue: seconds from now, and no clock, so that a clock that is set back changes nothing.
package protocol QueueTime: Sendable {
    /// Waits for some seconds.
    ///
    /// - Throws: `CancellationError`.
    func sleep(seconds: Double) async throws
}

/// The platform's time.
struct SystemTime: QueueTime {
    func sleep(seconds: Double) async throws {
        try await Task.sleep(nanoseconds: UInt64(max(seconds, 0) * 1_000_000_000))
    }
}

/// How long the queue waits: doubling, with chance, so that devices do not come all at once.
struct BackOff: Sendable {
    let limits: QueueLimits

    /// Seconds for a wait; `chance` is from 0 to 1.
    func seconds(_ wait: QueueWait, chance: Double) -> Double {
        switch wait {
        case .backOff(let number, let least):
            let whole = Self.doubled(limits.pauseMinimum, number, limits.pauseMaximum)
            // Between half of it and all of it; what the server demands is kept in full.
            return max(whole * (0.5 + chance / 2), least + chance * limits.pauseMinimum)
        case .hold(let number):
            return Self.doubled(limits.holdMinimum, number, limits.holdMaximum) * (0.5 + chance / 2)
        }
    }

    private static func doubled(_ minimum: Double, _ number: Int, _ maximum: Double) -> Double {
        var value = minimum
        for _ in 1..<max(number, 1) where value < maximum { value *= 2 }
        return min(value, maximum)
    }
}
