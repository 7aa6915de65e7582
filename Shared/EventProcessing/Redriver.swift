package import Logging
import Metrics
import ServiceLifecycle
import ServiceRuntime

/// Sends again what is due: the one rule by which nothing that was accepted is forgotten.
///
/// Any number of processes may run one for the same table, since each claims its rows.
package struct Redriver: Service {
    private let task: PeriodicTask

    /// What one look came to.
    package struct Round: Sendable {
        /// How many were due and are sent.
        package let count: Int
        /// Whether more is due, which then follows at once: bytes may have ended the batch, and not rows.
        package let isMoreDue: Bool

        package init(count: Int, isMoreDue: Bool) {
            self.count = count
            self.isMoreDue = isMoreDue
        }

        /// A look that was to find `limit` rows at most, where nothing else ends a batch.
        package init(count: Int, limit: Int) {
            self.init(count: count, isMoreDue: count >= limit)
        }
    }

    /// Makes a redriver; it starts with `run()`.
    ///
    /// - Parameters:
    ///   - name: of what is redriven, in logs and metrics: `submissions`, `parked-orders`.
    ///   - interval: the pause after a look that left nothing due.
    ///   - batchMaximum: the most rows taken at once.
    ///   - body: claims up to so many due rows, sends them, and says how many there were.
    package init(
        name: String, interval: Duration, batchMaximum: Int, logger: Logger,
        body: @escaping @Sendable (_ limit: Int) async throws -> Round
    ) {
        let redriven = Counter(label: "countersign_redriven_total", dimensions: [("what", name)])
        task = PeriodicTask("redrive-\(name)", schedule: PeriodicTask.Schedule(every: interval), logger: logger) {
            var isMoreDue = true
            while isMoreDue, !Task.isCancelled, !Task.isShuttingDownGracefully {
                let round = try await body(batchMaximum)
                isMoreDue = round.isMoreDue && round.count > 0
                if round.count > 0 {
                    redriven.increment(by: round.count)
                    logger.info("sent again what was due", metadata: ["what": "\(name)", "count": "\(round.count)"])
                }
            }
        }
    }

    /// Looks at intervals until graceful shutdown.
    package func run() async throws {
        try await task.run()
    }

    /// Looks at once.
    package func wake() {
        task.wake()
    }
}
