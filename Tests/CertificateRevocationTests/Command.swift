import Foundation
import ProcessTesting
import Testing

/// Programs of the machine, and a folder for what they write.
struct Command {
    static let hasOpenSSL = Program.find("openssl") != nil
    static let noOpenSSL: Comment = "SKIPPED: no openssl command"

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
        try await openssl(serving: arguments).result()
    }

    /// Openssl with arguments that have no spaces in them.
    func openssl(serving arguments: String) -> Program {
        program(Program.find("openssl") ?? "", arguments.split(separator: " ").map(String.init))
    }

    /// A program in the folder, which writes to its file `output`.
    func program(_ path: String, _ arguments: [String]) -> Program {
        Program(path: path, arguments: arguments, folder: folder, output: .file(file("output")))
    }
}
