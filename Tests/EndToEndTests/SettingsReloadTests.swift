import Foundation
import NIOHTTP1
import ProcessTesting
import Testing

extension EndToEnd {
    /// Settings that change while everything runs.
    @Suite("Settings that change")
    struct SettingsReloadTests {
        private static let app = "com.example.game"

        @Test(
            "a key that is made while the stack runs is good without a restart, and bad again once it is taken away",
            .timeLimit(.minutes(2)))
        func newKey() async throws {
            try await withStack { stack, client, _ in
                let apps = stack.configuration("apps.yaml")
                let before = try Data(contentsOf: apps)
                let output = FileManager.default.temporaryDirectory.appending(path: "key-\(UUID().uuidString)")
                defer { try? FileManager.default.removeItem(at: output) }
                let create = try stack.built(
                    "countersign",
                    ["key", "create", "--dir", apps.deletingLastPathComponent().path, "--output", output.path])
                let made = try await create.run()
                #expect(made.status == 0, "\(made.output)")
                let written = try String(contentsOf: output, encoding: .utf8)
                let key = written.trimmingCharacters(in: .whitespacesAndNewlines)
                let accepted = try await status(200, of: key, client)
                // The other tests of this stack have their own key all the same.
                try before.write(to: apps, options: .atomic)
                #expect(accepted == 200)
                #expect(try await status(401, of: key, client) == 401)
                #expect(try await status(200, of: client.apiKey, client) == 200)
            }
        }

        /// Asks with a key until it is answered as expected, for a bounded time; returns the last answer.
        private func status(_ expected: Int, of key: String, _ client: IntakeClient) async throws -> Int {
            let deadline = ContinuousClock.now + .seconds(30)
            while true {
                let answer = try await client.send(
                    .GET, "\(client.intake)/v1/accounts/nobody?app=\(Self.app)",
                    headers: ["authorization": "Bearer \(key)"])
                if answer.status == expected || ContinuousClock.now > deadline { return answer.status }
                // The file is looked at every two seconds, and nobody is called.
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }
}
