import Foundation
import Messages
import Postgres
import PurchaseModel
import Testing

extension EndToEnd {
    /// A transaction id is not a purchase: a purchase has several, is granted once and is taken back whole.
    ///
    /// What is bought here Apple does not tell of, so that the posts alone decide which id comes first.
    @Suite("One purchase")
    struct OnePurchaseTests {
        private typealias Player = IntakeClient.Player
        private typealias Sale = IntakeClient.Sale

        private static let app = "com.example.watched"
        private static let granted = "vip, 50 gem, vip.silver active"
        private static let takenBack = "0 gem, vip.silver revoked"

        @Test(
            "a month under four transaction ids is one order and one grant; a refund that names one of them takes it all",
            arguments: [false, true])
        func fourIds(isReversed: Bool) async throws {
            try await selling { client, database in
                let player = Player("four-ids")
                let month = try await buy("vip.silver", player, client)
                let restored = try await client.restore(app: Self.app, by: player)
                let sales = [month, restored] + (try await client.regrant(month, count: 2))
                #expect(Set(sales.map(\.transactionId)).count == 4)
                #expect(month.webOrderLineItemId != nil)
                #expect(Set(sales.map(\.webOrderLineItemId)) == [month.webOrderLineItemId])
                try await post(isReversed ? sales.reversed() : sales, by: player, client)
                #expect(try await client.account(player.account, app: Self.app).summary == Self.granted)
                #expect(try await grants(to: player, database) == 1)
                let ids = try await database.rows(
                    """
                    SELECT count(DISTINCT o.transaction_id) AS orders, count(*) AS ids
                    FROM orders o JOIN order_transactions t
                        ON (t.environment, t.order_transaction_id) = (o.environment, o.transaction_id)
                    WHERE o.account = $1
                    """, [.text(player.account)])
                let counts = try #require(ids.first)
                #expect(try counts.decode("orders", as: Int64.self) == 1)
                #expect(try counts.decode("ids", as: Int64.self) == 4)
                try await client.refund(sales[2])
                #expect(
                    try await client.wait(for: Self.takenBack, of: player.account, app: Self.app) == Self.takenBack)
            }
        }

        @Test("a refund that names an id which nobody posted takes all of the purchase", arguments: [false, true])
        func refundOfUnpostedId(isReversed: Bool) async throws {
            try await selling { client, _ in
                let player = Player("refunded-elsewhere")
                let month = try await buy("vip.silver", player, client)
                let copy = try #require(try await client.regrant(month).first)
                try await post([isReversed ? copy : month], by: player, client)
                #expect(try await client.account(player.account, app: Self.app).summary == Self.granted)
                try await client.refund(isReversed ? month : copy)
                #expect(
                    try await client.wait(for: Self.takenBack, of: player.account, app: Self.app) == Self.takenBack)
            }
        }

        @Test("a restored level pack is gone when its first id is refunded", arguments: [false, true])
        func restored(isReversed: Bool) async throws {
            try await selling { client, _ in
                let player = Player("restorer")
                let pack = try await buy("level.pack", player, client)
                let restored = try await client.restore(app: Self.app, by: player)
                #expect(restored.transactionId != pack.transactionId)
                try await post(isReversed ? [restored, pack] : [pack, restored], by: player, client)
                #expect(try await client.account(player.account, app: Self.app).summary == "levels")
                try await client.refund(pack)
                #expect(try await client.wait(for: "", of: player.account, app: Self.app) == "")
            }
        }

        @Test("a family member's copy of a month brings the entitlement and no items", arguments: [false, true])
        func familyCopy(isReversed: Bool) async throws {
            try await selling(isFamilyShareable: true) { client, database in
                let mother = Player("mother")
                let father = Player("father")
                for member in [mother, father] {
                    try await client.control(
                        "PUT", "accounts/\(member.appleId)", #"{"family":"family-of-\#(mother.account)"}"#)
                }
                let month = try await buy("vip.silver", mother, client)
                let copy = try #require(try await client.shown(app: Self.app, to: father).first)
                #expect(copy.originalTransactionId != month.originalTransactionId)
                let posts = [(sale: month, player: mother), (sale: copy, player: father)]
                for place in isReversed ? [1, 0] : [0, 1] {
                    try await post([posts[place].sale], by: posts[place].player, client)
                }
                let hers = try await client.account(mother.account, app: Self.app)
                #expect(hers.entitlements.map(\.entitlement) == ["vip"])
                #expect(hers.balances.map(\.amount) == [50])
                let his = try await client.account(father.account, app: Self.app)
                #expect(his.entitlements.map(\.entitlement) == ["vip"])
                #expect(his.balances.isEmpty)
                #expect(try await grants(to: father, database) == 0)
            }
        }

        @Test(
            "a subscription lapsed, and another account pays anew on the same Apple Account: the payer has it",
            arguments: [false, true])
        func paidAnew(isReversed: Bool) async throws {
            try await selling { client, database in
                let former = Player("former-payer")
                let payer = Player("new-payer")
                // Two months ago and a little more, so that the second payment is in the past, too, but not its end.
                try await client.setStoreClock(Date(timeIntervalSinceNow: -65 * 86_400))
                do {
                    let old = try await buy("vip.silver", former, client)
                    try await post([old], by: former, client)
                    try await client.control(
                        "POST", "subscriptions/\(old.originalTransactionId)/auto-renew", #"{"on":false}"#)
                    try await client.advanceStore("P2M")
                    let anew = try await buy("vip.silver", former, client)
                    #expect(anew.originalTransactionId == old.originalTransactionId)
                    #expect(anew.webOrderLineItemId != old.webOrderLineItemId)
                    let copy = try #require(try await client.regrant(anew).first)
                    try await post(isReversed ? [copy, anew] : [anew, copy], by: payer, client)
                } catch {
                    try await client.setStoreClock(Date())
                    throw error
                }
                try await client.setStoreClock(Date())
                #expect(try await client.account(payer.account, app: Self.app).summary == Self.granted)
                #expect(try await client.account(former.account, app: Self.app).summary == "50 gem")
                #expect(try await grants(to: payer, database) == 1)
            }
        }

        @Test(
            "what Apple took back before anybody posted it is not granted under another id", arguments: [false, true])
        func refundedBefore(isReversed: Bool) async throws {
            try await selling { client, database in
                let player = Player("too-late")
                let month = try await buy("vip.silver", player, client)
                let copy = try #require(try await client.regrant(month).first)
                let refunded = isReversed ? copy : month
                try await client.refund(refunded)
                let recorded = try await database.wait(
                    for: 1, within: .seconds(30),
                    """
                    SELECT count(*) AS n FROM orders
                    WHERE environment = 'production' AND transaction_id = $1 AND state = 'revoked'
                    """, [.text(refunded.transactionId)])
                #expect(recorded == 1, "Apple's word of what nobody has")
                let purchase = try await client.purchase(
                    (isReversed ? month : copy).signedTransaction, app: Self.app, account: player.account)
                #expect(purchase.state == "fulfilled")
                #expect(purchase.reason == "revoked_by_apple")
                #expect(purchase.transactions.map(\.state?.rawValue) == ["revoked"])
                let account = try await client.account(player.account, app: Self.app)
                #expect(account.entitlements.isEmpty)
                #expect(account.balances.isEmpty)
                #expect(try await grants(to: player, database) == 0)
            }
        }

        @Test(
            "one line item under two original ids: the second is held and told, and granted to nobody",
            arguments: [false, true])
        func contradiction(isReversed: Bool) async throws {
            try await selling { client, database in
                let player = Player("contradicted")
                let (month, other) = try await client.untold(Self.app) {
                    let month = try await buy("vip.silver", player, client)
                    let lineItem = try #require(month.webOrderLineItemId)
                    let other = try await client.sell(
                        withLineItem: lineItem, app: Self.app, to: Player("contradicting"))
                    return (month, other)
                }
                #expect(other.webOrderLineItemId == month.webOrderLineItemId)
                #expect(other.originalTransactionId != month.originalTransactionId)
                let (first, second) = isReversed ? (other, month) : (month, other)
                try await post([first], by: player, client)
                let held = try await client.purchase(
                    second.signedTransaction, app: Self.app, account: player.account)
                #expect(held.state == "parked")
                #expect(held.reason == "purchase_ambiguous")
                #expect(try await client.account(player.account, app: Self.app).summary == Self.granted)
                #expect(try await grants(to: player, database) == 1)
                let noted = try await database.number(
                    """
                    SELECT count(*) AS n FROM purchase_conflicts
                    WHERE transaction_id = $1 AND order_transaction_id = $2 AND cause = 'line_item_of_another'
                    """, [.text(second.transactionId), .text(first.transactionId)])
                #expect(noted == 1)
            }
        }

        // MARK: - Steps

        /// Runs a body with what the app sells defined; afterwards nothing is shared with families, and the books balance.
        private func selling(
            isFamilyShareable: Bool = false, _ body: (IntakeClient, Database) async throws -> Void
        ) async throws {
            try await withStack { stack, client, database in
                do {
                    try await define(isFamilyShareable: isFamilyShareable, client)
                    try await body(client, database)
                } catch {
                    try await define(isFamilyShareable: false, client)
                    throw error
                }
                try await define(isFamilyShareable: false, client)
                try await Ledger(database, stack).expectCleanAudit()
            }
        }

        private func define(isFamilyShareable: Bool, _ client: IntakeClient) async throws {
            for (id, level, price) in [("vip.silver", 2, 4990), ("vip.gold", 1, 9990)] {
                try await client.control(
                    "PUT", "apps/\(Self.app)/products/\(id)",
                    #"""
                    {"type":"Auto-Renewable Subscription","period":"P1M","price":\#(price),"level":\#(level),
                    "subscriptionGroupIdentifier":"21000077","isFamilyShareable":\#(isFamilyShareable)}
                    """#)
            }
            try await client.control(
                "PUT", "apps/\(Self.app)/products/level.pack", #"{"type":"Non-Consumable","price":2990}"#)
        }

        /// Buys, and Apple does not tell of it.
        private func buy(_ product: String, _ player: Player, _ client: IntakeClient) async throws -> Sale {
            let sales = try await client.untold(Self.app) {
                try await client.sell(["bundleId": Self.app, "productId": product, "account": player.appleId])
            }
            return try #require(sales.first)
        }

        /// Posts one after the other; each is fulfilled.
        private func post(_ sales: [Sale], by player: Player, _ client: IntakeClient) async throws {
            for sale in sales {
                let purchase = try await client.purchase(
                    sale.signedTransaction, app: Self.app, account: player.account)
                #expect(purchase.state == "fulfilled", "\(purchase.reason ?? "")")
                #expect(purchase.finish)
            }
        }

        /// How often anything was credited to an account.
        private func grants(to player: Player, _ database: Database) async throws -> Int64 {
            try await database.number(
                "SELECT count(*) AS n FROM ledger_entries WHERE account = $1 AND kind = 'grant'",
                [.text(player.account)])
        }
    }
}
