import Foundation
import Logging
import Metrics
import Persistence
import PurchaseModel
import ServiceLifecycle
import ServiceRuntime

/// The use case: asks Apple for what nobody told us of, a page at a time, by tasks that all workers share.
struct Sweeper: Sendable {
    /// Pages that one worker reads of a task before others get their turn.
    static let pagesMaximum = 200
    /// The longest that a round is put off which failed again and again.
    static let delayMaximum = Duration.seconds(3_600)
    /// The least time between two rounds of a task that begins anew.
    static let pauseMinimum = Duration.seconds(1)

    let tasks: SweepTaskStore
    let requests: SweepRequestStore
    let settings: SweepSettings
    let apps: ServedApps
    let notifications: SweepNotifications
    let customers: SweepCustomers
    let logger: Logger
    /// Whether this worker may ask Apple: one without partitions has no share of the budget.
    var mayAsk: @Sendable () -> Bool = { true }
    var now: @Sendable () -> Date = { Date() }

    /// Looks again and again until graceful shutdown.
    func task() -> PeriodicTask {
        PeriodicTask("sweep", schedule: .init(every: settings.interval), logger: logger) {
            while !Task.isShuttingDownGracefully, !Task.isCancelled {
                guard try await look() > 0 else { break }
            }
        }
    }

    /// The apps that Apple can be asked about.
    var served: [SweepTaskStore.App] {
        apps.all.filter { $0.serverAPI != nil }.flatMap { app -> [SweepTaskStore.App] in
            // Production does not know the key of an app that was never released.
            let production =
                app.isReleased ? [SweepTaskStore.App(bundleId: app.bundleId, environment: .production)] : []
            let sandbox =
                app.sandbox == .refuse ? [] : [SweepTaskStore.App(bundleId: app.bundleId, environment: .sandbox)]
            return production + sandbox
        }.sorted { ($0.bundleId, $0.environment.rawValue) < ($1.bundleId, $1.environment.rawValue) }
    }

    /// Takes what is due, and goes on with it.
    ///
    /// - Returns: how many tasks there were.
    /// - Throws: `PostgresError`; what was taken is due again when its lease ends.
    @discardableResult
    func look() async throws -> Int {
        guard mayAsk() else { return 0 }
        try await tasks.prepare(
            served, kinds: [.notifications, .failures].filter { settings.intervals[$0] != nil })
        while try await requests.takeUp() > 0 {}
        let claimed = try await tasks.claim(limit: settings.inFlightMaximum, lease: settings.lease)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in claimed { group.addTask { try await work(on: task) } }
            try await group.waitForAll()
        }
        return claimed.count
    }

    private func work(on task: SweepTask) async throws {
        switch task.kind {
        case .plan: try await plan(task)
        case .walk: try await walk(task)
        default: try await ask(task)
        }
    }

    // MARK: - What is to be asked

    private func plan(_ task: SweepTask) async throws {
        try await requests.removeOld()
        let until = now()
        let since = task.coveredUntil ?? until.addingTimeInterval(-settings.planInterval.inSeconds)
        let planned =
            since < until
            ? try await tasks.plan(since..<until, intentDelay: settings.intentDelay, apps: served) : 0
        _ = try await tasks.finish(
            task, SweepTaskStore.Progress(found: planned), coveredUntil: until, next: settings.planInterval)
    }

    private func walk(_ task: SweepTask) async throws {
        let intervals = settings.intervals.filter { $0.key.isOfCustomer }
        guard let next = try await tasks.walk(after: task.page, apps: served, intervals: intervals, run: task.run)
        else {
            _ = try await tasks.finish(task, SweepTaskStore.Progress(), next: settings.planInterval)
            return
        }
        guard try await tasks.keep(SweepTaskStore.Progress(page: next), of: task, lease: settings.lease) else { return }
        // Others have their turn between two looks.
        try await tasks.putOff(task, by: task.run == nil ? settings.interval : .zero, reason: nil)
    }

    // MARK: - Asking

    private func ask(_ task: SweepTask) async throws {
        guard let app = apps[task.app] else {
            return try await tasks.putOff(
                task, by: .seconds(RetryTime.notConfigured), reason: ReasonCode.appUnknown.rawValue)
        }
        var task = task
        var progress = SweepTaskStore.Progress(window: task.window, page: task.page, revision: task.revision)
        for _ in 1...Self.pagesMaximum {
            if Task.isShuttingDownGracefully || Task.isCancelled { break }
            switch try await page(of: task, progress, app) {
            case .page(let next):
                progress = next
                // Another page has its own tries.
                (task.failures, task.mismatches) = (0, 0)
                guard try await tasks.keep(next, of: task, lease: settings.lease) else { return count(task, "lost") }
            case .end(let last):
                let isOurs = try await tasks.finish(
                    task, last, coveredUntil: last.window?.upperBound, next: next(after: task))
                return count(task, isOurs ? "done" : "lost")
            case .putOff(let seconds, let reason, let startsAnew, let isMismatch):
                try await tasks.putOff(
                    task, by: delay(seconds, task, startsAnew: startsAnew), reason: reason, startsAnew: startsAnew,
                    isMismatch: isMismatch)
                return count(task, "put_off")
            }
        }
        try await tasks.putOff(task, by: .zero, reason: nil)
        count(task, "interrupted")
    }

    private func page(
        of task: SweepTask, _ progress: SweepTaskStore.Progress, _ app: AppsFile.App
    ) async throws -> SweepStep {
        task.kind.isOfCustomer
            ? try await customers.page(of: task, progress, app) : try await notifications.page(of: task, progress, app)
    }

    /// When the next round begins; nil for never.
    private func next(after task: SweepTask) -> Duration? {
        guard !task.isOnce, let interval = settings.intervals[task.kind] else { return nil }
        // So that what was asked for at one moment does not come back at one.
        return interval * Double.random(in: 0.9...1.1)
    }

    /// At least as long as Apple, or the breaker, says; doubled while it fails.
    private func delay(_ seconds: Double, _ task: SweepTask, startsAnew: Bool) -> Duration {
        let said = max(Duration.seconds(seconds), startsAnew ? Self.pauseMinimum : .zero)
        let grown = Self.pauseMinimum * Double(1 << min(task.failures, 12))
        return max(said, min(grown, Self.delayMaximum)) * Double.random(in: 1...1.2)
    }

    private func count(_ task: SweepTask, _ outcome: String) {
        Counter(
            label: "countersign_sweep_rounds_total", dimensions: [("kind", task.kind.rawValue), ("outcome", outcome)]
        ).increment()
    }
}
