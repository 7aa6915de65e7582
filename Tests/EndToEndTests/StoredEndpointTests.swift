import Foundation
import Postgres
import ProcessTesting
import Testing

extension EndToEnd {
    /// Endpoints of webhooks that are added while everything runs.
    @Suite("Endpoints that are added")
    struct StoredEndpointTests {
        private static let app = "com.example.game"
        private static let gems = ["bundleId": app, "productId": "gems.100", "type": "Consumable"]

        @Test(
            "an endpoint of the database is told of the next purchases, also after a crash of notification, and of none before",
            .timeLimit(.minutes(2)))
        func added() async throws {
            try await withStack { stack, client, database in
                try await WebhookHook.with { hook, url in
                    let before = try await buy("hooked", client)
                    let added = try await tool(
                        stack, ["add", "--database", url, "--app", Self.app, "--event", "iap.transaction.*", "--json"])
                    let made = try #require(try JSONSerialization.jsonObject(with: Data(added.utf8)) as? [String: Any])
                    let (id, secret) = (
                        try #require(made["id"] as? String), try #require(made["secret"] as? String)
                    )
                    // A ping that is answered says that the running service has it.
                    try await tool(stack, ["ping", id, "--timeout", "30"])
                    let first = try await buy("hooked", client)
                    try await stack.crash("notification")
                    let second = try await buy("hooked", client)
                    let waiting = try await database.wait(
                        for: 0, within: .seconds(60),
                        """
                        SELECT 2 - count(*) AS n FROM events e JOIN webhook_deliveries d ON d.event_id = e.id
                        WHERE e.transaction_id = ANY($1) AND e.type = 'iap.transaction.fulfilled'
                            AND d.endpoint_id = $2 AND d.state = 'delivered'
                        """, [.textArray([first, second]), .text(id)])
                    #expect(waiting == 0)
                    let told = hook.deliveries
                    #expect(told.allSatisfy { $0.isSigned(with: secret) })
                    #expect(told.contains { $0.text("type") == "countersign.ping" })
                    let transactions = Set(told.compactMap { $0.transactionId })
                    #expect(transactions == [first, second] && !transactions.contains(before))
                    try await tool(stack, ["remove", id, "--yes"])
                    let third = try await buy("hooked", client)
                    // The other endpoint has it, so that notification has taken the event over.
                    let late = try await database.wait(
                        for: 1, within: .seconds(60),
                        """
                        SELECT least(count(*), 1) AS n FROM events e JOIN webhook_deliveries d ON d.event_id = e.id
                        WHERE e.transaction_id = $1 AND e.type = 'iap.transaction.fulfilled' AND d.state = 'delivered'
                        """, [.text(third)])
                    #expect(late == 1)
                    let left = try await database.wait(
                        for: 0, within: .seconds(30),
                        "SELECT count(*) AS n FROM webhook_deliveries WHERE endpoint_id = $1 AND due_at IS NOT NULL",
                        [.text(id)])
                    #expect(left == 0, "deliveries that are stuck")
                }
            }
        }

        /// Buys something.
        ///
        /// - Returns: its transaction id.
        private func buy(_ account: String, _ client: IntakeClient) async throws -> String {
            let sale = try #require(try await client.sell(Self.gems).first)
            let purchase = try await client.purchase(sale.signedTransaction, app: Self.app, account: account)
            #expect(purchase.state == "fulfilled")
            return sale.transactionId
        }

        @discardableResult
        private func tool(_ stack: Stack, _ arguments: [String]) async throws -> String {
            try await stack.built("countersign", ["webhooks"] + arguments).result()
        }
    }
}
