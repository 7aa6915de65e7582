import Foundation
import Messages
import Postgres
import PurchaseModel
import Testing

extension EndToEnd {
    /// Whatever an app holds is settled: a signed transaction, a receipt, or nothing but an id.
    @Suite("Every kind of proof")
    struct ProofKindsTests {
        private static let app = "com.example.game"

        private func buy(
            _ client: IntakeClient, _ account: String? = nil, app: String = ProofKindsTests.app,
            environment: String = "Production"
        ) async throws -> IntakeClient.Sale {
            var order = [
                "bundleId": app, "productId": "gems.100", "type": "Consumable", "environment": environment,
            ]
            order["account"] = account
            return try #require(try await client.sell(order).first)
        }

        private func balance(_ account: String, in environment: String, _ database: Database) async throws -> Int64 {
            try await database.number(
                """
                SELECT coalesce(sum(amount), 0)::int8 AS n FROM balances
                WHERE account = $1 AND environment = $2 AND item = 'gem'
                """, [.text(account), .text(environment)])
        }

        @Test("a bare transaction id is settled by asking Apple, and means the same order as its signed transaction")
        func bareId() async throws {
            try await withStack { _, client, database in
                let sale = try await buy(client)
                let purchase = try await client.settled([
                    "app": Self.app, "account": "by-id", "transaction_id": sale.transactionId,
                ])
                #expect(purchase.state == "fulfilled")
                #expect(purchase.finish)
                #expect(purchase.transactions.map(\.transactionId) == [sale.transactionId])
                let again = try await client.purchase(sale.signedTransaction, app: Self.app, account: "by-id")
                #expect(again.state == "fulfilled")
                #expect(try await balance("by-id", in: "production", database) == 100)
            }
        }

        @Test("a bare id of the sandbox is found there, and lives in the sandbox's ledger")
        func bareSandboxId() async throws {
            try await withStack { _, client, database in
                let sale = try await buy(client, environment: "Sandbox")
                let purchase = try await client.settled([
                    "app": Self.app, "account": "tester-by-id", "transaction_id": sale.transactionId,
                ])
                #expect(purchase.state == "fulfilled")
                #expect(purchase.transactions.map(\.environment) == [.sandbox])
                #expect(try await balance("tester-by-id", in: "sandbox", database) == 100)
                #expect(try await balance("tester-by-id", in: "production", database) == 0)
            }
        }

        @Test("a receipt with two players' consumables credits the one that is named, and parks the other's")
        func twoPlayersInOneReceipt() async throws {
            try await withStack { _, client, database in
                let family = "apple-id-of-two"
                let first = try await buy(client, family)
                let second = try await buy(client, family)
                let receipt = try await client.receipt(app: Self.app, account: family)
                let mine = try await client.settled([
                    "app": Self.app, "account": "sister", "receipt": receipt, "transaction_id": first.transactionId,
                ])
                #expect(mine.state == "fulfilled")
                #expect(mine.finish)
                let states = Dictionary(uniqueKeysWithValues: mine.transactions.map { ($0.transactionId, $0.reason) })
                #expect(states[first.transactionId] == .some(nil))
                #expect(states[second.transactionId]??.rawValue == "unclaimed")
                #expect(try await balance("sister", in: "production", database) == 100)
                let theirs = try await client.settled([
                    "app": Self.app, "account": "brother", "receipt": receipt, "transaction_id": second.transactionId,
                ])
                #expect(theirs.state == "fulfilled")
                #expect(try await balance("brother", in: "production", database) == 100)
                #expect(try await balance("sister", in: "production", database) == 100)
            }
        }

        @Test("a receipt of several purchases without a name grants nothing and loses nothing")
        func nobodyNamed() async throws {
            try await withStack { _, client, database in
                let sales = [try await buy(client, "apple-id-unnamed"), try await buy(client, "apple-id-unnamed")]
                let receipt = try await client.receipt(app: Self.app, account: "apple-id-unnamed")
                let purchase = try await client.settled(["app": Self.app, "account": "careless", "receipt": receipt])
                #expect(purchase.state == "parked")
                #expect(purchase.reason == "claim_unnamed")
                #expect(!purchase.finish)
                #expect(try await balance("careless", in: "production", database) == 0)
                for sale in sales {
                    let named = try await client.settled([
                        "app": Self.app, "account": "careless", "receipt": receipt,
                        "transaction_id": sale.transactionId,
                    ])
                    #expect(named.state == "fulfilled")
                }
                #expect(try await balance("careless", in: "production", database) == 200)
            }
        }

        @Test("a genuine receipt without purchases is no forgery")
        func emptyReceipt() async throws {
            try await withStack { _, client, _ in
                let receipt = try await client.receipt(app: Self.app, account: "apple-id-of-nobody")
                let purchase = try await client.settled([
                    "app": Self.app, "account": "window-shopper", "receipt": receipt,
                ])
                #expect(purchase.state == "rejected")
                #expect(purchase.reason == "receipt_without_purchases")
                #expect(!purchase.finish)
            }
        }

        @Test("an App Review purchase, a store build's in the sandbox, works and is flagged")
        func appReview() async throws {
            try await withStack { _, client, database in
                let sale = try await buy(client, environment: "Sandbox")
                let purchase = try await client.settled([
                    "app": Self.app, "account": "app-review", "signed_transaction": sale.signedTransaction,
                    "environment": "production",
                ])
                #expect(purchase.state == "fulfilled")
                let rows = try await database.rows(
                    "SELECT environment, test_purchase FROM orders WHERE transaction_id = $1",
                    [.text(sale.transactionId)])
                let row = try #require(rows.first)
                #expect(try row.decode("environment", as: String.self) == "sandbox")
                #expect(try row.decodeIfPresent("test_purchase", as: String.self) == "app_review")
                let events = try await database.rows(
                    "SELECT body FROM events WHERE transaction_id = $1", [.text(sale.transactionId)])
                #expect(try events.contains { try $0.decode("body", as: String.self).contains("app_review") })
            }
        }

        @Test("a receipt too large for a message is read from the database, whole")
        func claimCheck() async throws {
            try await withStack { _, client, database in
                let account = "apple-id-of-a-collector"
                let order = [
                    "bundleId": Self.app, "productId": "gems.100", "type": "Consumable", "environment": "Production",
                    "account": account,
                ]
                let sales = try await client.sell(order, count: 1000)
                let receipt = try await client.receipt(app: Self.app, account: account)
                #expect(receipt.utf8.count > 256 << 10, "too small to be a test of claim checks")
                let named = try #require(sales.last)
                let purchase = try await client.settled([
                    "app": Self.app, "account": "collector", "receipt": receipt, "transaction_id": named.transactionId,
                ])
                #expect(purchase.state == "fulfilled")
                #expect(try await balance("collector", in: "production", database) == 100)
                let parked = try await database.number(
                    """
                    SELECT count(*) AS n FROM orders
                    WHERE transaction_id = ANY($1) AND state = 'parked' AND reason = 'unclaimed' AND account IS NULL
                    """, [.textArray(sales.map(\.transactionId))])
                #expect(parked == Int64(sales.count) - 1)
            }
        }
    }
}
