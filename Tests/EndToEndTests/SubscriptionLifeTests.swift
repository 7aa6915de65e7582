import Foundation
import NIOHTTP1
import Postgres
import Testing

extension EndToEnd {
    /// Subscriptions as Apple's notifications tell of them, with nothing posted by any app.
    ///
    /// The store's clock begins in the past, so that what it does reaches the present: the services' clock is real.
    @Suite("A subscription's life")
    struct SubscriptionLifeTests {
        private static let app = "com.example.watched"

        private func subscribe(
            _ player: String, to product: String, days: Double,
            _ body: (IntakeClient, Database, IntakeClient.Sale) async throws -> Void
        ) async throws {
            try await withStack { stack, client, database in
                try await client.setStoreClock(Date(timeIntervalSinceNow: -days * 86_400))
                do {
                    let token = try await client.intent(player, app: Self.app, product: product)
                    let sale = try #require(
                        try await client.sell([
                            "bundleId": Self.app, "productId": product, "appAccountToken": token,
                            "account": "apple-id-of-\(player)",
                        ]).first)
                    try await body(client, database, sale)
                } catch {
                    try await client.setStoreClock(Date())
                    throw error
                }
                try await client.setStoreClock(Date())
                try await Ledger(database, stack).expectCleanAudit()
            }
        }

        private func define(_ client: IntakeClient) async throws {
            for (id, level, price) in [("vip.silver", 2, 4990), ("vip.gold", 1, 9990)] {
                try await client.control(
                    "PUT", "apps/\(Self.app)/products/\(id)",
                    #"{"type":"Auto-Renewable Subscription","period":"P1M","price":\#(price),"level":\#(level),"subscriptionGroupIdentifier":"21000077"}"#
                )
            }
        }

        @Test(
            "it renews, fails, is in grace, recovers, is upgraded and refunded; the account has what it should each time"
        )
        func life() async throws {
            try await withStack { _, client, _ in try await define(client) }
            let player = "subscriber-\(UInt32.random(in: 0...UInt32.max))"
            try await subscribe(player, to: "vip.silver", days: 95) { client, database, sale in
                let before = try await client.subscriptionFigures(app: Self.app)
                let sandbox = try await client.subscriptionFigures(app: Self.app, environment: "sandbox")
                #expect(
                    try await client.wait(
                        for: "50 gem, vip.silver expired", of: player, app: Self.app) == "50 gem, vip.silver expired",
                    "a period that lies in the past by the real clock")
                try await client.advanceStore("P3M")
                let renewed = "vip, 200 gem, vip.silver active"
                #expect(try await client.wait(for: renewed, of: player, app: Self.app) == renewed)
                let subscription = "subscriptions/\(sale.originalTransactionId)"
                try await client.control("POST", "\(subscription)/plan", #"{"productId":"vip.gold"}"#)
                let upgraded = "gold, vip, 290 gem, vip.gold active"
                #expect(try await client.wait(for: upgraded, of: player, app: Self.app) == upgraded)
                let orders = try await database.number(
                    "SELECT count(*) AS n FROM orders WHERE original_transaction_id = $1 AND account = $2",
                    [.text(sale.originalTransactionId), .text(player)])
                #expect(orders == 5)
                let last = try await database.rows(
                    "SELECT transaction_id FROM subscriptions WHERE original_transaction_id = $1",
                    [.text(sale.originalTransactionId)])
                let current = try #require(try last.first?.decode("transaction_id", as: String.self))
                try await client.control("POST", "transactions/\(current)/refund", "{}")
                let refunded = "200 gem, vip.gold revoked"
                #expect(try await client.wait(for: refunded, of: player, app: Self.app) == refunded)
                // Three months and an upgrade; the notification of the first period may have been counted before.
                let figures = try await client.subscriptionFigures(app: Self.app) - before
                #expect(figures.renewed == 4 && figures.returned == 0)
                let all = try await client.subscriptionFigures(app: Self.app)
                let open = try await database.number(
                    """
                    SELECT count(*) AS n FROM subscriptions WHERE app = $1 AND environment = 'production'
                        AND state IN ('active', 'grace_period')
                    """, [.text(Self.app)])
                #expect(Int64(all.started + all.returned - all.ended) == open)
                #expect(try await client.subscriptionFigures(app: Self.app, environment: "sandbox") == sandbox)
            }
        }

        @Test("a failed payment leaves access in grace, ends it after, and a recovered one gives it back")
        func grace() async throws {
            try await withStack { _, client, _ in try await define(client) }
            let player = "late-payer-\(UInt32.random(in: 0...UInt32.max))"
            // A month ago and a little more: the period is over, and sixteen days of grace have begun.
            try await subscribe(player, to: "vip.silver", days: 33) { client, database, sale in
                let subscription = "subscriptions/\(sale.originalTransactionId)"
                try await client.control("POST", "\(subscription)/payment", #"{"fails":true}"#)
                try await client.advanceStore("P32D")
                let inGrace = "vip, 50 gem, vip.silver grace_period"
                #expect(try await client.wait(for: inGrace, of: player, app: Self.app) == inGrace)
                try await client.control("POST", "\(subscription)/payment", #"{"fails":false}"#)
                try await client.advanceStore("P1D")
                let recovered = "vip, 100 gem, vip.silver active"
                #expect(try await client.wait(for: recovered, of: player, app: Self.app) == recovered)
                let told = try await database.rows(
                    """
                    SELECT string_agg(type, ' ' ORDER BY sequence) AS types FROM events
                    WHERE account = $1 AND type LIKE 'iap.subscription.%'
                    """, [.text(player)])
                let types = try #require(try told.first?.decode("types", as: String.self)).split(separator: " ")
                #expect(types.contains("iap.subscription.grace_started"))
                #expect(types.last == "iap.subscription.recovered")
            }
        }

        @Test("what ends, ends by the clock: nobody says a word, and the backend is told")
        func clock() async throws {
            let player = "passer-by-\(UInt32.random(in: 0...UInt32.max))"
            try await withStack { _, client, database in
                // Not watched: this app has no notifications, and the purchase is posted.
                let ends = Date(timeIntervalSinceNow: 6)
                let answer = try await client.send(
                    .POST, "\(client.simulator)/simulator/v1/sales", headers: ["content-type": "application/json"],
                    body: Array(
                        """
                        {"bundleId":"com.example.game","productId":"vip.short","type":"Auto-Renewable Subscription",
                        "expiresDate":\(Int64(ends.timeIntervalSince1970 * 1000))}
                        """.utf8))
                struct Sales: Decodable { let transactions: [IntakeClient.Sale] }
                let sale = try #require(try JSONDecoder().decode(Sales.self, from: answer.body).transactions.first)
                let purchase = try await client.purchase(
                    sale.signedTransaction, app: "com.example.game", account: player)
                #expect(purchase.state == "fulfilled")
                #expect(
                    try await client.wait(for: "vip.short expired", of: player, app: "com.example.game")
                        == "vip.short expired")
                let told = try await database.wait(
                    for: 1, within: .seconds(30),
                    "SELECT count(*) AS n FROM events WHERE account = $1 AND type = 'iap.subscription.expired'",
                    [.text(player)])
                #expect(told == 1)
            }
        }
    }
}
