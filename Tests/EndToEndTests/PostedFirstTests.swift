import Foundation
import Postgres
import ProcessTesting
import Testing

extension EndToEnd {
    /// Events are posted before their deliveries are written: whenever notification dies, nothing is lost.
    @Suite("Events that are posted first")
    struct PostedFirstTests {
        private static let app = "com.example.game"
        private static let gems = ["bundleId": app, "productId": "gems.100", "type": "Consumable"]

        @Test("kill -9 after the post, before the answer: the same webhook comes again", .timeLimit(.minutes(3)))
        func beforeTheAnswer() async throws {
            try await withHook { stack, client, database, hook, endpoint in
                hook.hold(true)
                let sold = try await buy(client)
                try await hook.wait(for: 1, of: sold)
                try await stack.command(["kill", "notification"])
                hook.hold(false)
                #expect(try await deliveries(of: sold, endpoint, database) == 0, "nothing is written before the answer")
                #expect(try await inOutbox(sold, database) == 1)
                try await expectAgain(sold, endpoint, stack, database, hook)
            }
        }

        @Test("kill -9 after the answer, before it is recorded: the same webhook comes again", .timeLimit(.minutes(3)))
        func beforeTheRecord() async throws {
            try await withHook { stack, client, database, hook, endpoint in
                let sold = try await database.whileLocked("webhook_attempts") {
                    let sold = try await buy(client)
                    try await hook.wait(for: 1, of: sold)
                    try await stack.command(["kill", "notification"])
                    // The server would go on with what a dead client had sent.
                    try await database.endWaitingSessions()
                    return sold
                }
                #expect(try await deliveries(of: sold, endpoint, database) == 0)
                #expect(try await inOutbox(sold, database) == 1)
                try await expectAgain(sold, endpoint, stack, database, hook)
            }
        }

        /// Once notification is back, the event is sent under its id, recorded, and leaves the outbox.
        private func expectAgain(
            _ sold: String, _ endpoint: String, _ stack: Stack, _ database: Database, _ hook: WebhookHook
        ) async throws {
            try await stack.command(["start", "notification"])
            let left = try await database.wait(
                for: 0, within: .seconds(90),
                "SELECT count(*) AS n FROM event_outbox o JOIN events e ON e.id = o.event_id WHERE e.transaction_id = $1",
                [.text(sold)])
            #expect(left == 0)
            let delivered = try await database.wait(
                for: 1, within: .seconds(60),
                """
                SELECT count(*) AS n FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
                WHERE e.transaction_id = $1 AND d.endpoint_id = $2 AND d.state = 'delivered'
                    AND EXISTS (SELECT FROM webhook_attempts a WHERE (a.event_id, a.endpoint_id) = (d.event_id, d.endpoint_id))
                """, [.text(sold), .text(endpoint)])
            #expect(delivered == 1)
            let told = hook.deliveries.filter { $0.transactionId == sold }
            #expect(told.count == 2)
            #expect(Set(told.map(\.id)).count == 1 && Set(told.map(\.body)).count == 1)
        }

        private func deliveries(of sold: String, _ endpoint: String, _ database: Database) async throws -> Int64 {
            try await database.number(
                """
                SELECT count(*) AS n FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
                WHERE e.transaction_id = $1 AND d.endpoint_id = $2
                """, [.text(sold), .text(endpoint)])
        }

        private func inOutbox(_ sold: String, _ database: Database) async throws -> Int64 {
            try await database.number(
                """
                SELECT count(*) AS n FROM event_outbox o JOIN events e ON e.id = o.event_id
                WHERE e.transaction_id = $1 AND o.claimed_until IS NOT NULL
                """, [.text(sold)])
        }

        /// With an endpoint of the database that the running notification knows.
        private func withHook(
            _ body: (Stack, IntakeClient, Database, WebhookHook, _ endpoint: String) async throws -> Void
        ) async throws {
            try await withStack { stack, client, database in
                try await WebhookHook.with { hook, url in
                    let added = try await tool(
                        stack, ["add", "--database", url, "--app", Self.app, "--event", "iap.transaction.*", "--json"])
                    let made = try #require(try JSONSerialization.jsonObject(with: Data(added.utf8)) as? [String: Any])
                    let id = try #require(made["id"] as? String)
                    try await tool(stack, ["ping", id, "--timeout", "30"])
                    try await body(stack, client, database, hook, id)
                    try await tool(stack, ["remove", id, "--yes"])
                }
            }
        }

        private func buy(_ client: IntakeClient) async throws -> String {
            let sale = try #require(try await client.sell(Self.gems).first)
            let purchase = try await client.purchase(sale.signedTransaction, app: Self.app, account: "posted-first")
            #expect(purchase.state == "fulfilled")
            return sale.transactionId
        }

        @discardableResult
        private func tool(_ stack: Stack, _ arguments: [String]) async throws -> String {
            try await stack.built("countersign", ["webhooks"] + arguments).result()
        }
    }
}
