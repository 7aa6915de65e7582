package import Logging
import Metrics
import ServiceLifecycle
import Synchronization

/// Runs a piece of work again and again: redrivers, sweeps, refreshes.
///
/// One run at a time. After each it sleeps for the interval, a little more or less by chance so that processes do not
/// move in step, and until ``wake()`` at the latest. A run that throws is logged, counted and followed by a wait that
/// doubles up to a maximum; ``wake()`` cuts that short as well. On graceful shutdown a run under way is finished, and
/// no other begins. Metrics, with label `task`: `periodic_task_runs_total` (label `outcome`: `success`, `failure`) and
/// `periodic_task_duration_seconds`.
package final class PeriodicTask: Service, CustomStringConvertible {
    /// When a task runs.
    package struct Schedule: Sendable, Hashable {
        /// The time between the end of a run and the beginning of the next.
        package var interval: Duration
        /// By which part of itself the interval may be shorter or longer.
        ///
        /// Default: 0.1.
        package var jitter: Double
        /// The wait after the first failure; it doubles with each further one.
        ///
        /// Default: the interval.
        package var failureDelayMinimum: Duration
        /// The longest wait after a failure.
        ///
        /// Default: a minute, or the interval when that is longer.
        package var failureDelayMaximum: Duration

        /// Makes a schedule.
        ///
        /// - Parameters:
        ///   - interval: The time between runs.
        ///   - jitter: By which part of itself it may differ, from 0 to 1. Default: 0.1.
        ///   - failureDelayMinimum: The wait after the first failure. Default: the interval.
        ///   - failureDelayMaximum: The longest wait after a failure. Default: a minute, or the interval when longer.
        package init(
            every interval: Duration, jitter: Double = 0.1, failureDelayMinimum: Duration? = nil,
            failureDelayMaximum: Duration? = nil
        ) {
            self.interval = interval
            self.jitter = min(max(jitter, 0), 1)
            self.failureDelayMinimum = failureDelayMinimum ?? interval
            self.failureDelayMaximum = failureDelayMaximum ?? max(.seconds(60), interval)
        }

        /// The wait before the next run.
        ///
        /// - Parameters:
        ///   - failures: Failures in a row so far.
        ///   - chance: From -1 to 1.
        func delay(failures: Int, chance: Double) -> Duration {
            // Sixteen doublings reach any maximum that makes sense, and cannot overflow.
            let base =
                failures == 0
                ? interval : min(failureDelayMinimum * (1 << min(failures - 1, 16)), failureDelayMaximum)
            return base * (1 + jitter * chance)
        }
    }

    /// The name in logs and metrics.
    package let name: String
    private let schedule: Schedule
    private let logger: Logger
    private let body: @Sendable () async throws -> Void
    private let signal = WakeSignal()
    private let isStopping = Mutex(false)
    private let successes: Counter
    private let failures: Counter
    private let timer: Metrics.Timer

    /// Makes a task; it begins with ``run()``.
    ///
    /// - Parameters:
    ///   - name: The name in logs and metrics: lower case with hyphens.
    ///   - schedule: When it runs. The first run is at once.
    ///   - logger: Gets failures at level warning.
    ///   - body: The work. To go on without a pause, call ``wake()`` in it.
    package init(
        _ name: String, schedule: Schedule, logger: Logger, body: @escaping @Sendable () async throws -> Void
    ) {
        self.name = name
        self.schedule = schedule
        self.logger = logger.with(.component, "\(name)")
        self.body = body
        successes = Counter(label: "periodic_task_runs", dimensions: [("task", name), ("outcome", "success")])
        failures = Counter(label: "periodic_task_runs", dimensions: [("task", name), ("outcome", "failure")])
        timer = Metrics.Timer(label: "periodic_task_duration", dimensions: [("task", name)])
    }

    /// The name.
    package var description: String { name }

    /// Lets the next run begin at once, or directly after the one under way; calls do not add up.
    package func wake() {
        signal.ring()
    }

    /// Runs until graceful shutdown or cancellation.
    package func run() async throws {
        await withGracefulShutdownHandler {
            var failuresInARow = 0
            while !isStopping.withLock({ $0 }), !Task.isCancelled {
                failuresInARow = await runOnce() ? 0 : failuresInARow + 1
                guard !isStopping.withLock({ $0 }) else { break }
                let delay = schedule.delay(failures: failuresInARow, chance: Double.random(in: -1...1))
                await signal.wait(atMost: delay, clock: ContinuousClock())
            }
        } onGracefulShutdown: {
            self.stop()
        }
    }

    /// Lets no other run begin, for good; ``run()`` returns when the one under way has ended.
    package func stop() {
        isStopping.withLock { $0 = true }
        signal.ring()
    }

    /// Runs the work once, and says whether it went well.
    private func runOnce() async -> Bool {
        let start = ContinuousClock.now
        defer { timer.recordNanoseconds((ContinuousClock.now - start).nanoseconds) }
        do {
            try await body()
            successes.increment()
            return true
        } catch is CancellationError where Task.isCancelled {
            return true
        } catch {
            failures.increment()
            logger.warning("periodic task failed", metadata: .fields([.error: "\(error)"]))
            return false
        }
    }
}

extension Duration {
    /// The whole nanoseconds.
    fileprivate var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
