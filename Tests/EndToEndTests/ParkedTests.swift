import Foundation
import Messages
import Postgres
import Testing

extension EndToEnd {
    /// What is genuine but not yet known is kept, and granted once it is.
    @Suite("Parked")
    struct ParkedTests {
        @Test("an unknown product is recorded and parked, and granted once the file says what it is, without a restart")
        func unknownProduct() async throws {
            try await withStack { stack, client, database in
                let sale = try #require(
                    try await client.sell([
                        "bundleId": "com.example.game", "productId": "season.pass", "type": "Non-Consumable",
                    ]).first)
                let parked = try await client.purchase(
                    sale.signedTransaction, app: "com.example.game", account: "early-bird")
                #expect(parked.state == "parked")
                #expect(parked.reason == "product_unknown")
                #expect(parked.finish)
                try addProduct("season.pass", stack, type: "non_consumable", entitlement: "season")
                let granted = try await database.wait(
                    for: 1, within: .seconds(60),
                    "SELECT count(*) AS n FROM orders WHERE transaction_id = $1 AND state = 'granted'",
                    [.text(sale.transactionId)])
                #expect(granted == 1)
                let entitlements = try await database.rows(
                    "SELECT entitlement FROM entitlements WHERE transaction_id = $1 AND account = 'early-bird'",
                    [.text(sale.transactionId)])
                #expect(try entitlements.map { try $0.decode("entitlement", as: String.self) } == ["season"])
                #expect(try await client.status(of: parked.id).state == "fulfilled")
            }
        }

        @Test("a sandbox purchase lives in its own ledger, and is refused where the app refuses it")
        func sandbox() async throws {
            try await withStack { _, client, database in
                let order = ["productId": "gems.100", "type": "Consumable", "environment": "Sandbox"]
                let accepted = try #require(
                    try await client.sell(order.merging(["bundleId": "com.example.game"]) { $1 }).first)
                let purchase = try await client.purchase(
                    accepted.signedTransaction, app: "com.example.game", account: "reviewer")
                #expect(purchase.state == "fulfilled")
                let balances = try await database.rows(
                    "SELECT environment, amount FROM balances WHERE account = 'reviewer'")
                #expect(balances.count == 1)
                #expect(try balances.first?.decode("environment", as: String.self) == "sandbox")
                let strict = try #require(
                    try await client.sell(order.merging(["bundleId": "com.example.strict"]) { $1 }).first)
                let refused = try await client.purchase(
                    strict.signedTransaction, app: "com.example.strict", account: "reviewer")
                #expect(refused.state == "rejected")
                #expect(refused.reason == "sandbox_refused")
                #expect(!refused.finish)
            }
        }

        private func addProduct(_ id: String, _ stack: Stack, type: String, entitlement: String) throws {
            let file = stack.configuration("catalogue.yaml")
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            guard !text.contains(id) else { return }
            let line = "    - { id: \(id), type: \(type), entitlements: [\(entitlement)] }\n"
            let marker = "  com.example.game:\n"
            try text.replacingOccurrences(of: marker, with: marker + line)
                .write(to: file, atomically: true, encoding: .utf8)
        }
    }
}
