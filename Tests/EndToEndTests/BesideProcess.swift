import Foundation

/// A script of `Tests/Load` that works beside a test until its input ends: a process of its own, since Foundation cannot start one
/// beside thousands of open files, and an unoptimised test is a poor flood.
enum BesideProcess {
    /// Runs a body beside a script.
    ///
    /// - Parameters:
    ///   - input: What it is given first.
    ///   - begins: Whether it prints a line when it has begun, which is waited for.
    ///   - body: Gets what was printed by then.
    /// - Returns: all that it printed.
    static func run(
        _ script: String, _ arguments: [String], input: Data = Data(), begins: Bool,
        _ body: (_ begun: String) async throws -> Void
    ) async throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", Stack.root.appending(path: "Tests/Load/\(script)").path] + arguments
        let (stdin, stdout) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (stdin, stdout)
        let (parts, part) = AsyncStream.makeStream(of: String.self)
        stdout.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            guard !data.isEmpty else {
                handle.readabilityHandler = nil
                return part.finish()
            }
            part.yield(String(decoding: data, as: UTF8.self))
        }
        try process.run()
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        try await write(input, to: stdin.fileHandleForWriting)
        var iterator = parts.makeAsyncIterator()
        var text = ""
        while begins, !text.contains("\n"), let next = await iterator.next() { text += next }
        try await body(text)
        try stdin.fileHandleForWriting.close()
        while let next = await iterator.next() { text += next }
        return text
    }

    /// On a thread of its own: a pipe takes 64 KiB until somebody reads.
    private static func write(_ data: Data, to handle: FileHandle) async throws {
        guard !data.isEmpty else { return }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread { continuation.resume(with: Result { try handle.write(contentsOf: data) }) }
        }
    }

    /// Where a script is to connect to: host and port.
    static func place(of address: String) throws -> [String] {
        guard let url = URL(string: address), let host = url.host(), let port = url.port else {
            throw StackFailure("\(address) is no address")
        }
        return [host, "\(port)"]
    }
}
