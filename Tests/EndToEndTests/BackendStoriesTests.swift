import Foundation
import NIOHTTP1
import ProcessTesting
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
                "our-endpoint-was-away", "found-by-asking", "bought-on-a-friends-phone", "offer-code-without-a-token",
                "a-subscription-under-two-original-ids",
            ])
        func story(_ name: String) async throws {
            try await withStack { stack, client, database in
                let key = FileManager.default.temporaryDirectory.appending(path: "api-key-\(UUID().uuidString)")
                defer { try? FileManager.default.removeItem(at: key) }
                try await Self.writeKey(to: key, stack, client)
                let played = try await Program(
                    path: try stack.setting("COUNTERSIGN_BIN_DIR") + "/app-store-simulator",
                    arguments: [
                        "story", "run", Stack.root.appending(path: "Tests/Stories/\(name).yaml").path, "--simulator",
                        try stack.setting("COUNTERSIGN_SIMULATOR_URL"), "--backend",
                        try stack.setting("COUNTERSIGN_RECEIPT_INTAKE_URL"), "--api-key-file", key.path, "--json",
                    ]
                ).result()
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
                // A story with a clock leaves it where it ends.
                try await client.setStoreClock(Date())
                try await Ledger(database, stack).expectCleanAudit()
            }
        }

        /// A key of the stories' backend: it posts and reads, and has Apple asked.
        ///
        /// It is made once for a stack, and stays until its end.
        private static func writeKey(to file: URL, _ stack: Stack, _ client: IntakeClient) async throws {
            let kept = stack.configuration("stories.key")
            if !FileManager.default.fileExists(atPath: kept.path) {
                let settings = stack.configuration("apps.yaml").deletingLastPathComponent().path
                let made = try await stack.built(
                    "countersign",
                    [
                        "key", "create", "--name", "stories", "--scopes", "post,read,spend,operate", "--output",
                        kept.path, "--dir", settings,
                    ]
                ).run()
                #expect(made.status == 0, "\(made.output)")
            }
            try FileManager.default.copyItem(at: kept, to: file)
            let key = try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
            let deadline = ContinuousClock.now + .seconds(30)
            while true {
                let answer = try await client.send(
                    .GET, "\(client.intake)/v1/sweeps/none?app=com.example.game",
                    headers: ["authorization": "Bearer \(key)"])
                if answer.status == 404 { return }
                guard ContinuousClock.now < deadline else {
                    throw StackFailure("the key is not known: \(answer.status)")
                }
                // The file is looked at every two seconds, and nobody is called.
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }
}
