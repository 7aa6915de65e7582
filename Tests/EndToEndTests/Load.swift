import Foundation

/// The producer script `app-store-simulator load`, against the stack under test.
struct Load {
    private let stack: Stack

    init(_ stack: Stack) {
        self.stack = stack
    }

    /// What the producer wrote down about a run.
    struct Report: Decodable, Sendable {
        let purchases: [Purchase]

        /// A genuine purchase that was accepted, and whose it is.
        struct Purchase: Decodable, Sendable {
            let transactionId: String
            let account: String

            enum CodingKeys: String, CodingKey {
                case account
                case transactionId = "transaction_id"
            }
        }
    }

    /// Runs it to its end: every genuine purchase has an outcome by then, or this is an error.
    func run(_ arguments: [String]) async throws -> Report {
        let file = FileManager.default.temporaryDirectory.appending(path: "load-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let program = Program(
            path: try stack.setting("COUNTERSIGN_BIN_DIR") + "/app-store-simulator",
            arguments: [
                "load", "--intake", try stack.setting("COUNTERSIGN_RECEIPT_INTAKE_URL"), "--simulator",
                try stack.setting("COUNTERSIGN_SIMULATOR_URL"), "--app", "com.example.game", "--product", "gems.100",
                "--environment", "Production", "--report", file.path,
            ] + arguments,
            environment: stack.settings)
        let output = try await program.output()
        print(output)
        return try JSONDecoder().decode(Report.self, from: try Data(contentsOf: file))
    }
}
