import LogTesting
import Logging
import ServiceLifecycle
import Testing

@testable import ServiceRuntime

@Suite("Periodic tasks", .timeLimit(.minutes(1)))
struct PeriodicTaskTests {
    private let metrics = SharedMetrics.registry
    private let log = CapturedLog()

    @Test("it runs at once and then at its interval")
    func interval() async throws {
        let runs = Occurrences<Void>()
        let task = PeriodicTask("test-interval", schedule: .init(every: .milliseconds(5)), logger: log.logger()) {
            runs.happen(())
        }
        try await whileRunning(task) {
            for _ in 0..<4 { try await runs.next() }
        }
        #expect(metrics.render().contains(#"periodic_task_duration_seconds_count{task="test-interval"} "#))
    }

    @Test("it can be woken out of a long sleep, and once for many calls")
    func wake() async throws {
        let runs = Occurrences<Void>()
        let task = PeriodicTask("test-wake", schedule: .init(every: .seconds(3600)), logger: log.logger()) {
            runs.happen(())
        }
        try await whileRunning(task) {
            try await runs.next()
            for _ in 0..<3 {
                task.wake()
                try await runs.next()
            }
        }
    }

    @Test("a call while it works lets it run once more, directly")
    func wakeWhileWorking() async throws {
        let (runs, goOn) = (Occurrences<Void>(), Occurrences<Void>())
        let task = PeriodicTask("test-busy", schedule: .init(every: .seconds(3600)), logger: log.logger()) {
            runs.happen(())
            try await goOn.next()
        }
        try await whileRunning(task) {
            try await runs.next()
            for _ in 0..<5 { task.wake() }
            goOn.happen(())
            try await runs.next()
            goOn.happen(())
        }
        #expect(metrics.render().contains(#"periodic_task_runs_total{outcome="success",task="test-busy"} 2"#))
    }

    @Test("a failure is logged and counted, and does not end it")
    func failure() async throws {
        let runs = Occurrences<Void>()
        let schedule = PeriodicTask.Schedule(every: .milliseconds(1), failureDelayMaximum: .milliseconds(2))
        let task = PeriodicTask("test-failure", schedule: schedule, logger: log.logger()) {
            runs.happen(())
            throw ProbeFailure()
        }
        try await whileRunning(task) {
            for _ in 0..<3 { try await runs.next() }
        }
        #expect(log.texts(.warning).count >= 3)
        #expect(log.texts(.warning)[0] == "periodic task failed component=test-failure error=the probe failed")
        #expect(!metrics.render().contains(#"periodic_task_runs_total{outcome="failure",task="test-failure"} 0"#))
    }

    @Test("failures wait twice as long each time, up to the maximum, and by chance a little more or less")
    func backOff() {
        let schedule = PeriodicTask.Schedule(
            every: .seconds(10), jitter: 0.5, failureDelayMinimum: .seconds(1), failureDelayMaximum: .seconds(5))
        #expect(schedule.delay(failures: 0, chance: 0) == .seconds(10))
        #expect(
            [1, 2, 3, 4, 1000].map { schedule.delay(failures: $0, chance: 0) } == [1, 2, 4, 5, 5].map { .seconds($0) })
        #expect(schedule.delay(failures: 0, chance: -1) == .seconds(5))
        #expect(schedule.delay(failures: 0, chance: 1) == .seconds(15))
        #expect(PeriodicTask.Schedule(every: .seconds(600)).failureDelayMaximum == .seconds(600))
    }

    @Test("a graceful stop lets the run under way finish, uncancelled, and begins no other")
    func gracefulStop() async throws {
        let (runs, goOn, ends) = (Occurrences<Void>(), Occurrences<Void>(), Occurrences<Bool>())
        let task = PeriodicTask("test-stop", schedule: .init(every: .milliseconds(1)), logger: log.logger()) {
            runs.happen(())
            try await goOn.next()
            ends.happen(Task.isCancelled)
        }
        try await whileRunning(task, stopping: { goOn.happen(()) }) { try await runs.next() }
        #expect(try await ends.next() == false)
        #expect(metrics.render().contains(#"periodic_task_runs_total{outcome="success",task="test-stop"} 1"#))
    }

    @Test("cancellation ends the run under way and the task, and is no failure")
    func cancellation() async throws {
        let (runs, never) = (Occurrences<Void>(), Occurrences<Void>())
        let task = PeriodicTask("test-cancel", schedule: .init(every: .seconds(3600)), logger: log.logger()) {
            runs.happen(())
            try await never.next()
        }
        let running = Task { try await task.run() }
        try await runs.next()
        running.cancel()
        try await running.value
        #expect(log.texts(.warning).isEmpty)
    }

    /// Runs a task, and stops it gracefully after `body`; `stopping` is called when the stop has begun.
    private func whileRunning(
        _ task: PeriodicTask, stopping: @Sendable () -> Void = {}, _ body: @Sendable () async throws -> Void
    ) async throws {
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(services: [task], logger: CapturedLog().logger()))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            do { try await body() } catch {
                tasks.cancelAll()
                throw error
            }
            await group.triggerGracefulShutdown()
            stopping()
            try await tasks.waitForAll()
        }
    }
}
