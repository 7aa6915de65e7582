import Foundation
import Testing

extension EndToEnd {
    /// The stories of `Tests/Stories` that talk to a backend, with the real one behind them.
    @Suite("The backend's side of the stories")
    struct BackendStoriesTests {
        @Test(
            "a story comes out as it tells",
            arguments: [
                "the-goods-arrive", "forged-receipts", "taken-back-and-given-back", "restored-by-another-player",
                "claimed-with-the-e-mail", "one-month-four-ids", "restored-on-a-second-phone", "a-family-of-three",
            ])
        func story(_ name: String) async throws {
            try await withStack { stack, _, database in
                let key = FileManager.default.temporaryDirectory.appending(path: "api-key-\(UUID().uuidString)")
                try Data(try stack.setting("COUNTERSIGN_API_KEY").utf8).write(to: key)
                defer { try? FileManager.default.removeItem(at: key) }
                let played = try await Program(
                    path: try stack.setting("COUNTERSIGN_BIN_DIR") + "/app-store-simulator",
                    arguments: [
                        "story", "run", Stack.root.appending(path: "Tests/Stories/\(name).yaml").path, "--simulator",
                        try stack.setting("COUNTERSIGN_SIMULATOR_URL"), "--backend",
                        try stack.setting("COUNTERSIGN_RECEIPT_INTAKE_URL"), "--api-key-file", key.path, "--json",
                    ]
                ).output()
                struct Report: Decodable {
                    struct Story: Decodable {
                        struct Step: Decodable { let result: String }
                        let steps: [Step]
                    }
                    let stories: [Story]
                }
                let report = try JSONDecoder().decode(Report.self, from: Data(played.utf8))
                let steps = report.stories.flatMap(\.steps).map(\.result)
                #expect(steps.count > 3)
                // None was skipped for want of a backend.
                #expect(steps.allSatisfy { $0 == "passed" }, "\(steps)")
                try await Ledger(database, stack).expectCleanAudit()
            }
        }
    }
}
