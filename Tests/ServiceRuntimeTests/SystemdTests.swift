import BuildVersion
import Foundation
import LogTesting
import Logging
import ServiceLifecycle
import Testing

@testable import ServiceRuntime

@Suite("What systemd is told", .timeLimit(.minutes(1)))
struct SystemdTests {
    private let log = CapturedLog()

    @Test("a message reaches a socket by its path and by its abstract name", arguments: [false, true])
    func addresses(isAbstract: Bool) throws {
        let socket = try NotifySocket(isAbstract: isAbstract)
        let notifier = try #require(SystemdNotifier(environment: ["NOTIFY_SOCKET": socket.name]))
        #expect(notifier.send([.ready, .status("two\nlines\u{1}")]) && notifier.send([.watchdog]))
        #expect(socket.receive() == "READY=1\nSTATUS=two lines ")
        #expect(socket.receive() == "WATCHDOG=1")
        #expect(socket.receive() == nil)
    }

    @Test("a status is cut, whatever letters it has")
    func longStatus() throws {
        let socket = try NotifySocket(isAbstract: true)
        let notifier = try #require(SystemdNotifier(environment: ["NOTIFY_SOCKET": socket.name]))
        notifier.send([.status(String(repeating: "ü", count: 4000))])
        let text = try #require(socket.receive())
        #expect(text.hasPrefix("STATUS=üü") && text.hasSuffix("…"))
        #expect(text.utf8.count < SystemdNotifier.statusBytesMaximum + 20)
    }

    @Test("without a socket that this machine has there is nobody to tell, and one that is gone is no fault")
    func noSocket() {
        let long = "/" + String(repeating: "x", count: 108)
        for name in [nil, "", "@", "/", "vsock:2:1", "relative", long] {
            #expect(SystemdNotifier(environment: name.map { ["NOTIFY_SOCKET": $0] } ?? [:]) == nil)
        }
        let gone = SystemdNotifier(environment: ["NOTIFY_SOCKET": "/nonexistent/countersign-notify"])
        #expect(gone?.send([.ready]) == false)
    }

    @Test("a socket that nobody reads takes what it can, and a send never waits")
    func fullSocket() throws {
        let socket = try NotifySocket(isAbstract: true)
        let notifier = try #require(SystemdNotifier(environment: ["NOTIFY_SOCKET": socket.name]))
        let taken = (0..<5000).prefix { _ in notifier.send([.status("a status")]) }.count
        #expect(taken > 0 && taken < 5000)
    }

    @Test("the watchdog is for this process only, and only when its interval makes sense")
    func watchdogInterval() {
        func interval(_ values: [String: String]) -> Duration? {
            let values = values.merging(["NOTIFY_SOCKET": "@x"]) { $1 }
            return SystemdNotifier(environment: values, processId: 7)?.watchdogInterval
        }
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"]) == .seconds(30))
        #expect(interval(["WATCHDOG_USEC": "500000"]) == .milliseconds(500))
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"]) == nil)
        for wrong in ["0", "-1", "soon", ""] { #expect(interval(["WATCHDOG_USEC": wrong]) == nil) }
        #expect(interval([:]) == nil)
    }

    @Test("a status names what is missing, and not more than a person reads")
    func status() {
        func check(_ name: String, ready: Bool = false, detail: String = "") -> HealthReport.Check {
            .init(name: name, ready: ready, detail: detail)
        }
        #expect(SystemdReporter.status(HealthReport(isReady: true, checks: [check("a", ready: true)])) == "ready")
        let some = [check("broker", ready: true), check("database", detail: "no answer"), check("schema")]
        #expect(SystemdReporter.status(.init(isReady: false, checks: some)) == "not ready: database: no answer; schema")
        let many = (1...6).map { check("c\($0)") }
        #expect(SystemdReporter.status(.init(isReady: false, checks: many)) == "not ready: c1; c2; c3; c4; and 2 more")
    }

    @Test("ready is told once, when all checks hold for the first time; then the status follows them")
    func readiness() async throws {
        let socket = try NotifySocket(isAbstract: true)
        let health = HealthRegistry()
        let database = health.register("database")
        try await reporting(to: socket, health: health) {
            #expect(await socket.next() == "STATUS=not ready: database: starting")
            database.set(ready: false, detail: "refused")
            #expect(await socket.next() == "STATUS=not ready: database: refused")
            database.set(ready: true)
            #expect(await socket.next() == "READY=1\nSTATUS=ready")
            database.set(ready: false, detail: "gone")
            #expect(await socket.next() == "STATUS=not ready: database: gone")
            database.set(ready: true)
            #expect(await socket.next() == "STATUS=ready")
        }
        #expect(log.texts(.info) == ["ready"])
    }

    @Test("a process that is not ready lives; one that does not live sends no sign of it")
    func watchdog() async throws {
        let socket = try NotifySocket(isAbstract: true)
        let health = HealthRegistry()
        _ = health.register("database")
        let turns = Occurrences<Void>()
        try await reporting(to: socket, health: health, watchdog: 20_000, proveLife: { try await turns.next() }) {
            #expect(await socket.next() == "STATUS=not ready: database: starting")
            for _ in 0..<3 {
                turns.happen(())
                #expect(await socket.next() == "WATCHDOG=1")
            }
            // A time-out is the test: several intervals without a proof of life.
            try await Task.sleep(for: .milliseconds(100))
            #expect(socket.receive() == nil)
        }
        // The threads that serve HTTP take their turns without being asked by a test.
        try await reporting(to: socket, health: HealthRegistry(), watchdog: 20_000, proveLife: nil) {
            var seen: Set<String> = []
            while seen.count < 2 { seen.insert(try #require(await socket.next())) }
            #expect(seen == ["READY=1\nSTATUS=ready", "WATCHDOG=1"])
        }
    }

    @Test("the version is an argument, and other arguments are mistakes")
    func commandLine() {
        let identity = ServiceIdentity(name: "fulfillment")
        #expect(identity.version == CountersignVersion.number)
        #expect(ServiceProcess.answer(to: ["/usr/bin/fulfillment"], identity) == nil)
        let version = ServiceProcess.answer(to: ["fulfillment", "--version"], identity)
        #expect(version?.code == .success && version?.text == "fulfillment \(CountersignVersion.text)\n")
        for wrong in [["--help"], ["--version", "now"], [""]] {
            #expect(ServiceProcess.answer(to: ["fulfillment"] + wrong, identity)?.code == .configuration)
        }
    }

    /// Runs a reporter for as long as the body does.
    private func reporting(
        to socket: NotifySocket, health: HealthRegistry, watchdog microseconds: Int? = nil,
        proveLife: (@Sendable () async throws -> Void)? = {}, body: @escaping @Sendable () async throws -> Void
    ) async throws {
        var environment = ["NOTIFY_SOCKET": socket.name]
        environment["WATCHDOG_USEC"] = microseconds.map { "\($0)" }
        var reporter = SystemdReporter(
            notifier: try #require(SystemdNotifier(environment: environment)), health: health, logger: log.logger(),
            startingInterval: .milliseconds(5), readyInterval: .milliseconds(5))
        if let proveLife { reporter.proveLife = proveLife }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: reporter, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: CapturedLog().logger()))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let outcome = await Result { try await body() }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            try outcome.get()
        }
        while socket.receive() != nil {}
    }
}

extension Result where Success == Void, Failure == any Error {
    /// What a body that may throw came to.
    fileprivate init(_ body: () async throws -> Void) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
