import Foundation
import HTTPTypes
import HummingbirdTesting
import Messages
import Postgres
import PurchaseModel
import Testing

@testable import ReceiptIntake

@Suite(
    "Stories of orders that went through much",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ReadingStoryTests {
    private let query = ReadingFixture.query

    private func sentences(_ intake: TestIntake, _ order: String, token: String) async throws -> [String] {
        let answer = try await intake.send(.get, "/v1/orders/\(order)/why\(query)", token: token)
        return (answer.fields["sentences"] as? [[String: Any]] ?? []).compactMap { $0["text"] as? String }
    }

    @Test("a server is told of everything, by time")
    func server() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfAChequeredLife()
            let end = "2026-11-21T11:00:00.000Z"
            let told = try await sentences(intake, "2000050", token: TestIntake.serverKey)
                .filter { !$0.contains("may use pass until") && !$0.hasPrefix("An estimate:") }
            #expect(
                told == [
                    "Bought 1 × pass.monthly (auto renewable) for 0.99 USD in the storefront USA.",
                    "Received a signed transaction from account player-1 by submission s5.",
                    "Verified: the newest that Apple signed of it is of 2026-11-21T09:59:30.000Z.",
                    "The catalogue expects another price.",
                    "It came to account player-1, because it posted the purchase while it was nobody's (possession).",
                    "Granted to account player-1 by catalogue 1.",
                    "Credited 100 gem to account player-1 (ledger: grant).",
                    "Submission s5 was answered: fulfilled.",
                    "It went from account player-1 to account player-2, by the restore policy transfer (transfer).",
                    "Account player-3 may use it beside account player-2, by the restore policy share (share).",
                    "An operator (alice) said that it is account player-2's: “her e-mail of Monday”.",
                    "Apple refunded 50 % of the price.",
                    "Received a server notification from Apple by submission n5.",
                    "It is revoked, because Apple took it back (revoked_by_apple): what it had brought was taken back as far "
                        + "as the catalogue says.",
                    "Took 50 gem from account player-1 (ledger: revocation).",
                    "Account player-2 may use pass no more, because Apple refunded it (refund).",
                    "The subscription 2000050 is active until \(end), and will renew as pass.yearly (active, by this order "
                        + "of pass.monthly).",
                    "Event iap.refund.granted was written (evt_5, number 1 of its account): Apple refunded what had been "
                        + "granted.",
                    "Webhook of evt_5 to endpoint backend was delivered after 1 attempt.",
                    "What Apple told by submission n5 is recorded.",
                ])
        }
    }

    @Test("each sentence is told clause by clause, too, with what stands in its words; the document names the clauses")
    func clauses() async throws {
        let document = OpenAPIDocument.text
        let named = try #require(document.firstMatch(of: #/What a clause says: ([a-z_,\s]+)\./#)).1
            .split(whereSeparator: { !$0.isLetter && $0 != "_" }).map(String.init)
        #expect(named.sorted() == StoryCode.allCases.map(\.rawValue).sorted())
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfAChequeredLife()
            let answer = try await intake.send(.get, "/v1/orders/2000050/why\(query)", token: TestIntake.serverKey)
            let all = try #require(answer.fields["sentences"] as? [[String: Any]])
            // Said in words of their own: "as a whole word" in place of the code.
            let codes: Set<String> = ["kind", "entry", "cause", "product_type", "reason", "tax"]
            for sentence in all {
                let parts = try #require(sentence["parts"] as? [[String: Any]])
                #expect(!parts.isEmpty)
                for part in parts {
                    let values = try #require(part["values"] as? [String: String])
                    for (name, value) in values where !codes.contains(name) {
                        #expect((sentence["text"] as? String)?.contains(value) == true, "\(name) of \(sentence)")
                    }
                }
            }
            let first = try #require(all.first?["parts"] as? [[String: Any]])
            #expect(first.compactMap { $0["code"] as? String } == ["bought", "bought_for", "bought_in_storefront"])
        }
    }

    @Test("who was given a purchase by a move may use it since the move, and not since it was bought")
    func moved() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.order("1", account: "a", product: "level", at: 20, granted: 20)
            try await rows.entitle("a", to: "levels", by: "1", endsIn: nil)
            try await rows.bind("1", from: nil, to: "a", cause: "possession", at: 20)
            try await rows.bind("1", from: "a", to: "b", cause: "transfer", policy: "transfer", at: 120)
            for token in [TestIntake.serverKey, try ReadingFixture.player("b")] {
                let answer = try await intake.send(.get, "/v1/orders/1/why\(query)", token: token)
                let sentences = answer.fields["sentences"] as? [[String: Any]] ?? []
                let all = sentences.map { $0.compactMapValues { $0 as? String } }
                let move = try #require(all.firstIndex { $0["text"]?.hasPrefix("It went from") == true })
                let use = try #require(all.firstIndex { $0["text"] == "Account b may use levels for ever." })
                #expect(move < use, "\(all)")
                #expect(all[use]["at"] == "2026-11-21T10:02:00.000Z")
            }
        }
    }

    @Test("a player is told the same of the own account, and another is another account")
    func player() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfAChequeredLife()
            let told = try await sentences(intake, "2000050", token: ReadingFixture.player("player-2"))
            for sentence in [
                "Granted to another account by catalogue 1.",
                "It went from another account to account player-2, by the restore policy transfer (transfer).",
                "Another account may use it beside account player-2, by the restore policy share (share).",
                "An operator said that it is account player-2's.",
            ] {
                #expect(told.contains(sentence), "\(told)")
            }
        }
    }

    @Test(
        "each way of taking back has its sentence",
        arguments: [
            ("REFUND_FULL", Int64?.some(100_000), "Apple refunded the purchase in full."),
            ("REFUND_PRORATED", 12_345, "Apple refunded 12.345 % of the price."),
            ("REFUND_PRORATED", nil, "Apple refunded a part of the price."),
            ("FAMILY_REVOKE", nil, "Family Sharing of the purchase ended."),
            ("SOMETHING_NEW", 30_500, "Apple took the purchase back, with 30.5 % of the price."),
            (nil, nil, "Apple took the purchase back."),
        ] as [(String?, Int64?, String)])
    func takenBack(type: String?, percentage: Int64?, sentence: String) async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.order("1", account: "p", at: 20, granted: 20)
            try await rows.takeBack("1", type: type, percentage: percentage, revoked: 30, heard: 40)
            let told = try await sentences(intake, "1", token: TestIntake.serverKey)
            #expect(told.contains(sentence), "\(told)")
        }
    }

    @Test(
        "bought, granted, refunded, taken back: in this order, whatever Apple's clock and its whole seconds say",
        arguments: [
            // To the second, and so before a grant of the same second.
            (bought: 10.0, granted: 30.3, refunded: 30.0, heard: 30.6),
            // A clock that is ahead of ours.
            (bought: 25.0, granted: 20.0, refunded: 50.0, heard: 40.0),
            (bought: 10.0, granted: 20.0, refunded: 30.0, heard: 40.0),
        ])
    func causes(bought: Double, granted: Double, refunded: Double, heard: Double) async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.submission("s1", account: "p", received: 15, settled: 20)
            try await rows.order("1", account: "p", at: 20, granted: 20)
            try await rows.takeBack("1", type: "REFUND_FULL", revoked: 30, heard: 40)
            _ = try await rows.pool.query(
                """
                UPDATE orders SET purchase_date = created_at + make_interval(secs => \(bought - 20)),
                    granted_at = created_at + make_interval(secs => \(granted - 20)),
                    revocation_date = created_at + make_interval(secs => \(refunded - 20)),
                    revoked_at = created_at + make_interval(secs => \(heard - 20)) WHERE transaction_id = '1'
                """)
            let told = try await sentences(intake, "1", token: TestIntake.serverKey)
            #expect(told.first?.hasPrefix("Bought ") == true, "\(told)")
            let places = ["Granted to ", "Apple refunded ", "It is revoked"].compactMap { beginning in
                told.firstIndex { $0.hasPrefix(beginning) }
            }
            #expect(places.count == 3 && places == places.sorted(), "\(told)")
        }
    }

    @Test(
        "what nobody has yet is told with why, and with the token by which it could be somebody's; to players it is not there"
    )
    func nobodys() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.submission("s1", account: "", kind: "server_notification", received: 10, settled: 20)
            try await rows.order("1", account: nil, reason: "unclaimed", at: 20)
            try await rows.order("2", account: nil, reason: "account_token_unknown", at: 20)
            let token = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
            _ = try await rows.pool.query(
                "UPDATE orders SET app_account_token = '\(unescaped: token)' WHERE transaction_id = '2'")
            let unclaimed = try await sentences(intake, "1", token: TestIntake.serverKey)
            #expect(unclaimed.contains("Received a server notification from Apple by submission s1."), "\(unclaimed)")
            #expect(
                unclaimed.contains(
                    "Parked because Apple's data names no account, and none had claimed it (unclaimed)."
                ),
                "\(unclaimed)")
            let doubtful = try await sentences(intake, "2", token: TestIntake.serverKey)
            #expect(doubtful.first?.hasSuffix(", with the appAccountToken \(token).") == true, "\(doubtful)")
            #expect(doubtful.contains { $0.hasPrefix("Parked because its appAccountToken is no account's") })
            let order = try await intake.send(.get, "/v1/orders/2\(query)", token: TestIntake.serverKey)
            #expect(order.fields["app_account_token"] as? String == token)
            // Whoever has it now may not be who bought it.
            _ = try await rows.pool.query("UPDATE orders SET account = 'p' WHERE transaction_id = '2'")
            for path in ["/v1/orders/2", "/v1/orders/2/why"] {
                let own = try await intake.send(.get, path + query, token: ReadingFixture.player("p"))
                #expect(own.status == 200 && !own.text.contains(token), "\(own.text)")
            }
        }
    }

    @Test("what a reversal gives back is told, and who had it when it was granted")
    func reversal() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.order("1", account: "p", at: 20, granted: 20)
            try await rows.credit(10, "gem", to: "p", for: "1", at: 20)
            try await rows.post("revocation", -10, "gem", account: "p", for: "1", at: 30)
            try await rows.post("reversal", 10, "gem", account: "p", for: "1", at: 40)
            let told = try await sentences(intake, "1", token: ReadingFixture.player("p"))
            #expect(told.contains("Granted to account p."))
            #expect(told.contains("Gave 10 gem back to account p (ledger: reversal)."))
        }
    }

    @Test(
        "each state of a subscription has its words",
        arguments: [
            (SubscriptionState.active, "is active until"), (.expired, "has expired"),
            (.billingRetry, "the App Store still tries to charge"), (.gracePeriod, "with grace until"),
            (.revoked, "its period was taken back"),
        ])
    func states(state: SubscriptionState, words: String) async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.order("1", account: "p", at: 20, granted: 20)
            try await rows.subscription("1", of: "p", state)
            let told = try await sentences(intake, "1", token: ReadingFixture.player("p"))
            #expect(told.contains { $0.hasPrefix("The subscription 1 ") && $0.contains(words) }, "\(told)")
        }
    }

    @Test("every type of event has its meaning in words")
    func events() async throws {
        let known = [
            PurchaseEvent.fulfilled, PurchaseEvent.unclaimed, PurchaseEvent.revoked, PurchaseEvent.refundGranted,
            PurchaseEvent.refundReversed, PurchaseEvent.familyRevoked, PurchaseEvent.consentRescinded,
            PurchaseEvent.transferred, PurchaseEvent.shared, PurchaseEvent.adjusted, PurchaseEvent.entitlementExpired,
            PurchaseEvent.subscriptionStarted, PurchaseEvent.subscriptionRenewed, PurchaseEvent.subscriptionRecovered,
            PurchaseEvent.subscriptionRenewalFailed, PurchaseEvent.subscriptionGraceStarted,
            PurchaseEvent.subscriptionGraceEnded, PurchaseEvent.subscriptionExpired, PurchaseEvent.subscriptionRevoked,
            PurchaseEvent.subscriptionRestored, PurchaseEvent.subscriptionCancelScheduled,
            PurchaseEvent.subscriptionCancelUndone, PurchaseEvent.subscriptionPlanChanged,
            PurchaseEvent.subscriptionPlanChangeScheduled, PurchaseEvent.subscriptionPriceIncreasePending,
            PurchaseEvent.subscriptionPriceIncreaseAccepted, PurchaseEvent.subscriptionExtended,
        ]
        #expect(Set(known).count == known.count)
        #expect(Set(known.compactMap(EventSentence.meaning(of:))).count == known.count)
        #expect(EventSentence.meaning(of: "iap.something.new") == nil)
    }
}
