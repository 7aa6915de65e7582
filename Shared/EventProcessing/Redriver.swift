package import Logging
import Metrics
import ServiceLifecycle
import ServiceRuntime

/// Sends again what is due: the one rule by which nothing that was accepted is forgotten.
///
/// Any number of processes may run one for the same table, since each claims its rows.
package struct Redriver: Service {
    private let task: PeriodicTask

    /// Makes a redriver; it starts with `run()`.
    ///
    /// - Parameters:
    ///   - name: of what is redriven, in logs and metrics: `submissions`, `parked-orders`.
    ///   - interval: the pause after a look that found less than a full batch.
    ///   - batchMaximum: the most rows taken at once.
    ///   - body: claims up to so many due rows, sends them, and returns how many there were.
    package init(
        name: String, interval: Duration, batchMaximum: Int, logger: Logger,
        body: @escaping @Sendable (_ limit: Int) async throws -> Int
    ) {
        let redriven = Counter(label: "countersign_redriven_total", dimensions: [("what", name)])
        task = PeriodicTask("redrive-\(name)", schedule: PeriodicTask.Schedule(every: interval), logger: logger) {
            var count = batchMaximum
            while count >= batchMaximum, !Task.isCancelled, !Task.isShuttingDownGracefully {
                count = try await body(batchMaximum)
                if count > 0 {
                    redriven.increment(by: count)
                    logger.info("sent again what was due", metadata: ["what": "\(name)", "count": "\(count)"])
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
