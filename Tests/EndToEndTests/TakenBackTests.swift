import Foundation
import Postgres
import Testing

extension EndToEnd {
    /// What Apple says while everything that listens is being killed.
    @Suite("Taken back under kills")
    struct TakenBackTests {
        private static let app = "com.example.watched"
        private static let playersCount = 12
        private static let salesOfEach = 6

        @Test("purchases that no app posts, refunds and reversals: every account has what Apple's last word leaves it")
        func killed() async throws {
            try await withStack { stack, client, database in
                let run = UInt32.random(in: 0...UInt32.max)
                let players = (0..<Self.playersCount).map { "told-\(run)-\($0)" }
                try await client.control(
                    "PUT", "apps/\(Self.app)/products/gems.100", #"{"type":"Consumable","price":990}"#)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for player in players { try await play(player, client) }
                    }
                    group.addTask {
                        for name in ["fulfillment", "receipt-intake", "verification-worker-1", "notification"] {
                            try await stack.crash(name)
                        }
                    }
                    try await group.waitForAll()
                }
                // Apple repeats what nobody took, last after 72 hours of the store's clock.
                try await client.advanceStore("P8D")
                try await client.setStoreClock(Date())
                // Of six: two are left alone, two are refunded, two are refunded and the refund is taken back.
                let right = try await database.wait(
                    for: Int64(players.count), within: .seconds(120),
                    "SELECT count(*) AS n FROM balances WHERE account = ANY($1) AND item = 'gem' AND amount = 400",
                    [.textArray(players)])
                #expect(right == Int64(players.count))
                let orders = try await database.rows(
                    """
                    SELECT count(*) FILTER (WHERE state = 'granted') AS granted,
                        count(*) FILTER (WHERE state = 'revoked') AS revoked
                    FROM orders WHERE account = ANY($1)
                    """, [.textArray(players)])
                let counts = try #require(orders.first)
                #expect(try counts.decode("granted", as: Int64.self) == Int64(players.count) * 4)
                #expect(try counts.decode("revoked", as: Int64.self) == Int64(players.count) * 2)
                try await Ledger(database, stack).expectCleanAudit()
            }
        }

        /// Buys six times with an intent each; the app posts none of them.
        private func play(_ player: String, _ client: IntakeClient) async throws {
            for number in 0..<Self.salesOfEach {
                let token = try await intent(player, client)
                let sale = try #require(
                    try await client.sell([
                        "bundleId": Self.app, "productId": "gems.100", "appAccountToken": token,
                    ]).first)
                guard number >= 2 else { continue }
                try await client.control("POST", "transactions/\(sale.transactionId)/refund", "{}")
                guard number >= 4 else { continue }
                // Apple signs to the millisecond; of two statements of one instant the worse one counts.
                try await client.advanceStore("1s")
                try await client.control("POST", "transactions/\(sale.transactionId)/reverse-refund", "{}")
            }
        }

        /// An intent, asked for again while intake is being killed; as a studio's server does.
        private func intent(_ player: String, _ client: IntakeClient) async throws -> String {
            let deadline = ContinuousClock.now + .seconds(30)
            while true {
                do {
                    return try await client.intent(player, app: Self.app, product: "gems.100")
                } catch {
                    guard ContinuousClock.now < deadline else { throw error }
                    // Nothing listens for a second; there is nobody who could signal its return.
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
        }
    }
}
