import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// Keeps systemd informed: readiness and its reason from the health registry, and that the process lives.
///
/// `READY=1` is sent once, when every check holds for the first time. Later `STATUS=` says whether the process is ready,
/// and what it lacks. The watchdog is about life only: a process whose database is away is not ready, and a restart would
/// not help it. It is one of the first parts, so that it stops among the last and a slow stop is no missing sign of life.
struct SystemdReporter: Service, CustomStringConvertible {
    /// The most checks that a status names.
    static let checksMaximum = 4

    let notifier: SystemdNotifier
    let health: HealthRegistry
    let logger: Logger
    /// The time between looks until the process is ready: who waits for the start waits so much longer at most.
    var startingInterval = Duration.milliseconds(250)
    /// The time between looks afterwards; each asks every probe.
    var readyInterval = Duration.seconds(5)
    /// Returns when the process has shown that it lives; what does not return sends no sign of life.
    var proveLife: @Sendable () async throws -> Void = { try await Self.passThroughEventLoops() }

    var description: String { "systemd reporter" }

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await reportReadiness() }
            if let interval = notifier.watchdogInterval {
                group.addTask { await feedWatchdog(every: interval / 2) }
            }
            try? await gracefulShutdown()
            group.cancelAll()
        }
    }

    /// The sentence for `systemctl status`.
    static func status(_ report: HealthReport) -> String {
        guard !report.isReady else { return "ready" }
        let missing = report.checks.filter { !$0.ready }
        let reasons = missing.prefix(checksMaximum).map { $0.detail.isEmpty ? $0.name : "\($0.name): \($0.detail)" }
        let more = missing.count > checksMaximum ? ["and \(missing.count - checksMaximum) more"] : []
        return "not ready: " + (reasons + more).joined(separator: "; ")
    }

    private func reportReadiness() async {
        var (isAnnounced, statusSent) = (false, "")
        while !Task.isCancelled {
            let report = await health.report()
            let status = Self.status(report)
            var messages: [SystemdNotifier.Message] = report.isReady && !isAnnounced ? [.ready] : []
            if status != statusSent { messages.append(.status(status)) }
            // What systemd's full queue did not take is sent at the next look.
            if !messages.isEmpty, notifier.send(messages) {
                statusSent = status
                if report.isReady, !isAnnounced {
                    isAnnounced = true
                    logger.info("ready")
                }
            }
            try? await Task.sleep(for: isAnnounced ? readyInterval : startingInterval)
        }
    }

    private func feedWatchdog(every interval: Duration) async {
        while !Task.isCancelled {
            if (try? await proveLife()) != nil { notifier.send([.watchdog]) }
            try? await Task.sleep(for: interval)
        }
    }

    /// Takes a turn on every thread that serves HTTP, one after the other.
    ///
    /// The cooperative pool has given a turn already, or this would not run.
    private static func passThroughEventLoops() async throws {
        for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { try await loop.submit {}.get() }
    }
}
