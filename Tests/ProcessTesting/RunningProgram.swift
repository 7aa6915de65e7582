import Foundation

/// A program that was started: killed when nobody has it any more.
public final class RunningProgram: Sendable {
    private enum Limit {
        static let start = Duration.seconds(60)
        static let end = Duration.seconds(60)
        /// Of a program that was asked to leave, as in `deploy/stack`.
        static let stop = Duration.seconds(20)
        static let pause = Duration.milliseconds(20)
    }

    private let process = Process()
    private let ends: AsyncStream<Void>
    private let output: FileHandle?
    private let errors: FileHandle?

    init(_ program: Program) throws {
        process.executableURL = URL(filePath: program.path)
        process.arguments = program.arguments
        process.environment = program.environment.merging(
            program.inheritsEnvironment ? ProcessInfo.processInfo.environment : [:]
        ) { own, _ in own }
        process.currentDirectoryURL = program.folder ?? process.currentDirectoryURL
        process.standardInput = program.input.isEmpty ? FileHandle.nullDevice : try Self.file(program.input)
        switch program.output {
        case .together, .file:
            output = if case .file(let url) = program.output { try Self.open(url.path) } else { try Self.file() }
            errors = nil
            process.standardError = output
        case .apart:
            (output, errors) = (try Self.file(), try Self.file())
            process.standardError = errors
        case .errorsShown: (output, errors) = (try Self.file(), nil)
        case .shown: (output, errors) = (nil, nil)
        }
        if let output { process.standardOutput = output }
        let (ends, end) = AsyncStream<Void>.makeStream()
        self.ends = ends
        process.terminationHandler = { _ in end.finish() }
        try Self.withSignalsUnblocked { try process.run() }
    }

    deinit { kill() }

    /// Whether it has not ended yet.
    public var isRunning: Bool { process.isRunning }

    /// SIGKILL; its end is to be awaited.
    public func kill() {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    /// SIGTERM, and SIGKILL when its time is over.
    public func stop() async throws -> Program.Ended {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGTERM) }
        return try await ended(within: Limit.stop)
    }

    /// Waits for its end; it is killed when the time is over, or the task is cancelled.
    public func ended(within limit: Duration? = nil) async throws -> Program.Ended {
        let killer = Task {
            // The limit of a wait for a signal.
            try await Task.sleep(for: limit ?? Limit.end)
            kill()
        }
        defer { killer.cancel() }
        await withTaskCancellationHandler {
            // Of a task of its own: that of the test may be cancelled, and the end is awaited all the same.
            await Task { for await _ in ends {} }.value
        } onCancel: {
            kill()
        }
        return Program.Ended(
            status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal,
            output: try Self.text(output), errors: try Self.text(errors))
    }

    /// Asks until there is an answer; an error where it ended before, or it takes a minute.
    public func ready<Address>(_ ask: () throws -> Address?) async throws -> Address {
        let deadline = ContinuousClock.now + Limit.start
        while process.isRunning, ContinuousClock.now < deadline {
            if let address = try ask() { return address }
            // Another process makes what is asked for; there is no signal to wait for.
            try await Task.sleep(for: Limit.pause)
        }
        kill()
        let text = try await ended().output
        throw Program.Failure(description: "\(process.executableURL?.path ?? "") did not start: \(text)")
    }

    /// A child has the signal mask of the thread that starts it, and threads of the pool block SIGTERM.
    private static func withSignalsUnblocked(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    /// A file without a name, not a pipe: nobody has to read it while the program runs.
    private static func file(_ content: Data = Data()) throws -> FileHandle {
        let path = FileManager.default.temporaryDirectory.appending(path: "program-\(UUID().uuidString)").path
        let handle = try open(path)
        try FileManager.default.removeItem(atPath: path)
        try handle.write(contentsOf: content)
        try handle.seek(toOffset: 0)
        return handle
    }

    private static func open(_ path: String) throws -> FileHandle {
        let descriptor = Foundation.open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Program.Failure(description: "\(path): \(String(cString: strerror(errno)))")
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    private static func text(_ handle: FileHandle?) throws -> String {
        try handle?.seek(toOffset: 0)
        return String(decoding: try handle?.readToEnd() ?? Data(), as: UTF8.self)
    }
}
