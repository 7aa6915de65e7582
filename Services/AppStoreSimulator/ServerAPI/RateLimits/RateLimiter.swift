import Foundation
import Synchronization

/// Counts each app's calls and says when there are too many (apple-facts C3), in real time.
///
/// Two limits hold at once. An hour has room for the rate times 3,600 calls: that is what Apple says it enforces. And a
/// bucket fills at the rate and holds some seconds of it, so that a burst is let through but not an hour's worth at once.
final class RateLimiter: Sendable {
    enum Limit {
        /// What the sandbox allows of production's rates.
        static let sandboxShare = 0.1
        /// Seconds of the rate that a bucket holds.
        static let burstSeconds = 10.0
        /// Calls that a bucket holds at least: the slowest rate is one call in ten seconds.
        static let leastBurst = 10.0
        /// Milliseconds of a budget's hour.
        static let hour: Int64 = 3_600_000
        /// Pairs of app and call that are counted; beyond that those that are idle are forgotten.
        static let budgets = 100_000
        /// The most that ``Setting/factor`` may be.
        static let factor = 1_000.0
    }

    /// What the control API sets.
    struct Setting: Codable, Sendable, Equatable {
        var enabled = true
        /// Multiplies Apple's rates.
        var factor = 1.0
    }

    private struct Key: Hashable {
        let environment: StoreEnvironment
        let bundleId: String
        let call: RateLimitedCall
    }

    private struct Budget {
        /// Calls that the bucket has room for.
        var tokens: Double
        /// When ``tokens`` was right: milliseconds.
        var countedAt: Int64
        var hourStart: Int64
        var usedInHour: Double = 0
    }

    private struct State {
        var setting = Setting()
        var budgets: [Key: Budget] = [:]
    }

    private let state = Mutex(State())
    private let clock: VirtualClock

    init(clock: VirtualClock) {
        self.clock = clock
    }

    /// What holds now; setting it begins every count anew.
    var setting: Setting {
        get { state.withLock(\.setting) }
        set { state.withLock { $0 = State(setting: newValue) } }
    }

    /// Counts a call.
    ///
    /// - Throws: 429 with the instant from which the next may be sent.
    func admit(_ call: RateLimitedCall, bundleId: String, environment: StoreEnvironment) throws(APIError) {
        let now = clock.realNow
        let key = Key(environment: environment, bundleId: bundleId, call: call)
        let retryAfter: Int64? = state.withLock { state in
            guard state.setting.enabled else { return nil }
            let rate = call.rate * state.setting.factor * (environment == .sandbox ? Limit.sandboxShare : 1)
            if state.budgets.count >= Limit.budgets, state.budgets[key] == nil {
                state.budgets = state.budgets.filter { now - $0.value.countedAt < Limit.hour }
            }
            let room = max(Limit.leastBurst, rate * Limit.burstSeconds)
            var budget = state.budgets[key] ?? Budget(tokens: room, countedAt: now, hourStart: now)
            defer { state.budgets[key] = budget }
            return Self.take(from: &budget, rate: rate, room: room, now: now)
        }
        if let retryAfter { throw .rateLimitExceeded(retryAfter: retryAfter) }
    }

    /// Takes one call; or says when there is room, in milliseconds since 1970.
    private static func take(from budget: inout Budget, rate: Double, room: Double, now: Int64) -> Int64? {
        let passed = Double(max(0, now - budget.countedAt)) / 1_000
        budget.tokens = min(room, budget.tokens + passed * rate)
        budget.countedAt = now
        if !(0..<Limit.hour).contains(now - budget.hourStart) {
            budget.hourStart = now
            budget.usedInHour = 0
        }
        guard budget.usedInHour + 1 <= rate * Double(Limit.hour) / 1_000 else { return budget.hourStart + Limit.hour }
        guard budget.tokens >= 1 else {
            return now + Int64(((1 - budget.tokens) / rate * 1_000).rounded(.up))
        }
        budget.tokens -= 1
        budget.usedInHour += 1
        return nil
    }
}
