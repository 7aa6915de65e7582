import Foundation
import KafkaTesting
import ProcessTesting

/// A service's process beside those of its stack: the test's own.
struct FurtherProcess: Sendable {
    private let running: RunningProgram
    let admin: AdminPort

    /// Starts one and waits until it is ready; it is killed where that fails.
    init(_ name: String, _ stack: Stack, _ client: IntakeClient, number: Int) async throws {
        let port = try freePort()
        var program = try stack.built(name, [], ["COUNTERSIGN_ADMIN_PORT": "\(port)"])
        program.output = .file(stack.folder.appending(path: "logs/further-\(name)-\(number).log"))
        running = try program.start()
        admin = AdminPort(client, "http://127.0.0.1:\(port)")
        try await admin.waitUntilReady()
    }

    /// SIGTERM, and SIGKILL when its time is over.
    ///
    /// - Returns: true when it went by itself.
    func stop() async -> Bool {
        (try? await running.stop())?.isGood ?? false
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
