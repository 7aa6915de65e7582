import Foundation
import NIOHTTP1
import Postgres
import Testing

extension EndToEnd {
    /// What is held of a purchase, and what it proves: a number that Apple does not find yet, a proof from before the
    /// purchase changed hands, somebody else's number.
    @Suite("Possession")
    struct PossessionTests {
        private typealias Player = IntakeClient.Player
        private typealias Sale = IntakeClient.Sale

        /// Apple tells nobody of this app's purchases.
        private static let game = "com.example.game"
        /// Its level pack goes to whoever restores it.
        private static let watched = "com.example.watched"

        // MARK: - Not found is not refused

        @Test(
            "Apple is away, then does not find a number, then does: it waits all the while, and is granted",
            .timeLimit(.minutes(6)))
        func notFoundYet() async throws {
            try await withStack { stack, client, database in
                let player = Player("not-found-yet")
                let sale = try await buyGems(player, client)
                let fields = ["app": Self.game, "account": player.account, "transaction_id": sale.transactionId]
                let match = #""match":{"path":"/inApps/v1/transactions/\#(sale.transactionId)"}"#
                let away = #"{\#(match),"fault":{"kind":"status","status":503}}"#
                // Apple's own words, from both hosts.
                let unknown = #"""
                    {\#(match),"fault":{"kind":"status","status":404,"errorCode":4040010,
                    "errorMessage":"Transaction id not found."}}
                    """#
                let id = try await client.misbehaving(away) {
                    let id = try await client.accepted(fields)
                    // More attempts, and more time, than real answers need to be believed: an outage is no answer.
                    for _ in 0..<6 {
                        try await tenMinutesPass(id, database)
                        #expect(try await client.accepted(fields) == id)
                    }
                    // In the place of the outage, so that no question slips through between the two.
                    try await client.control("PUT", "faults", #"{"rules":[\#(unknown)]}"#)
                    // It is asked again half a minute later, so Apple is right again after one such answer.
                    let heard = try await database.wait(
                        for: 1, within: .seconds(120),
                        "SELECT count(*) AS n FROM submissions WHERE id = $1 AND not_found_count > 0", [.text(id)])
                    #expect(heard == 1, "Apple's answer that it knows no such id")
                    #expect(try await client.accepted(fields) == id)
                    return id
                }
                _ = try await database.rows(
                    "UPDATE submissions SET due_at = now() WHERE id = $1 AND state = 'received' RETURNING id",
                    [.text(id)])
                let fulfilled = try await database.wait(
                    for: 1, within: .seconds(90),
                    """
                    SELECT count(*) AS n FROM submissions
                    WHERE id = $1 AND state = 'fulfilled' AND reopened_at IS NULL
                    """, [.text(id)])
                #expect(fulfilled == 1, "and it was never rejected meanwhile")
                #expect(try await client.settled(fields).id == id)
                #expect(try await client.account(player.account, app: Self.game).summary == "100 gem")
                try await Ledger(database, stack).expectCleanAudit()
            }
        }

        /// Moves a submission into the past, as if the clock had gone on; Apple is asked at once.
        private func tenMinutesPass(_ id: String, _ database: Database) async throws {
            _ = try await database.rows(
                """
                UPDATE submissions SET due_at = due_at - interval '10 minutes',
                    received_at = received_at - interval '10 minutes'
                WHERE id = $1 AND state = 'received' RETURNING id
                """, [.text(id)])
            let late = try await database.wait(
                for: 0, within: .seconds(30),
                "SELECT count(*) AS n FROM submissions WHERE id = $1 AND due_at <= now()", [.text(id)])
            #expect(late == 0, "due, and nobody took it up")
        }

        // MARK: - An old proof

        @Test(
            "a level pack stays with whoever restored it, however its former owner spells an old proof",
            arguments: [false, true])
        func oldProof(isReversed: Bool) async throws {
            try await withStack { stack, client, database in
                let former = Player("former-owner")
                let owner = Player("new-owner")
                let pack = try #require(
                    try await client.sell([
                        "bundleId": Self.watched, "productId": "level.pack", "type": "Non-Consumable",
                        "account": former.appleId,
                    ]).first)
                // The former owner has the first id and the new one a restored one, or the other way round.
                let old =
                    try await isReversed
                    ? client.restore(app: Self.watched, by: former).signedTransaction : pack.signedTransaction
                let bought = try await client.purchase(old, app: Self.watched, account: former.account)
                #expect(bought.state == "fulfilled")
                // Signed after what made it the former owner's: only that moves it.
                let newer =
                    try await isReversed
                    ? client.signedAnew(pack) : client.restore(app: Self.watched, by: former).signedTransaction
                let moved = try await client.purchase(newer, app: Self.watched, account: owner.account)
                #expect(moved.state == "fulfilled")
                try await expectLevels(of: owner, not: former, client)
                let respelled = try Self.respelled(old)
                #expect(respelled != old)
                let replayed = try await client.purchase(respelled, app: Self.watched, account: former.account)
                #expect(replayed.id != bought.id, "another text is another submission")
                #expect(replayed.state == "rejected")
                #expect(replayed.reason == "belongs_to_another_account")
                try await expectLevels(of: owner, not: former, client)
                try await Ledger(database, stack).expectCleanAudit()
            }
        }

        private func expectLevels(of owner: Player, not former: Player, _ client: IntakeClient) async throws {
            #expect(try await client.account(owner.account, app: Self.watched).summary == "levels")
            #expect(try await client.account(former.account, app: Self.watched).summary == "")
        }

        /// The order of the group of NIST P-256 (SEC 2, 2.4.2), big-endian.
        private static let groupOrder: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]

        /// The same signed text with n − s for the s of its ECDSA signature, which is as good: anybody can write that.
        private static func respelled(_ jws: String) throws -> String {
            let parts = jws.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            // ES256 in a JWS: r and s, 32 bytes each (RFC 7518, section 3.4).
            guard parts.count == 3, let signature = Data(base64URL: parts[2]), signature.count == 64 else {
                throw StackFailure("no JWS of ES256")
            }
            var s = [UInt8](signature.suffix(32))
            var borrow = 0
            for index in s.indices.reversed() {
                let difference = Int(groupOrder[index]) - Int(s[index]) - borrow
                borrow = difference < 0 ? 1 : 0
                s[index] = UInt8(difference + borrow * 256)
            }
            return [parts[0], parts[1], (Data(signature.prefix(32)) + Data(s)).base64URL].joined(separator: ".")
        }

        // MARK: - Somebody else's number

        @Test(
            "a player who posts the number of another's purchase is granted and shown nothing, and the buyer has it",
            arguments: [false, true])
        func anothersNumber(isBuyerFirst: Bool) async throws {
            try await withStack { stack, client, database in
                let guesser = Player("guesser")
                let buyer = Player("buyer")
                let secret = try stack.setting("COUNTERSIGN_JWT_SECRET")
                let guessersToken = try PlayerToken.make(of: guesser.account, secret: secret)
                let sale = try await buyGems(buyer, client)
                if isBuyerFirst { try await postProof(of: sale, by: buyer, secret: secret, client) }
                let id = try await client.accepted(
                    ["app": Self.game, "transaction_id": sale.transactionId], playerToken: guessersToken)
                try await expectNothingShown(id, sale, guessersToken, client)
                if !isBuyerFirst {
                    try await postProof(of: sale, by: buyer, secret: secret, client)
                    // The guess was parked for this very order: what became of that is told to nobody else.
                    try await expectNothingShown(id, sale, guessersToken, client)
                }
                #expect(try await client.account(guesser.account, app: Self.game).summary == "")
                #expect(try await client.account(buyer.account, app: Self.game).summary == "100 gem")
                try await Ledger(database, stack).expectCleanAudit()
            }
        }

        private func postProof(of sale: Sale, by player: Player, secret: String, _ client: IntakeClient) async throws {
            let purchase = try await client.settled(
                ["app": Self.game, "signed_transaction": sale.signedTransaction],
                playerToken: try PlayerToken.make(of: player.account, secret: secret))
            #expect(purchase.state == "fulfilled")
            #expect(purchase.finish)
        }

        private func expectNothingShown(
            _ id: String, _ sale: Sale, _ playerToken: String, _ client: IntakeClient
        ) async throws {
            let deadline = ContinuousClock.now + .seconds(30)
            var told = try await client.status(of: id, wait: 1, playerToken: playerToken)
            // A player waits for such an answer to the end of each wait, whatever is known.
            while told.state == "received", ContinuousClock.now < deadline {
                told = try await client.status(of: id, wait: 1, playerToken: playerToken)
            }
            #expect(told.state == "parked")
            #expect(told.reason == "possession_unproven")
            #expect(!told.finish)
            #expect(told.transactions.isEmpty)
            let order = try await client.send(
                .GET, "\(client.intake)/v1/orders/\(sale.transactionId)?app=\(Self.game)",
                headers: client.headers(playerToken: playerToken))
            #expect(order.status == 404)
        }

        // MARK: - Steps

        private func buyGems(_ player: Player, _ client: IntakeClient) async throws -> Sale {
            try #require(
                try await client.sell([
                    "bundleId": Self.game, "productId": "gems.100", "type": "Consumable", "account": player.appleId,
                ]).first)
        }
    }
}
