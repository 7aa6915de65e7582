import Foundation
import ProcessTesting

/// A stack under test, driven by the same script that people use.
struct Stack: Sendable {
    /// Where it keeps everything.
    let folder: URL
    /// What `deploy/stack env` prints.
    let settings: [String: String]
    /// What the script runs with, beside the environment of the tests.
    private let environment: [String: String]

    /// True when `deploy/test` has brought a stack up.
    static var isAvailable: Bool {
        sharedFolder != nil
    }

    /// The folder of the stack that most tests share.
    static var sharedFolder: URL? {
        ProcessInfo.processInfo.environment["COUNTERSIGN_STACK_DIR"].map { URL(filePath: $0) }
    }

    /// The package's root.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The stack that most tests share.
    init() async throws {
        guard let folder = Self.sharedFolder else { throw StackFailure("COUNTERSIGN_STACK_DIR is not set") }
        try await self.init(folder: folder)
    }

    /// Reads where everything is.
    init(folder: URL, environment: [String: String] = [:]) async throws {
        self.folder = folder
        self.environment = environment
        let output = try await Self.run(["env"], folder, environment).result()
        var settings: [String: String] = [:]
        for line in output.split(separator: "\n") {
            guard let separator = line.firstIndex(of: "=") else { continue }
            let value = line[line.index(after: separator)...].trimmingCharacters(in: CharacterSet(charactersIn: "'"))
            settings[String(line[..<separator])] = value
        }
        self.settings = settings
    }

    /// A setting that must be there.
    func setting(_ name: String) throws -> String {
        guard let value = settings[name] else { throw StackFailure("deploy/stack env prints no \(name)") }
        return value
    }

    /// Runs a command of the stack, like `["kill", "fulfillment"]`, and returns what it printed.
    @discardableResult
    func command(_ arguments: [String]) async throws -> String {
        try await program(arguments).result()
    }

    /// The same, for commands that may fail.
    func program(_ arguments: [String]) -> Program {
        Self.run(arguments, folder, environment)
    }

    /// A command of the stack in some folder, which need not be there yet.
    static func run(_ arguments: [String], _ folder: URL, _ environment: [String: String]) -> Program {
        let script = root.appending(path: "deploy/stack").path
        return Program(path: script, arguments: ["--dir", folder.path] + arguments, environment: environment)
    }

    /// A program of the build, in the stack's environment.
    func built(_ name: String, _ arguments: [String], _ more: [String: String] = [:]) throws -> Program {
        let path = try setting("COUNTERSIGN_BIN_DIR") + "/" + name
        let all = environment.merging(settings) { $1 }.merging(more) { $1 }
        return Program(path: path, arguments: arguments, environment: all)
    }

    /// Kills a part as a crash would, and starts it again after a second.
    func crash(_ name: String) async throws {
        try await command(["kill", name])
        // The outage itself lasts this long; nothing is waited for.
        try await Task.sleep(for: .seconds(1))
        try await command(["start", name])
    }

    /// A file of the stack's configuration.
    func configuration(_ name: String) -> URL {
        folder.appending(path: "config").appending(path: name)
    }
}

/// What went wrong with the stack itself, and not with what it promises.
struct StackFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
