import Foundation
import HTTPTypes
import HummingbirdTesting
import Postgres
import Testing

@testable import ReceiptIntake

@Suite(
    "Reading orders",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ReadingOrderTests {
    private let query = ReadingFixture.query

    @Test("a server reads an order with everything that was written because of it, but no proof and no address")
    func server() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfOneOrder()
            let answer = try await intake.send(.get, "/v1/orders/2000001\(query)", token: TestIntake.serverKey)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.fields["account"] as? String == "player-1")
            func list(_ name: String) -> [[String: Any]] { answer.fields[name] as? [[String: Any]] ?? [] }
            #expect(list("submissions").map { $0["id"] as? String } == ["s1", "s2"])
            #expect(list("entries").map { $0["amount"] as? Int } == [100])
            #expect(list("entitlements").map { $0["entitlement"] as? String } == ["vip"])
            #expect(list("events").map { $0["sequence"] as? Int } == [1, 2])
            #expect(list("deliveries").map { $0["attempts"] as? Int } == [1, 2])
            #expect(!answer.text.contains("secret proof"))
            #expect(!answer.text.contains("inner.example"))
        }
    }

    @Test("a player reads an own order, and nothing in it of other accounts or of the studio's servers")
    func own() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfOneOrder()
            for path in ["/v1/orders/2000001", "/v1/orders/2000001/why"] {
                let answer = try await intake.send(.get, path + query, token: ReadingFixture.player())
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.text.contains("player-1"))
                #expect(!answer.text.contains("player-2") && !answer.text.contains("backend"))
                #expect(answer.fields["deliveries"] == nil)
            }
        }
    }

    @Test("the story says which events wait to be sent, and no longer once notification has them")
    func waitingEvents() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfOneOrder()
            func waiting() async throws -> Int {
                let answer = try await intake.send(.get, "/v1/orders/2000001/why\(query)", token: TestIntake.serverKey)
                #expect(answer.status == 200, "\(answer.text)")
                return answer.text.components(separatedBy: "waits to be sent").count - 1
            }
            #expect(try await waiting() == 0)
            _ = try await rows.pool.query("INSERT INTO event_outbox (event_id, due_at) SELECT id, now() FROM events")
            #expect(try await waiting() == 2)
            _ = try await rows.pool.query("DELETE FROM event_outbox")
            #expect(try await waiting() == 0)
        }
    }

    @Test("an order is found by each of its transaction ids, and says all of them, its own first")
    func anyId() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfOneOrder()
            try await rows.submission("s3", account: "player-1", received: 300, settled: 310)
            try await rows.furtherId("2000003", of: "2000001", submission: "s3", at: 310)
            try await rows.furtherId("1000002", of: "2000001", submission: "s2", at: 160)
            for tail in ["", "/why"] {
                for token in [TestIntake.serverKey, try ReadingFixture.player()] {
                    func answer(_ id: String, _ query: String) async throws -> TestIntake.Answer {
                        try await intake.send(.get, "/v1/orders/\(id)\(tail)\(query)", token: token)
                    }
                    let own = try await answer("2000001", query)
                    #expect(own.status == 200, "\(own.text)")
                    for id in ["2000003", "1000002"] {
                        #expect(try await answer(id, query).text == own.text)
                        #expect(try await answer(id, query + "&environment=sandbox").slug == "not-found")
                    }
                    #expect(try await answer("2000002", query).slug == "not-found")
                }
                let stranger = try ReadingFixture.player("player-2")
                let another = try await intake.send(.get, "/v1/orders/1000002\(tail)\(query)", token: stranger)
                #expect(another.slug == "not-found", "it posted this id, and the order is not its own")
            }
            let order = try await intake.send(.get, "/v1/orders/1000002\(query)", token: TestIntake.serverKey)
            #expect(order.fields["transaction_ids"] as? [String] == ["2000001", "1000002", "2000003"])
            #expect((order.fields["transaction"] as? [String: Any])?["transaction_id"] as? String == "2000001")
            let submissions = order.fields["submissions"] as? [[String: Any]] ?? []
            #expect(submissions.map { $0["id"] as? String } == ["s1", "s2", "s3"])
        }
    }

    @Test("the story says which submission told of which id, as far as the caller may know")
    func furtherIds() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfOneOrder()
            try await rows.submission("s3", account: "player-1", received: 300, settled: 310)
            try await rows.furtherId("2000003", of: "2000001", submission: "s3", at: 310)
            try await rows.furtherId("1000002", of: "2000001", submission: "s2", at: 160)
            func told(_ token: String) async throws -> [[String: String]] {
                let answer = try await intake.send(.get, "/v1/orders/2000001/why\(query)", token: token)
                let all = (answer.fields["sentences"] as? [[String: Any]] ?? []).map {
                    $0.compactMapValues { $0 as? String }
                }
                return all.filter { $0["text"]?.hasPrefix("Recorded") == true }
            }
            let sentence = "Recorded that Apple's transaction id"
            #expect(
                try await told(TestIntake.serverKey) == [
                    [
                        "at": "2026-11-21T10:02:40.000Z",
                        "text": "\(sentence) 1000002 is of the same purchase, by submission s2.",
                    ],
                    [
                        "at": "2026-11-21T10:05:10.000Z",
                        "text": "\(sentence) 2000003 is of the same purchase, by submission s3.",
                    ],
                ])
            #expect(
                try await told(ReadingFixture.player()).map { $0["text"] } == [
                    "\(sentence) 1000002 is of the same purchase.",
                    "\(sentence) 2000003 is of the same purchase, by submission s3.",
                ])
        }
    }

    @Test("another's order, another environment's and nobody's do not exist")
    func others() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfOneOrder()
            try await rows.order("2000002", account: nil, reason: "unclaimed", at: 20)
            try await rows.order("2000003", account: "player-1", app: TestIntake.otherApp, at: 20, granted: 30)
            for tail in ["", "/why"] {
                func slug(_ id: String, _ token: String?, _ more: String = "") async throws -> String? {
                    try await intake.send(.get, "/v1/orders/\(id)\(tail)\(query)\(more)", token: token).slug
                }
                #expect(try await slug("2000001", ReadingFixture.player("player-2")) == "not-found")
                #expect(try await slug("2000001", nil) == "authentication-required")
                #expect(try await slug("2000001", ReadingFixture.player(), "&environment=sandbox") == "not-found")
                #expect(try await slug("2000002", ReadingFixture.player()) == "not-found", "nobody's is no player's")
                #expect(try await slug("2000002", TestIntake.serverKey) == nil)
                #expect(try await slug("2000003", TestIntake.serverKey) == "not-found", "another app's")
                #expect(try await slug("2000003", ReadingFixture.player()) == "not-found")
                #expect(try await slug("2%2F3", TestIntake.serverKey) == "not-found")
                let other = "/v1/orders/2000001\(tail)?app=\(TestIntake.otherApp)"
                #expect(try await intake.send(.get, other, token: TestIntake.otherServerKey).slug == "not-found")
            }
        }
    }

    @Test("the story is told in sentences, cause before effect")
    func why() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfOneOrder()
            let answer = try await intake.send(.get, "/v1/orders/2000001/why\(query)", token: TestIntake.serverKey)
            #expect(answer.headers[.vary] == "Accept")
            let sentences = (answer.fields["sentences"] as? [[String: Any]] ?? []).compactMap { $0["text"] as? String }
            #expect(sentences.filter { $0.hasPrefix("An estimate: of 0.99 USD, ") }.count == 1)
            #expect(
                sentences.filter { !$0.hasPrefix("An estimate:") } == [
                    "Bought 1 × gems100 (consumable) for 0.99 USD in the storefront USA.",
                    "Received a signed transaction from account player-1 by submission s1.",
                    "Verified: the newest that Apple signed of it is of 2026-11-21T09:59:30.000Z.",
                    "Parked because the catalogue does not know the product (product_unknown).",
                    "Event iap.transaction.unclaimed was written (evt_1, number 1 of its account): it is genuine, and held "
                        + "back for a doubt.",
                    "Webhook of evt_1 to endpoint backend was delivered after 1 attempt.",
                    "Account player-1 may use vip for ever.",
                    "Granted to account player-1.",
                    "Credited 100 gem to account player-1 (ledger: grant).",
                    "Submission s1 was answered: fulfilled.",
                    "Event iap.transaction.fulfilled was written (evt_2, number 2 of its account): the account has what it "
                        + "bought.",
                    "Webhook of evt_2 to endpoint backend was delivered after 2 attempts.",
                    "Received a signed transaction from account player-2 by submission s2.",
                    "Submission s2 was answered: rejected, because it is another account's (belongs_to_another_account).",
                ])
        }
    }

    @Test("the story of what is not granted says why, and what is still to come")
    func whyNot() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.submission("s1", account: "p", kind: "receipt", state: "received", received: 10)
            try await rows.order("1", account: "p", reason: "product_type_mismatch", at: 20)
            try await rows.order("2", account: "p", reason: "revoked_by_apple", at: 20, revoked: 15)
            try await rows.event("evt_3", "iap.transaction.revoked", of: "2", account: "p", sequence: 1, at: 20)
            let parked = try await intake.send(.get, "/v1/orders/1/why\(query)", token: TestIntake.serverKey).text
            #expect(parked.contains("Parked because the catalogue says another type of product than Apple"))
            #expect(parked.contains("Received a receipt from account p"))
            #expect(parked.contains("Submission s1 has no outcome yet; next try 2026-11-21T11:00:00.000Z"))
            let revoked = try await intake.send(.get, "/v1/orders/2/why\(query)", token: TestIntake.serverKey).text
            #expect(revoked.contains("Apple took the purchase back."))
            #expect(revoked.contains("It is revoked, because Apple took it back before it was granted"))
            #expect(revoked.contains("is not delivered yet after 1 attempt, last answer 503; next try"))
        }
    }

    @Test(
        "the story comes as text to who rather wants text",
        arguments: [
            ("text/plain", true), ("text/*, application/json;q=0.5", true), ("text/plain;q=0.4, */*", false),
            ("*/*", false), ("application/json", false), ("text/html", false), ("TEXT/PLAIN; q=1", true),
            ("text/plain;q=0", false), ("", false),
        ])
    func accept(header: String, isText: Bool) async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfOneOrder()
            let answer = try await intake.send(
                .get, "/v1/orders/2000001/why\(query)", token: ReadingFixture.player(), headers: [.accept: header])
            #expect(
                answer.headers[.contentType] == (isText ? "text/plain; charset=utf-8" : "application/json"))
            if isText {
                #expect(answer.text.hasPrefix("2026-11-21T09:59:20.000Z  Bought 1 × gems100"))
                #expect(answer.text.hasSuffix(".\n"))
            }
        }
    }

    @Test(
        "money is told exactly",
        arguments: [(990, "0.99"), (1000, "1.00"), (1234, "1.234"), (-1050, "-1.05"), (0, "0.00"), (5, "0.005")])
    func money(milliunits: Int64, text: String) {
        #expect(OrderStory.money(milliunits) == text)
    }
}
