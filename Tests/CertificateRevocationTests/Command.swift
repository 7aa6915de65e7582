import Foundation
import Testing

/// Programs of the machine, and a folder for what they write.
struct Command {
    static let opensslPath = "/usr/bin/openssl"
    static let hasOpenSSL = FileManager.default.isExecutableFile(atPath: opensslPath)
    static let noOpenSSL: Comment = "SKIPPED: no openssl command"

    struct Trouble: Error, CustomStringConvertible {
        let description: String
    }

    let folder: URL

    /// Runs the body in a folder that is gone afterwards.
    static func run(_ body: (Command) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "revocation-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(Command(folder: folder))
    }

    func file(_ name: String) -> URL { folder.appending(path: name) }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: file(name))
    }

    func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: file(name))) }

    /// Runs openssl with arguments that have no spaces in them, which must succeed.
    func openssl(_ arguments: String) async throws {
        let (process, ends) = try start(Self.opensslPath, arguments.split(separator: " ").map(String.init))
        for await _ in ends {}
        guard process.terminationStatus == 0 else {
            let output = try? String(contentsOf: file("output"), encoding: .utf8)
            throw Trouble(description: "openssl \(arguments): \(output ?? "")")
        }
    }

    /// Starts a program that writes to the file `output`; the stream ends with it.
    func start(_ path: String, _ arguments: [String]) throws -> (Process, AsyncStream<Void>) {
        try Data().write(to: file("output"))
        let output = try FileHandle(forWritingTo: file("output"))
        defer { try? output.close() }
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        let (ends, end) = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        return (process, ends)
    }

    /// Runs the body while a program runs; `ready` is asked until it says something.
    func serving<Address>(
        _ path: String, _ arguments: [String], ready: () throws -> Address?, _ body: (Address) async throws -> Void
    ) async throws {
        let (process, ends) = try start(path, arguments)
        var result = Result<Void, any Error>.success(())
        do {
            let deadline = ContinuousClock.now + .seconds(60)
            var address: Address?
            while address == nil, process.isRunning, ContinuousClock.now < deadline {
                address = try ready()
                // Another process writes the file; there is no signal to wait for.
                try await Task.sleep(for: .milliseconds(20))
            }
            guard let address else { throw Trouble(description: "\(path) did not start") }
            try await body(address)
        } catch {
            result = .failure(error)
        }
        // Not `terminate()`: a child of a thread of the pool has SIGTERM blocked, as that thread has.
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        for await _ in ends {}
        try result.get()
    }
}
