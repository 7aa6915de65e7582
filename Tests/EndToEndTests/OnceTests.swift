import Foundation
import Messages
import Postgres
import Testing

extension EndToEnd {
    /// Never granted twice, never to the wrong account.
    @Suite("Once")
    struct OnceTests {
        private static let gems = [
            "bundleId": "com.example.game", "productId": "gems.100", "type": "Consumable",
        ]

        @Test("ten simultaneous posts of one transaction by one account grant once, and all ten hear so")
        func tenAtOnce() async throws {
            try await withStack { _, client, database in
                let sale = try #require(try await client.sell(Self.gems).first)
                let purchases = try await postAtOnce(sale, accounts: Array(repeating: "ten-times", count: 10), client)
                #expect(Set(purchases.map(\.id)).count == 1)
                #expect(purchases.allSatisfy { $0.state == "fulfilled" && $0.finish })
                try await expectGrantedOnce(sale, to: "ten-times", database)
            }
        }

        @Test("ten simultaneous posts by two accounts grant once, to one of them; the other is refused")
        func twoAccounts() async throws {
            try await withStack { _, client, database in
                let sale = try #require(try await client.sell(Self.gems).first)
                let accounts = (0..<10).map { $0.isMultiple(of: 2) ? "twin-a" : "twin-b" }
                let purchases = try await postAtOnce(sale, accounts: accounts, client)
                let owners = Set(zip(accounts, purchases).filter { $0.1.state == "fulfilled" }.map(\.0))
                let owner = try #require(owners.first)
                #expect(owners.count == 1)
                for (account, purchase) in zip(accounts, purchases) where account != owner {
                    #expect(purchase.state == "rejected")
                    #expect(purchase.reason == "belongs_to_another_account")
                    #expect(purchase.finish)
                }
                try await expectGrantedOnce(sale, to: owner, database)
            }
        }

        @Test("the account that Apple's signed token names gets it, whoever posts it")
        func tokenNamesTheBuyer() async throws {
            try await withStack { _, client, database in
                let token = UUID().uuidString.lowercased()
                let registered = try await client.register(token: token, app: "com.example.game", account: "buyer")
                #expect(registered.status == 200)
                let taken = try await client.register(token: token, app: "com.example.game", account: "thief")
                #expect(taken.status == 409)
                let order = Self.gems.merging(["appAccountToken": token]) { $1 }
                let sale = try #require(try await client.sell(order).first)
                let purchase = try await client.purchase(
                    sale.signedTransaction, app: "com.example.game", account: "thief")
                #expect(purchase.state == "rejected")
                #expect(purchase.reason == "belongs_to_another_account")
                try await expectGrantedOnce(sale, to: "buyer", database)
                let stolen = try await database.number("SELECT count(*) AS n FROM balances WHERE account = 'thief'")
                #expect(stolen == 0)
            }
        }

        @Test("a token that is registered later releases the parked order to its account")
        func tokenRegisteredLater() async throws {
            try await withStack { _, client, database in
                let token = UUID().uuidString.lowercased()
                let order = Self.gems.merging(["appAccountToken": token]) { $1 }
                let sale = try #require(try await client.sell(order).first)
                let parked = try await client.purchase(
                    sale.signedTransaction, app: "com.example.game", account: "late-buyer")
                #expect(parked.state == "parked")
                #expect(parked.reason == "account_token_unknown")
                _ = try await client.register(token: token, app: "com.example.game", account: "late-buyer")
                let granted = try await database.wait(
                    for: 1, within: .seconds(30),
                    "SELECT count(*) AS n FROM orders WHERE transaction_id = $1 AND state = 'granted'",
                    [.text(sale.transactionId)])
                #expect(granted == 1)
                try await expectGrantedOnce(sale, to: "late-buyer", database)
                #expect(try await client.status(of: parked.id).state == "fulfilled")
            }
        }

        @Test("5,000 purchases with 30 % duplicates leave one order, one grant and at least one webhook each")
        func fiveThousand() async throws {
            try await withStack { stack, _, database in
                let report = try await Load(stack).run([
                    "--count", "5000", "--duplicates", "0.3", "--forgeries", "0.02",
                ])
                #expect(report.purchases.count == 5000)
                try await Ledger(database, stack).expectExactlyOnce(report)
            }
        }

        private func postAtOnce(
            _ sale: IntakeClient.Sale, accounts: [String], _ client: IntakeClient
        ) async throws -> [IntakeClient.Purchase] {
            try await withThrowingTaskGroup(of: (Int, IntakeClient.Purchase).self) { group in
                for (index, account) in accounts.enumerated() {
                    group.addTask {
                        let purchase = try await client.purchase(
                            sale.signedTransaction, app: "com.example.game", account: account)
                        return (index, purchase)
                    }
                }
                var purchases: [(Int, IntakeClient.Purchase)] = []
                for try await purchase in group { purchases.append(purchase) }
                return purchases.sorted { $0.0 < $1.0 }.map(\.1)
            }
        }

        private func expectGrantedOnce(
            _ sale: IntakeClient.Sale, to account: String, _ database: Database
        ) async throws {
            let orders = try await database.number(
                """
                SELECT count(*) AS n FROM orders
                WHERE transaction_id = $1 AND state = 'granted' AND account = $2 AND environment = 'production'
                """, [.text(sale.transactionId), .text(account)])
            #expect(orders == 1)
            let entries = try await database.rows(
                "SELECT account, item, amount FROM ledger_entries WHERE transaction_id = $1",
                [.text(sale.transactionId)])
            #expect(entries.count == 1)
            let entry = try #require(entries.first)
            #expect(try entry.decode("account", as: String.self) == account)
            #expect(try entry.decode("item", as: String.self) == "gem")
            #expect(try entry.decode("amount", as: Int64.self) == 100)
        }
    }
}
