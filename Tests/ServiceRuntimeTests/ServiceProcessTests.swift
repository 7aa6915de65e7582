import Configuration
import Foundation
import LogTesting
import Logging
import ServiceLifecycle
import Testing

@testable import ServiceRuntime

// One after the other: the signal of one test would reach the processes of the others.
@Suite("The life of a process", .serialized, .timeLimit(.minutes(1)))
struct ServiceProcessTests {
    private let log = CapturedLog()
    private let events = Occurrences<String>()
    private let ports = Occurrences<Int>()

    @Test("a graceful stop ends the parts in reverse order, and exits with 0")
    func gracefulStop() async throws {
        let order = Occurrences<String>()
        let code = try await run(
            stopAfter: {
                var running: Set<String> = []
                while running.count < 2 { running.insert(try await events.next()) }
            },
            assemble: { [events] _ in
                ServiceAssembly(services: [
                    ProbeService(description: "first", events: events, onStop: { order.happen("first") }),
                    ProbeService(description: "second", events: events, onStop: { order.happen("second") }),
                ])
            })
        #expect(code == .success)
        #expect(try await [order.next(), order.next()] == ["second", "first"])
        // The admin server may begin to listen before or after the stop begins: its line has no fixed place.
        let lines = log.texts(.info).filter { !$0.hasPrefix("admin server") }
        #expect(lines == ["starting version=1.0", "stopping", "stopped status=0"])
        #expect(log.texts(.critical).isEmpty)
    }

    @Test("a SIGTERM to the process is a graceful stop")
    func terminationSignal() async throws {
        let code = try await run(
            stopAfter: nil,
            assemble: { [events, ports] _ in
                ServiceAssembly(services: [
                    ProbeService(description: "part", events: events),
                    SignalSender(ready: ports),
                ])
            })
        #expect(code == .success)
    }

    @Test("while it stops it is alive but not ready, and the numbers can still be read")
    func readinessWhileStopping() async throws {
        let (stopping, goOn) = (Occurrences<Void>(), Occurrences<Void>())
        let seen = Occurrences<[Int]>()
        async let watcher: Void = {
            let port = try await ports.next()
            let before = try await ask(port, "/readyz").status
            events.happen("asked")
            try await stopping.next()
            let statuses = try await [ask(port, "/readyz").status, ask(port, "/livez").status]
            let page = try await ask(port, "/metrics").body
            #expect(page.contains("countersign_build_info{service=\"test\",version=\"1.0\"} 1\n"))
            #expect(page.contains("process_start_time_seconds 1"))
            seen.happen([before] + statuses)
            goOn.happen(())
        }()
        let code = try await run(
            stopAfter: { while try await events.next() != "asked" {} },
            assemble: { [events] context in
                context.health.register("part").set(ready: true)
                return ServiceAssembly(services: [
                    ProbeService(
                        description: "part", events: events,
                        onStop: {
                            stopping.happen(())
                            try? await goOn.next()
                        })
                ])
            })
        try await watcher
        #expect(code == .success)
        #expect(try await seen.next() == [200, 503, 200])
    }

    @Test("systemd is told that it is ready, and that it stops")
    func systemd() async throws {
        let socket = try NotifySocket(isAbstract: false)
        let told = Occurrences<String?>()
        let code = try await run(
            stopAfter: { told.happen(await socket.next()) },
            notifier: SystemdNotifier(environment: ["NOTIFY_SOCKET": socket.name]),
            assemble: { [events] _ in ServiceAssembly(services: [ProbeService(description: "part", events: events)]) })
        #expect(code == .success)
        #expect(try await told.next() == "READY=1\nSTATUS=ready")
        #expect(socket.receive() == "STOPPING=1\nSTATUS=stopping")
    }

    @Test(
        "a part that fails or ends by itself stops the others gracefully, and exits with 70", arguments: [true, false])
    func unexpectedEnd(throwing: Bool) async throws {
        let failure = Occurrences<Bool>()
        let stopped = Occurrences<String>()
        failure.happen(throwing)
        let code = try await run(
            stopAfter: nil,
            assemble: { [events] _ in
                ServiceAssembly(services: [
                    ProbeService(description: "healthy", events: events, onStop: { stopped.happen("healthy") }),
                    ProbeService(description: "failing", events: events, failure: failure),
                ])
            })
        #expect(code == .unexpected)
        #expect(try await stopped.next() == "healthy")
        let reason = throwing ? "failing failed: the probe failed" : "failing ended by itself"
        #expect(log.texts(.critical) == ["a part of the process ended unexpectedly error=\(reason)"])
    }

    @Test("a configuration mistake is one sentence and exit code 64; any other fault while assembling is 70")
    func assemblyFails() async throws {
        let mistake = await ServiceProcess.run(context()) { context in
            _ = try context.settings.requiredString("postgres.url")
            return ServiceAssembly(services: [])
        }
        #expect(mistake == .configuration)
        #expect(log.texts(.critical).count == 1)
        #expect(log.texts(.critical)[0].hasPrefix("COUNTERSIGN_POSTGRES_URL (postgres.url in"))
        #expect(await ServiceProcess.run(context(["admin.port": "x"])) { _ in .init(services: []) } == .configuration)
        #expect(
            await ServiceProcess.run(context(["shutdown.timeout": "x"])) { _ in .init(services: []) } == .configuration)
        #expect(await ServiceProcess.run(context()) { _ in throw ProbeFailure() } == .unexpected)
        #expect(await ServiceProcess.run(context(["instance": "81"])) { _ in .init(services: []) } == .configuration)
        let file = await ServiceProcess.run(context()) { _ in throw SettingsFileError(path: "a.yaml", problem: "bad") }
        #expect(file == .configuration)
    }

    @Test("a stop that takes too long reaches its deadline")
    func deadline() async throws {
        let expired = Occurrences<Void>()
        let code = try await run(
            ["shutdown.timeout": "0.05"],
            stopAfter: { while try await events.next() != "stuck runs" {} },
            onDeadline: { expired.happen(()) },
            assemble: { [events] _ in
                ServiceAssembly(services: [
                    ProbeService(description: "stuck", events: events, onStop: { try? await expired.next() })
                ])
            })
        #expect(code == .success)
        #expect(log.texts(.critical) == ["graceful shutdown took too long, the process ends now duration=0.05 seconds"])
    }

    @Test("a stop that ends in time does not reach its deadline")
    func deadlineNotReached() async throws {
        let ended = ShutdownDeadline(timeout: .milliseconds(20)) { Issue.record("the deadline expired") }
        ended.start()
        ended.start()
        ended.finish()
        let other = Occurrences<Void>()
        let expired = ShutdownDeadline(timeout: .milliseconds(60)) { other.happen(()) }
        expired.start()
        try await other.next()
    }

    private func context(_ values: [String: String] = [:]) -> ServiceContext {
        ServiceContext(
            identity: ServiceIdentity(name: "test", version: "1.0", adminPort: 0),
            configuration: SettingReader(values).configuration, logger: log.logger())
    }

    /// Runs a process inside another group, whose graceful shutdown it inherits as it would a signal's.
    private func run(
        _ values: [String: String] = [:], stopAfter: (@Sendable () async throws -> Void)?,
        notifier: SystemdNotifier? = nil, onDeadline: @escaping @Sendable () -> Void = {},
        assemble: @escaping @Sendable (ServiceContext) async throws -> ServiceAssembly
    ) async throws -> ServiceProcess.ExitCode {
        let codes = Occurrences<ServiceProcess.ExitCode>()
        let process = ProcessService(
            context: context(values), notifier: notifier, ports: ports, codes: codes, onDeadline: onDeadline,
            assemble: assemble)
        let outer = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: process, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: CapturedLog().logger()))
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await outer.run() }
            if let stopAfter {
                try await stopAfter()
                await outer.triggerGracefulShutdown()
            }
            try await tasks.waitForAll()
            return try await codes.next()
        }
    }
}

private struct ProcessService: Service {
    let context: ServiceContext
    let notifier: SystemdNotifier?
    let ports: Occurrences<Int>
    let codes: Occurrences<ServiceProcess.ExitCode>
    let onDeadline: @Sendable () -> Void
    let assemble: @Sendable (ServiceContext) async throws -> ServiceAssembly

    func run() async throws {
        codes.happen(
            await ServiceProcess.run(
                context, notifier: notifier, onAdminListening: { ports.happen($0) }, onDeadline: onDeadline,
                assemble: assemble))
    }
}

/// Sends SIGTERM to this very process as soon as the process under test listens.
private struct SignalSender: Service {
    let ready: Occurrences<Int>

    func run() async throws {
        _ = try await ready.next()
        kill(getpid(), SIGTERM)
        try await gracefulShutdown()
    }
}
