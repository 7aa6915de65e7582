import Foundation
import Synchronization

/// A program that a test starts: its end is awaited, never waited for on a thread of the pool.
struct Program: Sendable {
    let path: String
    let arguments: [String]
    var environment: [String: String] = [:]

    /// How it ended, and what it printed.
    struct Result: Sendable {
        let status: Int32
        let output: String
    }

    /// Runs it to its end.
    func run() async throws -> Result {
        let file = FileManager.default.temporaryDirectory.appending(path: "program-\(UUID().uuidString).log")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forWritingTo: file)
        let status = try await start(output: handle)
        try handle.close()
        return Result(status: status, output: String(decoding: try Data(contentsOf: file), as: UTF8.self))
    }

    /// Runs it to its end; anything but 0 is an error that shows what it printed.
    func output() async throws -> String {
        let result = try await run()
        guard result.status == 0 else {
            throw StackFailure(
                "\(path) \(arguments.joined(separator: " ")) ended with \(result.status):\n\(result.output.suffix(4000))"
            )
        }
        return result.output
    }

    private func start(output: FileHandle) async throws -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
    }
}
