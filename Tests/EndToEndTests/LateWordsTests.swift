import Foundation
import NIOHTTP1
import Postgres
import ProcessTesting
import Testing

extension EndToEnd {
    /// What Apple says later than it was expected, and in words and forms that nobody knew.
    @Suite("Late words")
    struct LateWordsTests {
        private typealias Player = IntakeClient.Player

        private static let app = LatePlans.app
        private static let game = "com.example.game"
        /// What a device shows of a refunded purchase whose refund it has not heard of.
        private static let withoutRefund =
            #"{"revocationDate":null,"revocationReason":null,"revocationType":null,"revocationPercentage":null}"#

        // MARK: - Refunds

        @Test(
            "a device shows a refunded month without the refund, signed later: it stands until Apple's server says so",
            arguments: [false, true])
        func staleDevice(isDeviceFirst: Bool) async throws {
            try await LatePlans.selling { _, client, _ in
                let player = Player("refunded")
                try await client.daysAgo(0.01) {
                    let month = try await granted(player, client)
                    let refund = try await client.withheld(Self.app, "transactions/\(month.transactionId)/refund")
                    try await client.advanceStore("5s")
                    let stale = try await client.signed(month.transactionId, with: Self.withoutRefund)
                    if isDeviceFirst { try await settle(stale, by: player, client) }
                    try await client.sendNotification(refund)
                    let revoked = LatePlans.takenBack
                    let refunded = try await client.wait(for: revoked, of: player.account, app: Self.app)
                    #expect(refunded == revoked)
                    if !isDeviceFirst { try await settle(stale, by: player, client) }
                    let shown = try await client.account(player.account, app: Self.app).summary
                    #expect(shown == revoked)
                    try await client.advanceStore("5s")
                    try await client.control("POST", "transactions/\(month.transactionId)/reverse-refund", "{}")
                    #expect(
                        try await client.wait(for: LatePlans.granted, of: player.account, app: Self.app)
                            == LatePlans.granted, "REFUND_REVERSED is Apple's server's word")
                }
            }
        }

        @Test("a refund is reversed, and only the device says so: Apple is asked, and what was paid for is back")
        func reversalThatOnlyTheDeviceSaw() async throws {
            try await LatePlans.selling { _, client, _ in
                let player = Player("given-back")
                try await client.daysAgo(0.01) {
                    let month = try await granted(player, client)
                    try await client.refund(month)
                    let revoked = LatePlans.takenBack
                    #expect(try await client.wait(for: revoked, of: player.account, app: Self.app) == revoked)
                    try await client.advanceStore("5s")
                    _ = try await client.withheld(Self.app, "transactions/\(month.transactionId)/reverse-refund")
                    try await client.advanceStore("5s")
                    try await settle(try await client.signedAnew(month), by: player, client)
                    // The question goes to Apple after the post is settled.
                    let account = try await client.wait(
                        for: LatePlans.granted, of: player.account, app: Self.app, within: .seconds(60))
                    #expect(account == LatePlans.granted)
                }
            }
        }

        // MARK: - Words

        @Test("three periods of a `Subscription Bundle` are three orders, each held until the word is known")
        func bundle() async throws {
            try await LatePlans.selling { _, client, database in
                let player = Player("bundled")
                var periods: [String] = []
                try await client.daysAgo(64) {
                    let first = try await client.subscribeUntold(player)
                    periods.append(first.transactionId)
                    for span in ["P32D", "P31D"] {
                        try await client.untold(Self.app) { try await client.advanceStore(span) }
                        periods.append(try await client.latest(of: first.originalTransactionId))
                    }
                }
                #expect(Set(periods).count == 3)
                for period in periods {
                    let bundle = try await client.signed(
                        period, with: #"{"type":"Subscription Bundle"}"#, isKept: true)
                    try await expectHeld(bundle, by: player, client)
                }
                let held = try await database.number(
                    """
                    SELECT count(*) AS n FROM orders WHERE transaction_id = ANY($1) AND state = 'parked'
                        AND reason = 'vocabulary_unknown'
                    """, [.textArray(periods)])
                #expect(held == 3)
                let account = try await client.account(player.account, app: Self.app)
                #expect(account.entitlements.isEmpty && account.balances.isEmpty)
            }
        }

        @Test("a seat that somebody else paid for (`ASSIGNED`, no price) gives no items unasked: it is held")
        func assignedSeat() async throws {
            try await LatePlans.selling { _, client, _ in
                let player = Player("seated")
                let month = try await client.subscribeUntold(player)
                let seat = try await client.signed(
                    month.transactionId,
                    with: #"{"inAppOwnershipType":"ASSIGNED","price":null,"currency":null}"#, isKept: true)
                try await expectHeld(seat, by: player, client)
                let account = try await client.account(player.account, app: Self.app)
                #expect(account.entitlements.isEmpty && account.balances.isEmpty)
            }
        }

        @Test(
            "a granted period comes again as `Non-Renewing Subscription`: the type stays, the contradiction is recorded"
        )
        func otherType() async throws {
            try await LatePlans.selling { _, client, database in
                let player = Player("renamed")
                let month = try await granted(player, client)
                let renamed = try await client.signed(
                    month.transactionId, with: #"{"type":"Non-Renewing Subscription"}"#, isKept: true)
                try await settle(renamed, by: player, client)
                #expect(try await client.account(player.account, app: Self.app).summary == LatePlans.granted)
                let type = try await database.rows(
                    "SELECT product_type FROM orders WHERE transaction_id = $1", [.text(month.transactionId)])
                #expect(try type.map { try $0.decode("product_type", as: String.self) } == ["auto_renewable"])
                let recorded = try await database.number(
                    "SELECT least(count(*), 1) AS n FROM purchase_conflicts WHERE transaction_id = $1",
                    [.text(month.transactionId)])
                #expect(recorded == 1)
            }
        }

        // MARK: - Fields that are missing

        @Test(
            "signed without `bundleId`: Apple is asked by the app's key, knows the id, and it is granted",
            arguments: [false, true])
        func withoutBundleId(isAppleSilentToo: Bool) async throws {
            try await LatePlans.selling { _, client, _ in
                let player = Player("nameless")
                let sale = try #require(
                    try await client.sell([
                        "bundleId": Self.game, "productId": "gems.100", "type": "Consumable",
                        "account": player.appleId,
                    ]).first)
                let nameless = try await client.signed(
                    sale.transactionId, with: #"{"bundleId":null}"#, isKept: isAppleSilentToo)
                let purchase = try await client.purchase(nameless, app: Self.game, account: player.account)
                #expect(purchase.state == "fulfilled", "\(purchase.reason ?? "")")
                #expect(try await client.account(player.account, app: Self.game).summary == "100 gem")
            }
        }

        @Test("a notification with renewal info and no transaction is taken and applied")
        func withoutTransaction() async throws {
            try await LatePlans.selling { _, client, database in
                let player = Player("cancelling")
                let month = try await granted(player, client)
                let bought = try await client.tell("SUBSCRIBED/INITIAL_BUY", of: month.transactionId)
                #expect(try await database.hasSettled(notification: bought))
                #expect(try await willRenew(player, client) == true)
                try await client.untold(Self.app) {
                    try await client.control(
                        "POST", "subscriptions/\(month.originalTransactionId)/auto-renew", #"{"on":false}"#)
                }
                let told = try await client.tell(
                    "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", of: month.transactionId,
                    data: #"{"signedTransactionInfo":null}"#)
                #expect(try await database.hasSettled(notification: told), "kept, and settled")
                let refused = try await database.number(
                    """
                    SELECT count(*) AS n FROM apple_notifications n JOIN submissions s ON s.id = n.submission_id
                    WHERE n.notification_uuid = $1 AND s.state <> 'fulfilled'
                    """, [.text(told)])
                #expect(refused == 0)
                #expect(try await willRenew(player, client) == false)
                #expect(try await client.account(player.account, app: Self.app).summary == LatePlans.granted)
            }
        }

        @Test("a notification of version 1 is refused with a problem of its own, which says what to change")
        func notificationOfVersion1() async throws {
            try await withStack { _, client, _ in
                let address = client.intake + "/v1/notifications"
                let headers = ["content-type": "application/json"]
                for environment in ["PROD", "Production"] {
                    let old = try await client.send(
                        .POST, address, headers: headers,
                        body: Array(
                            """
                            {"notification_type":"DID_RENEW","environment":"\(environment)","password":"secret",
                            "bid":"\(Self.app)","bvrs":"1","auto_renew_status":"true",
                            "auto_renew_product_id":"vip.silver",
                            "unified_receipt":{"status":0,"environment":"Production","latest_receipt":"MA==",
                            "latest_receipt_info":[],"pending_renewal_info":[]}}
                            """.utf8))
                    let nothing = try await client.send(.POST, address, headers: headers, body: Array("{}".utf8))
                    #expect(old.status == 400, "Apple comes again after it")
                    #expect(old.problem != nil && old.problem != nothing.problem)
                    let text = String(decoding: old.body, as: UTF8.self)
                    #expect(text.contains("App Store Connect") && text.contains("ersion 2"), "\(text)")
                    #expect(!text.contains("secret"))
                }
            }
        }

        // MARK: - Hands

        @Test(
            "a bare id waits while its account is forgotten: a new account of the name keeps what it buys"
        )
        func forgottenName() async throws {
            try await withStack { stack, client, database in
                let name = Player("namesake").account
                let order = ["bundleId": Self.game, "productId": "gems.100", "type": "Consumable"]
                let old = try #require(try await client.sell(order).first)
                let anew = try #require(try await client.sell(order).first)
                let waiting = try await client.misbehaving(
                    #"{"fault":{"kind":"status","status":503,"body":"empty"}}"#
                ) {
                    let waiting = try await client.accepted([
                        "app": Self.game, "account": name, "transaction_id": old.transactionId,
                    ])
                    let asked = try await stack.built(
                        "countersign",
                        ["forget", name, "--app", Self.game, "--reason", "a test", "--yes", "--wait", "0"]
                    ).run()
                    #expect([0, 3].contains(asked.status), "\(asked.output)")
                    let purchase = try await client.purchase(anew.signedTransaction, app: Self.game, account: name)
                    #expect(purchase.state == "fulfilled" && purchase.finish)
                    return waiting
                }
                _ = try await database.rows(
                    "UPDATE submissions SET due_at = now() WHERE id = $1 AND state = 'received' RETURNING id",
                    [.text(waiting)])
                let open = try await database.wait(
                    for: 0, within: .seconds(120),
                    "SELECT count(*) AS n FROM forget_requests WHERE account = $1", [.text(name)])
                #expect(open == 0, "the request is carried out")
                #expect(try await client.account(name, app: Self.game).summary == "100 gem")
                let owned = try await database.number(
                    "SELECT count(*) AS n FROM orders WHERE transaction_id = $1 AND account = $2",
                    [.text(anew.transactionId), .text(name)])
                #expect(owned == 1)
                try await Ledger(database, stack).expectCleanAudit()
            }
        }

        @Test("streams of events from a cursor that nobody was given leave the database quiet")
        func cursorFromNowhere() async throws {
            try await withStack { stack, client, database in
                let account = Player("far-ahead").account
                let token = try PlayerToken.make(of: account, secret: try stack.setting("COUNTERSIGN_JWT_SECRET"))
                let cursor = Data("1:9223372036854775807".utf8).base64EncodedString().replacing("=", with: "")
                let url = "\(client.intake)/v1/accounts/\(account)/events?app=\(Self.game)"
                var streams: [EventStream] = []
                defer { for stream in streams { stream.close() } }
                // One after the other, and last one that has its cursor from the answer.
                for after in ["&after=\(cursor)", "&after=\(cursor)", ""] {
                    let stream = try await EventStream.open(
                        url + after, headers: client.headers(playerToken: token))
                    #expect(stream.status == 200 || (stream.status == 400 && !after.isEmpty))
                    streams.append(stream)
                }
                let before = try await commits(database)
                // What is looked at is what open streams cost in this time.
                try await Task.sleep(for: Self.watched)
                let transactions = try await commits(database) - before
                print("transactions of the database in \(Self.watched): \(transactions)")
                #expect(transactions < Self.quietTransactions)
            }
        }

        private static let watched = Duration.seconds(5)
        /// An idle stack has some dozens a second.
        private static let quietTransactions: Int64 = 2_500

        private func commits(_ database: Database) async throws -> Int64 {
            try await database.number(
                "SELECT xact_commit AS n FROM pg_stat_database WHERE datname = current_database()")
        }

        // MARK: - Steps

        /// A month that is bought, of which Apple does not tell, and that is granted to who posts it.
        private func granted(_ player: Player, _ client: IntakeClient) async throws -> IntakeClient.Sale {
            let month = try await client.subscribeUntold(player)
            try await settle(month.signedTransaction, by: player, client)
            #expect(try await client.account(player.account, app: Self.app).summary == LatePlans.granted)
            return month
        }

        /// Posts, and waits for an outcome, whatever it is.
        private func settle(_ jws: String, by player: Player, _ client: IntakeClient) async throws {
            let purchase = try await client.purchase(jws, app: Self.app, account: player.account)
            #expect(purchase.state != "received")
        }

        private func expectHeld(_ jws: String, by player: Player, _ client: IntakeClient) async throws {
            let purchase = try await client.purchase(jws, app: Self.app, account: player.account)
            #expect(purchase.state == "parked")
            #expect(purchase.reason == "vocabulary_unknown")
        }

        private func willRenew(_ player: Player, _ client: IntakeClient) async throws -> Bool? {
            struct Account: Decodable {
                struct Subscription: Decodable {
                    let willRenew: Bool?
                    enum CodingKeys: String, CodingKey { case willRenew = "will_renew" }
                }
                let subscriptions: [Subscription]
            }
            let answer = try await client.send(
                .GET, "\(client.intake)/v1/accounts/\(player.account)?app=\(Self.app)", headers: client.headers())
            return try JSONDecoder().decode(Account.self, from: answer.body).subscriptions.first?.willRenew
        }
    }
}
