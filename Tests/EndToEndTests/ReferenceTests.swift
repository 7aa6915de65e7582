import Foundation
import NIOHTTP1
import Postgres
import ProcessTesting
import Testing

extension EndToEnd {
    /// The studio's own number of an order, from the app's intent to the studio's backend and its support.
    @Suite("The app's own order number")
    struct ReferenceTests {
        private static let app = "com.example.game"

        @Test("it comes back in the event, the order and the intent, and finds the purchase")
        func travels() async throws {
            try await withStack { stack, client, database in
                let account = "player-\(UUID().uuidString)"
                let reference = #"order 10042 "a\b" \#(UUID().uuidString)"#
                let token = try await client.intent(account, app: Self.app, product: "gems.100", reference: reference)
                let sold = try await client.sell([
                    "bundleId": Self.app, "productId": "gems.100", "type": "Consumable", "account": account,
                    "appAccountToken": token,
                ])
                let sale = try #require(sold.first)
                let purchase = try await client.purchase(sale.signedTransaction, app: Self.app, account: account)
                #expect(purchase.state == "fulfilled")
                let events = try await database.rows(
                    "SELECT body::jsonb #>> '{data,reference}' AS reference FROM events WHERE account = $1",
                    [.text(account)])
                #expect(try events.map { try $0.decodeIfPresent("reference", as: String.self) } == [reference])
                for path in ["orders/\(sale.transactionId)", "intents/\(token)"] {
                    let answer = try await client.send(
                        .GET, "\(client.intake)/v1/\(path)?app=\(Self.app)", headers: client.headers())
                    let fields = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
                    #expect(fields?["reference"] as? String == reference, "\(path): \(answer.status)")
                }
                let found = try await stack.built("countersign", ["inspect", reference]).result()
                #expect(found.contains(sale.transactionId), "\(found)")
            }
        }
    }
}
