import Foundation
import Postgres
import Testing

extension EndToEnd {
    /// Apple gives a subscription other ids and other tokens than it had: it stays one, and whose it was.
    @Suite("Ids and tokens that change later")
    struct LateIdsTests {
        private typealias Player = IntakeClient.Player

        private static let app = LatePlans.app

        // MARK: - Tokens

        @Test(
            "one lineage, two tokens: each period's items are its own token's account's, whichever comes first",
            arguments: [false, true])
        func twoTokens(isReversed: Bool) async throws {
            try await LatePlans.selling { _, client, database in
                let (former, later) = (Player("first-token"), Player("second-token"))
                let formerToken = try await client.intent(former.account, app: Self.app, product: "vip.silver")
                let laterToken = try await client.intent(later.account, app: Self.app, product: "vip.silver")
                try await client.daysAgo(33) {
                    let first = try await client.subscribeUntold(former, token: formerToken)
                    try await client.untold(Self.app) { try await client.advanceStore("P32D") }
                    let second = try await client.latest(of: first.originalTransactionId)
                    #expect(second != first.transactionId)
                    let periods = [
                        (type: "SUBSCRIBED/INITIAL_BUY", id: first.transactionId, token: formerToken),
                        (type: "DID_RENEW", id: second, token: laterToken),
                    ]
                    for period in isReversed ? periods.reversed() : periods {
                        let fields = #"{"appAccountToken":"\#(period.token)"}"#
                        let told = try await client.tell(
                            period.type, of: period.id, with: fields, data: #"{"signedRenewalInfo":\#(fields)}"#)
                        #expect(try await database.hasSettled(notification: told))
                    }
                }
                let account = try await client.wait(for: LatePlans.granted, of: later.account, app: Self.app)
                #expect(account == LatePlans.granted)
                let gems = try await client.account(former.account, app: Self.app).balances.map(\.amount)
                #expect(gems == [50])
            }
        }

        // MARK: - Original ids

        @Test(
            "a month comes again under another original id, and renews under that: one subscription, one lineage",
            arguments: [false, true])
        func moved(isReversed: Bool) async throws {
            try await LatePlans.selling { _, client, database in
                let player = Player("moved")
                let token = try await client.intent(player.account, app: Self.app, product: "vip.silver")
                try await client.daysAgo(33) {
                    let month = try await client.subscribeUntold(player, token: token)
                    try await post(month.signedTransaction, by: player, client)
                    let other = try await client.move(month.originalTransactionId)
                    #expect(other != month.originalTransactionId)
                    let anew = try await client.signedAnew(month)
                    try await client.untold(Self.app) { try await client.advanceStore("P32D") }
                    let renewal = try await client.latest(of: other)
                    if !isReversed { try await post(anew, by: player, client) }
                    try await client.tell("DID_RENEW", of: renewal)
                    let told = try await database.wait(
                        for: 1, within: .seconds(30),
                        "SELECT count(*) AS n FROM orders WHERE transaction_id = $1 AND state = 'granted'",
                        [.text(renewal)])
                    #expect(told == 1)
                    if isReversed { try await post(anew, by: player, client) }
                }
                try await expectOne("vip, 100 gem, vip.silver active", of: player, client, database)
            }
        }

        @Test("a subscription moves to another original id and back, renewing each time: one subscription")
        func movedBack() async throws {
            try await LatePlans.selling { _, client, database in
                let player = Player("there-and-back")
                let token = try await client.intent(player.account, app: Self.app, product: "vip.silver")
                try await client.daysAgo(64) {
                    let month = try await client.subscribeUntold(player, token: token)
                    try await post(month.signedTransaction, by: player, client)
                    let other = try await client.move(month.originalTransactionId)
                    try await post(try await client.signedAnew(month), by: player, client)
                    try await client.advanceStore("P32D")
                    let second = try await client.latest(of: other)
                    #expect(
                        try await client.move(other, to: month.originalTransactionId) == month.originalTransactionId)
                    try await post(try await client.signed(second), by: player, client)
                    try await client.advanceStore("P31D")
                }
                try await expectOne("vip, 150 gem, vip.silver active", of: player, client, database)
            }
        }

        @Test(
            "`previousOriginalTransactionId` names a subscription of an account, without a token: the new one is its",
            arguments: [false, true])
        func previousOriginalId(isReversed: Bool) async throws {
            try await LatePlans.selling { _, client, database in
                let (player, buyer) = (Player("unbundler"), Player("unbundled"))
                let old = try await client.subscribeUntold(player)
                let new = try await client.subscribeUntold(buyer, to: "vip.gold")
                let fields = #"{"previousOriginalTransactionId":"\#(old.originalTransactionId)"}"#
                // Apple's servers say the same when they are asked.
                _ = try await client.signed(new.transactionId, with: fields, isKept: true)
                if !isReversed { try await post(old.signedTransaction, by: player, client) }
                let told = try await client.tell("SUBSCRIBED/INITIAL_BUY", of: new.transactionId)
                #expect(try await database.hasSettled(notification: told))
                if isReversed { try await post(old.signedTransaction, by: player, client) }
                let owned = try await database.wait(
                    for: 1, within: .seconds(30),
                    """
                    SELECT count(*) AS n FROM orders WHERE transaction_id = $1 AND account = $2 AND state = 'granted'
                    """, [.text(new.transactionId), .text(player.account)])
                #expect(owned == 1)
                let account = try await client.account(player.account, app: Self.app)
                #expect(Set(account.entitlements.map(\.entitlement)) == ["gold", "vip"])
                #expect(account.balances.map(\.amount) == [140])
            }
        }

        // MARK: - Families

        @Test(
            "a family member's copy with the payer's line item brings the entitlement and no items",
            arguments: [false, true])
        func familyCopyWithPayersLineItem(isReversed: Bool) async throws {
            try await LatePlans.selling(isFamilyShareable: true) { _, client, database in
                let (payer, member) = try await family(client)
                let month = try await client.subscribeUntold(payer)
                let copy = try #require(try await client.shown(app: Self.app, to: member).first)
                let lineItem = try #require(month.webOrderLineItemId)
                #expect(copy.webOrderLineItemId != lineItem)
                let signedCopy = try await client.signed(
                    copy.transactionId, with: #"{"webOrderLineItemId":"\#(lineItem)"}"#, isKept: true)
                let posts = [(month.signedTransaction, payer), (signedCopy, member)]
                for place in isReversed ? [1, 0] : [0, 1] {
                    try await post(posts[place].0, by: posts[place].1, client)
                }
                #expect(try await client.account(payer.account, app: Self.app).summary == LatePlans.granted)
                #expect(
                    try await client.account(member.account, app: Self.app).summary == "vip, vip.silver active")
                let grants = try await database.number(
                    "SELECT count(*) AS n FROM ledger_entries WHERE account = ANY($1) AND kind = 'grant'",
                    [.textArray([payer.account, member.account])])
                #expect(grants == 1)
            }
        }

        @Test("a personal and a family entry in one group: the end of one leaves the other's access")
        func personalAndFamily() async throws {
            try await LatePlans.selling(isFamilyShareable: true) { _, client, _ in
                let (payer, member) = try await family(client)
                let shared = try await client.subscribeUntold(payer)
                let copy = try #require(try await client.shown(app: Self.app, to: member).first)
                // The payer's family has only one who pays for himself, too.
                try await client.definePlans()
                let own = try await client.subscribeUntold(member)
                #expect(own.originalTransactionId != copy.originalTransactionId)
                try await post(shared.signedTransaction, by: payer, client)
                try await post(copy.signedTransaction, by: member, client)
                try await post(own.signedTransaction, by: member, client)
                #expect(
                    try await client.account(member.account, app: Self.app).summary
                        == "vip, 50 gem, vip.silver active, vip.silver active")
                try await client.control("POST", "transactions/\(copy.transactionId)/stop-sharing", "{}")
                let left = "vip, 50 gem, vip.silver active, vip.silver revoked"
                #expect(try await client.wait(for: left, of: member.account, app: Self.app) == left)
                #expect(try await client.account(payer.account, app: Self.app).summary == LatePlans.granted)
            }
        }

        // MARK: - An old one beside a new one

        @Test("an old lineage in 60 days of billing retry beside a new one: the new one's access never moves")
        func retryBesideNew() async throws {
            try await LatePlans.selling { _, client, database in
                let (player, second) = (Player("retried"), Player("of-the-same-player"))
                try await client.daysAgo(95) {
                    let token = try await client.intent(player.account, app: Self.app, product: "vip.silver")
                    let old = try await client.subscribeUntold(player, token: token)
                    try await client.tell("SUBSCRIBED/INITIAL_BUY", of: old.transactionId)
                    try await client.control(
                        "POST", "subscriptions/\(old.originalTransactionId)/payment", #"{"fails":true}"#)
                    // Grace is over, and billing is tried until five days ago.
                    try await client.advanceStore("P89D")
                    let again = try await client.intent(player.account, app: Self.app, product: "vip.silver")
                    let new = try #require(
                        try await client.sell([
                            "bundleId": Self.app, "productId": "vip.silver", "account": second.appleId,
                            "appAccountToken": again,
                        ]).first)
                    let beside = "vip, 100 gem, vip.silver active, vip.silver billing_retry"
                    #expect(try await client.wait(for: beside, of: player.account, app: Self.app) == beside)
                    let until = try await access(new.originalTransactionId, database)
                    // Late, and of the old one only.
                    let failure = try await client.tell("DID_FAIL_TO_RENEW", of: old.transactionId)
                    #expect(try await database.hasSettled(notification: failure))
                    try await client.advanceStore("P5D")
                    let over = "vip, 100 gem, vip.silver active, vip.silver expired"
                    #expect(try await client.wait(for: over, of: player.account, app: Self.app) == over)
                    #expect(try await access(new.originalTransactionId, database) == until)
                }
            }
        }

        @Test("a month is bought, refunded and bought again: there is one month's worth")
        func boughtAgain() async throws {
            try await LatePlans.selling { _, client, database in
                let player = Player("buyer-again")
                try await client.daysAgo(0.01) {
                    let month = try await client.subscribeUntold(player)
                    try await post(month.signedTransaction, by: player, client)
                    try await client.refund(month)
                    #expect(
                        try await client.wait(for: LatePlans.takenBack, of: player.account, app: Self.app)
                            == LatePlans.takenBack)
                    try await client.advanceStore("1m")
                    let again = try await client.subscribeUntold(player)
                    #expect(again.originalTransactionId == month.originalTransactionId)
                    #expect(again.webOrderLineItemId != month.webOrderLineItemId)
                    try await post(again.signedTransaction, by: player, client)
                    #expect(try await client.account(player.account, app: Self.app).summary == LatePlans.granted)
                    // The refund comes once more, late.
                    let refund = try await client.tell("REFUND", of: month.transactionId)
                    #expect(try await database.hasSettled(notification: refund))
                    #expect(try await client.account(player.account, app: Self.app).summary == LatePlans.granted)
                }
            }
        }

        // MARK: - Steps

        private func post(_ jws: String, by player: Player, _ client: IntakeClient) async throws {
            let purchase = try await client.purchase(jws, app: Self.app, account: player.account)
            #expect(purchase.state == "fulfilled", "\(purchase.reason ?? "")")
            #expect(purchase.finish)
        }

        /// One subscription, and none that waits for its end for ever.
        private func expectOne(
            _ summary: String, of player: Player, _ client: IntakeClient, _ database: Database
        ) async throws {
            let account = try await client.wait(for: summary, of: player.account, app: Self.app)
            #expect(account == summary)
            let due = try await database.number(
                "SELECT count(*) AS n FROM subscriptions WHERE account = $1 AND due_at < now() - interval '1 minute'",
                [.text(player.account)])
            #expect(due == 0, "subscriptions that are due for ever")
        }

        /// Until when a subscription may be used, in seconds since 1970.
        private func access(_ originalTransactionId: String, _ database: Database) async throws -> Int64 {
            try await database.number(
                """
                SELECT extract(epoch FROM access_until)::int8 AS n FROM subscriptions
                WHERE original_transaction_id = $1
                """, [.text(originalTransactionId)])
        }

        private func family(_ client: IntakeClient) async throws -> (payer: Player, member: Player) {
            let (payer, member) = (Player("payer"), Player("member"))
            for one in [payer, member] {
                try await client.control(
                    "PUT", "accounts/\(one.appleId)", #"{"family":"family-of-\#(payer.account)"}"#)
            }
            return (payer, member)
        }
    }
}
