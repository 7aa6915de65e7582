import Logging
import ServiceRuntime
import Synchronization

/// Divides Apple's limits among the workers: each has the share of the partitions that the group gave it.
enum RateShare {
    /// How often our partitions are counted; it costs nothing.
    static let interval = Duration.seconds(2)
    /// Every how many counts the topic's partitions are counted: somebody may add some.
    static let countsBetweenLooks = 30

    /// What counts until graceful shutdown.
    ///
    /// - Parameters:
    ///   - total: how many partitions there are; nil when nobody knows.
    ///   - assigned: how many of them are ours.
    static func task(
        pace: AppStorePace, total: @escaping @Sendable () async throws -> Int?,
        assigned: @escaping @Sendable () -> Int, logger: Logger
    ) -> PeriodicTask {
        let known = KnownTotal()
        return PeriodicTask("rate-share", schedule: .init(every: interval), logger: logger) {
            if known.isDue, let count = try await total(), count > 0 { known.set(count) }
            if let count = known.count { pace.setShare(share(of: assigned(), in: count)) }
        }
    }

    /// Our part of a limit: of one partition at least.
    ///
    /// Partitions may come right after a count, and a share of nothing would refuse all of their lookups until the next.
    /// Whoever has no partition asks nothing, and takes nothing from the others.
    static func share(of assigned: Int, in total: Int) -> Double {
        guard total > 0 else { return 1 }
        return min(1, Double(max(1, assigned)) / Double(total))
    }

    /// The partitions of the topic as they were last counted.
    private final class KnownTotal: Sendable {
        private let state = Mutex((count: Int?.none, age: 0))

        var count: Int? { state.withLock { $0.count } }

        /// Whether it is time to count again.
        var isDue: Bool {
            state.withLock { state in
                state.age += 1
                return state.count == nil || state.age >= RateShare.countsBetweenLooks
            }
        }

        func set(_ count: Int) {
            state.withLock { $0 = (count, 0) }
        }
    }
}
