import Foundation
import KafkaTesting

/// A service's process beside those of its stack: the test's own.
struct FurtherProcess: Sendable {
    /// How long it has to leave after SIGTERM, as in `deploy/stack`.
    private static let stopTimeout = Duration.seconds(20)

    private let process: Process
    private let end: AsyncStream<Void>
    let admin: AdminPort

    /// Starts one and waits until it is ready; it is killed where that fails.
    init(_ name: String, _ stack: Stack, _ client: IntakeClient, number: Int) async throws {
        let port = try freePort()
        let program = try stack.built(name, [], ["COUNTERSIGN_ADMIN_PORT": "\(port)"])
        let log = stack.folder.appending(path: "logs/further-\(name)-\(number).log")
        try Data().write(to: log)
        let output = try FileHandle(forWritingTo: log)
        let process = Process()
        process.executableURL = URL(filePath: program.path)
        process.environment = ProcessInfo.processInfo.environment.merging(program.environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        let (end, signal) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in signal.finish() }
        try process.run()
        self.process = process
        self.end = end
        admin = AdminPort(client, "http://127.0.0.1:\(port)")
        do {
            try await admin.waitUntilReady()
        } catch {
            kill(process.processIdentifier, SIGKILL)
            throw error
        }
    }

    /// SIGTERM, and SIGKILL when its time is over.
    ///
    /// - Returns: true when it went by itself.
    func stop() async -> Bool {
        process.terminate()
        let killer = Task { [process] in
            // The limit of a wait for a signal.
            try await Task.sleep(for: Self.stopTimeout)
            kill(process.processIdentifier, SIGKILL)
        }
        for await _ in end {}
        killer.cancel()
        return process.terminationReason == .exit && process.terminationStatus == 0
    }

    /// Starts some, runs a body with them, and stops them however it ends; true when all went by themselves.
    static func run(
        _ count: Int, of name: String, _ stack: Stack, _ client: IntakeClient,
        _ body: ([FurtherProcess]) async throws -> Void
    ) async throws -> Bool {
        var processes: [FurtherProcess] = []
        func stopAll() async -> Bool {
            var went = true
            for process in processes { went = await process.stop() && went }
            return went
        }
        do {
            for number in 0..<count { processes.append(try await FurtherProcess(name, stack, client, number: number)) }
            try await body(processes)
        } catch {
            _ = await stopAll()
            throw error
        }
        return await stopAll()
    }
}
