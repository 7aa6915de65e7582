public import Foundation

/// A program that a test starts, with nothing to read but `input`.
///
/// Its end is awaited, never waited for on a thread of the pool.
public struct Program: Sendable {
    /// Where it writes to.
    public enum Output: Sendable {
        /// Standard output and errors to one text, in their order.
        case together
        /// Standard output and errors to a text each.
        case apart
        /// Standard output to a text; errors are shown among the test's own.
        case errorsShown
        /// Both are shown among the test's own.
        case shown
        /// Both to a file, which is made.
        case file(URL)
    }

    /// How it ended, and what it wrote.
    public struct Ended: Sendable {
        /// The exit status, or the number of the signal that ended it.
        public let status: Int32
        /// Whether a signal ended it.
        public let wasKilled: Bool
        /// Text of its standard output, and of its errors where both go together.
        public let output: String
        /// Empty but where errors are kept apart.
        public let errors: String

        /// Whether it left by itself with 0.
        public var isGood: Bool { status == 0 && !wasKilled }
    }

    /// A program did not start, or did not succeed.
    public struct Failure: Error, CustomStringConvertible {
        /// Names the program, and has the end of what it wrote.
        public let description: String

        /// An error with a text of the caller.
        public init(description: String) { self.description = description }
    }

    private enum Limit {
        /// Of a run to its end; the time limit of the test comes before it.
        static let run = Duration.seconds(3_600)
        /// Of the end of an error's text, in characters.
        static let shown = 4_000
    }

    /// The executable, from the root.
    public let path: String
    /// Without the name of the program.
    public var arguments: [String]
    /// Variables beside those of the test, or instead of them.
    public var environment: [String: String]
    /// Whether it has the variables of the test.
    public var inheritsEnvironment: Bool
    /// Its working folder; nil is that of the test.
    public var folder: URL?
    /// All that it can read from standard input.
    public var input: Data
    /// Where what it writes is kept.
    public var output: Output

    /// A program with the variables of the test, whose output and errors are kept together.
    public init(
        path: String, arguments: [String] = [], environment: [String: String] = [:], inheritsEnvironment: Bool = true,
        folder: URL? = nil, input: Data = Data(), output: Output = .together
    ) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
        self.inheritsEnvironment = inheritsEnvironment
        self.folder = folder
        self.input = input
        self.output = output
    }

    /// The path of a program of the machine; nil where the folders of PATH have none of the name.
    public static func find(_ name: String) -> String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The path of an executable of the package; nil where `COUNTERSIGN_BIN_DIR` does not name its folder.
    public static func built(_ name: String) -> String? {
        ProcessInfo.processInfo.environment["COUNTERSIGN_BIN_DIR"].map { "\($0)/\(name)" }
            .flatMap { FileManager.default.isExecutableFile(atPath: $0) ? $0 : nil }
    }

    /// Runs `openssl` to its end.
    public static func openssl(_ arguments: [String], in folder: URL? = nil) async throws -> Ended {
        guard let path = find("openssl") else { throw Failure(description: "there is no openssl on the PATH") }
        return try await Program(path: path, arguments: arguments, folder: folder).run()
    }

    /// Starts it; the caller ends it or awaits its end.
    public func start() throws -> RunningProgram { try RunningProgram(self) }

    /// Runs it to its end; it is killed when the time is over, or the test is cancelled.
    public func run(within limit: Duration? = nil) async throws -> Ended {
        try await start().ended(within: limit ?? Limit.run)
    }

    /// Runs it to its end; anything but 0 is an error that shows what it wrote.
    @discardableResult
    public func result() async throws -> String {
        let ended = try await run()
        guard ended.isGood else {
            let text = (ended.output + ended.errors).suffix(Limit.shown)
            throw Failure(
                description: "\(path) \(arguments.joined(separator: " ")): ended with \(ended.status)\n\(text)")
        }
        return ended.output
    }

    /// Runs a body beside it, and kills it afterwards.
    ///
    /// - Parameter ready: Asked until it says something, which the body is given.
    public func serving<Address, Value>(
        ready: () throws -> Address?, _ body: (Address) async throws -> Value
    ) async throws -> Value {
        let running = try start()
        let value: Value
        do {
            value = try await body(try await running.ready(ready))
        } catch {
            running.kill()
            _ = try await running.ended()
            throw error
        }
        running.kill()
        _ = try await running.ended()
        return value
    }
}
