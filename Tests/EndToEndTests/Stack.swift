import Foundation

/// The stack under test, driven by the same script that people use.
struct Stack: Sendable {
    /// What `deploy/stack env` prints.
    let settings: [String: String]

    /// True when `deploy/test` has brought a stack up.
    static var isAvailable: Bool {
        folder != nil
    }

    static var folder: String? {
        ProcessInfo.processInfo.environment["COUNTERSIGN_STACK_DIR"]
    }

    /// The package's root.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Reads where everything is.
    init() async throws {
        let output = try await Self.command(["env"])
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
    static func command(_ arguments: [String]) async throws -> String {
        guard let folder else { throw StackFailure("COUNTERSIGN_STACK_DIR is not set") }
        let script = root.appending(path: "deploy/stack").path
        return try await Program(path: script, arguments: ["--dir", folder] + arguments).output()
    }

    /// Kills a part as a crash would, and starts it again after a second.
    static func crash(_ name: String) async throws {
        try await command(["kill", name])
        // The outage itself lasts this long; nothing is waited for.
        try await Task.sleep(for: .seconds(1))
        try await command(["start", name])
    }

    /// A file of the stack's configuration.
    static func configuration(_ name: String) throws -> URL {
        guard let folder else { throw StackFailure("COUNTERSIGN_STACK_DIR is not set") }
        return URL(filePath: folder).appending(path: "config").appending(path: name)
    }
}

/// What went wrong with the stack itself, and not with what it promises.
struct StackFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
