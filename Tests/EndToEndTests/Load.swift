import Foundation
import ProcessTesting

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
            let submissionId: String?
            /// From the first attempt to post it until the outcome was learnt: from the post's answer with `--wait`, or by
            /// a question that follows it at once.
            let outcomeMilliseconds: Double?

            enum CodingKeys: String, CodingKey {
                case account
                case transactionId = "transaction_id"
                case submissionId = "submission_id"
                case outcomeMilliseconds = "outcome_milliseconds"
            }
        }
    }

    /// Runs it to its end: every genuine purchase has an outcome by then, or this is an error.
    func run(_ arguments: [String]) async throws -> Report {
        let file = FileManager.default.temporaryDirectory.appending(path: "load-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let program = try stack.built(
            "app-store-simulator",
            [
                "load", "--intake", try stack.setting("COUNTERSIGN_RECEIPT_INTAKE_URL"), "--simulator",
                try stack.setting("COUNTERSIGN_SIMULATOR_URL"), "--app", "com.example.game", "--product", "gems.100",
                "--environment", "Production", "--report", file.path,
            ] + arguments)
        let output = try await program.result()
        print(output)
        return try JSONDecoder().decode(Report.self, from: try Data(contentsOf: file))
    }
}
