import Foundation
import Postgres
import ProcessTesting
import Testing

extension EndToEnd {
    /// `app-store-simulator listen --events`, with which a developer's machine has webhooks that it could not be sent.
    @Suite("Listening to events")
    struct EventListenerTests {
        private enum Limit {
            static let listening = Duration.seconds(60)
        }

        private static let app = "com.example.game"
        private static let gems = ["bundleId": app, "productId": "gems.100", "type": "Consumable"]

        @Test(
            "events are shown and forwarded as signed webhooks with the bytes of the real ones, also over a crash of intake",
            .timeLimit(.minutes(2)))
        func forwarded() async throws {
            try await withStack { stack, client, database in
                try await WebhookHook.with { hook, url in
                    let bytes = Data((0..<32).map { _ in UInt8.random(in: .min ... .max) })
                    let secret = "whsec_\(bytes.base64EncodedString())"
                    let file = stack.folder.appending(path: "listen-\(UUID().uuidString)")
                    try Data(secret.utf8).write(to: file)
                    let listener = try stack.built(
                        "app-store-simulator",
                        [
                            "listen", "--events", "--bundle-id", Self.app, "--types", "iap.transaction.fulfilled",
                            "--forward-to", url, "--secret-file", file.path, "--once", "6",
                        ])
                    // It ends by itself after six events; where these do not come the test must fail, and not wait for ever.
                    let bounded = Program(
                        path: "/usr/bin/env", arguments: ["timeout", "100", listener.path] + listener.arguments,
                        environment: listener.environment)
                    async let result = bounded.run()
                    let account = "listen-\(UUID().uuidString.prefix(8).lowercased())"
                    try await Self.buy(until: 3, hook, account, client)
                    try await stack.crash("receipt-intake")
                    try await Self.buy(until: 6, hook, account, client)
                    let ended = try await result
                    try FileManager.default.removeItem(at: file)
                    #expect(ended.status == 0, "\(ended.output)")
                    #expect(ended.output.contains("forwarding to \(url)"))
                    #expect(!ended.output.contains(secret))
                    let forwarded = hook.deliveries
                    #expect(forwarded.count == 6 && Set(forwarded.map(\.id)).count == 6)
                    for delivery in forwarded {
                        #expect(delivery.isSigned(with: secret))
                        #expect(ended.output.contains("--> iap.transaction.fulfilled  [\(delivery.id)]"))
                        #expect(ended.output.contains("<-- [200] POST \(url) [\(delivery.id)]"))
                        let stored = try await database.rows(
                            "SELECT body::text AS body FROM events WHERE id = $1", [.text(delivery.id)])
                        let body = try #require(stored.first).decode("body", as: String.self)
                        #expect(String(decoding: delivery.body, as: UTF8.self) == body)
                    }
                }
            }
        }

        /// Buys until so many have been forwarded: what was bought before it listened it does not hear of.
        private static func buy(
            until count: Int, _ hook: WebhookHook, _ account: String, _ client: IntakeClient
        ) async throws {
            let deadline = ContinuousClock.now + Limit.listening
            while hook.deliveries.count < count {
                guard ContinuousClock.now < deadline else {
                    throw StackFailure("\(hook.deliveries.count) of \(count) events were forwarded")
                }
                let sale = try #require(try await client.sell(gems).first)
                _ = try await client.purchase(sale.signedTransaction, app: app, account: account)
            }
        }
    }
}
