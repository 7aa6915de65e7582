import Foundation
import Messages
import Postgres
import PurchaseModel
import Testing
import VectorTesting

extension EndToEnd {
    /// What Apple really signed goes in by HTTP, and comes out as Apple's data says.
    @Suite("Real input", .enabled(if: Vectors.areAvailable, Comment(rawValue: Vectors.skipped)))
    struct RealInputTests {
        /// The token inside one of the genuine transactions, which only a registered account may have.
        private static let token = "207262da-1ac8-4e0a-a399-5aa62a82800f"

        @Test("every genuine transaction is fulfilled, with the ids, product and dates of the index")
        func genuine() async throws {
            let entries = Vectors.all(in: "jws-apple").filter { $0.kind == "transaction" }
            #expect(entries.count == 8)
            try await withStack { _, client, database in
                let registered = try await client.register(
                    token: Self.token, app: "Com.VoiceRecording.Telephone", account: "vector-player")
                #expect(registered.status == 200)
                for entry in entries where entry.expected.environment != nil {
                    try await expectFulfilled(entry, client, database)
                }
            }
        }

        private func expectFulfilled(
            _ entry: Vectors.Vector, _ client: IntakeClient, _ database: Database
        ) async throws {
            let expected = entry.expected
            let purchase = try await client.purchase(
                try entry.text, app: try #require(expected.bundleId), account: "vector-player")
            #expect(purchase.state == "fulfilled", "\(entry.file)")
            #expect(purchase.finish)
            let transaction = try #require(purchase.transactions.first)
            #expect(purchase.transactions.count == 1)
            #expect(transaction.transactionId == expected.transactionId)
            #expect(transaction.originalTransactionId == expected.originalTransactionId)
            #expect(transaction.productId == expected.productId)
            #expect(transaction.environment == .sandbox)
            #expect(transaction.purchaseDate.timeIntervalSince1970 * 1000 == expected.purchaseDate)
            #expect(transaction.expiresDate.map { $0.timeIntervalSince1970 * 1000 } == expected.expiresDate)
            #expect(transaction.state == (expected.revocationDate == nil ? .granted : .revoked))
            let rows = try await database.rows(
                """
                SELECT state, account, app, product_id, (extract(epoch FROM signed_date) * 1000)::int8 AS signed
                FROM orders WHERE environment = 'sandbox' AND transaction_id = $1
                """, [.text(expected.transactionId)])
            let order = try #require(rows.first)
            #expect(try order.decode("state", as: String.self) == transaction.state?.rawValue)
            #expect(try order.decode("account", as: String.self) == "vector-player")
            #expect(try order.decode("app", as: String.self) == expected.bundleId)
            #expect(try order.decode("product_id", as: String.self) == expected.productId)
            #expect(Double(try order.decode("signed", as: Int64.self)) == expected.signedDate)
        }

        @Test("a genuine transaction of 2021 names no environment: parked, granted to nobody, not finished")
        func withoutEnvironment() async throws {
            let entries = Vectors.all(in: "jws-apple").filter {
                $0.kind == "transaction" && $0.expected.environment == nil
            }
            #expect(entries.count == 2)
            try await withStack { _, client, database in
                for entry in entries {
                    let expected = entry.expected
                    let purchase = try await client.purchase(
                        try entry.text, app: try #require(expected.bundleId), account: "vector-player")
                    #expect(purchase.state == "parked")
                    #expect(purchase.reason == ReasonCode.environmentMissing.rawValue)
                    #expect(!purchase.finish)
                    #expect(purchase.transactions.first?.transactionId == expected.transactionId)
                    let orders = try await database.number(
                        """
                        SELECT count(*) AS n FROM orders
                        WHERE transaction_id = $1 AND state = 'parked' AND reason = 'environment_missing'
                            AND account IS NULL AND granted_at IS NULL
                        """, [.text(expected.transactionId)])
                    #expect(orders == 1)
                }
            }
        }

        @Test("other things that Apple signed are no purchases")
        func notTransactions() async throws {
            let entries = Vectors.all(in: "jws-apple").filter { $0.kind != "transaction" }
            #expect(entries.count >= 10)
            try await withStack { _, client, _ in
                for entry in entries {
                    let purchase = try await client.purchase(
                        try entry.text, app: "com.example.game", account: "vector-player")
                    #expect(purchase.state == "rejected", "\(entry.file)")
                    #expect(purchase.reason == "not_a_transaction", "\(entry.file)")
                    #expect(!purchase.finish)
                }
            }
        }

        private static let refusals = [
            // `alg` is HS256 over a genuine header.
            "jws-negative/getmimo-algparameterisunsupported-fails.jws": "algorithm_not_es256",
            // Edited, and without a signedDate to judge the chain at, which is looked for first.
            "jws-negative/notification-v2-subscribed-resubscribe-com-example-app-44253a.jws": "signed_date_missing",
            // `x5c` is empty.
            "jws-negative/notification-v2-test-com-example-1706887729389-d3496f.jws": "certificate_count",
            // The intermediate stands in the leaf's place.
            "jws-negative/notification-v2-test-com-getmimo-mimo-1706887729389-ad1e6f.jws": "chain_invalid",
            // A genuine chain over an edited payload.
            "jws-negative/transaction-auto-renewable-subscription-com-example-app-1714925642898-3b8e06.jws":
                "signature_invalid",
            "jws-xcode/app-transaction-com-example-naturelab-backyardbirds-example-880511.jws": "environment_xcode",
            "jws-xcode/renewal-info-pass-premium-1697679936711-0747-3db823.jws": "environment_xcode",
        ]

        @Test("everything that Apple did not sign is refused, each for its own reason, and nothing is granted")
        func refused() async throws {
            let listed = Vectors.all(in: "jws-negative") + Vectors.all(in: "jws-xcode")
            #expect(Set(listed.map(\.file)) == Set(Self.refusals.keys))
            try await withStack { _, client, database in
                let before = try await database.number("SELECT count(*) AS n FROM orders")
                for vector in listed {
                    let purchase = try await client.purchase(
                        try vector.text, app: "com.example.app", account: "forger")
                    #expect(purchase.state == "rejected", "\(vector)")
                    #expect(purchase.reason == Self.refusals[vector.file], "\(vector)")
                    #expect(!purchase.finish)
                }
                #expect(try await database.number("SELECT count(*) AS n FROM orders") == before)
                let balances = try await database.number(
                    "SELECT count(*) AS n FROM balances WHERE account = 'forger'")
                #expect(balances == 0)
            }
        }
    }
}
