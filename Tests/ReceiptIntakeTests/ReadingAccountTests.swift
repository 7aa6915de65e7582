import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import PurchaseModel
import ServiceLifecycle
import Testing

@testable import ReceiptIntake

@Suite(
    "Reading accounts",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ReadingAccountTests {
    private let query = ReadingFixture.query

    @Test("an account is told with its version, balances and what it may use now, to itself and to its studio")
    func account() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfOneOrder()
            try await rows.entitle("player-1", to: "pass", by: "2", endsIn: -60)
            try await rows.entitle("player-1", to: "season", by: "3", endsIn: 3600)
            try await rows.entitle("player-1", to: "elsewhere", by: "4", endsIn: nil, environment: "sandbox")
            for token in [try ReadingFixture.player(), TestIntake.serverKey] {
                let answer = try await intake.send(.get, "/v1/accounts/player-1\(query)", token: token)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.headers[.cacheControl] == "no-store")
                #expect(answer.fields["version"] as? Int == 2)
                #expect(answer.fields["environment"] as? String == "production")
                #expect(answer.fields["complete"] as? Bool == true)
                let balances = answer.fields["balances"] as? [[String: Any]]
                #expect(balances?.count == 1)
                #expect(balances?.first?["item"] as? String == "gem")
                #expect(balances?.first?["amount"] as? Int == 100)
                #expect(Self.names(answer) == ["season", "vip"], "what has ended is left out")
            }
            let all = try await intake.send(
                .get, "/v1/accounts/player-1\(query)&expired=true", token: ReadingFixture.player())
            #expect(Self.names(all) == ["season", "vip", "pass"])
            let pass = (all.fields["entitlements"] as? [[String: Any]])?.last
            #expect(pass?["active"] as? Bool == false)
            let sandbox = try await intake.send(
                .get, "/v1/accounts/player-1\(query)&environment=sandbox", token: ReadingFixture.player())
            #expect(Self.names(sandbox) == ["elsewhere"])
            #expect(sandbox.fields["version"] as? Int == 0)
        }
    }

    private static func names(_ answer: TestIntake.Answer) -> [String] {
        (answer.fields["entitlements"] as? [[String: Any]] ?? []).compactMap { $0["entitlement"] as? String }
    }

    @Test("an account that nothing is known of has nothing, at version 0")
    func unknown() async throws {
        try await ReadingFixture.with { intake, _ in
            let answer = try await intake.send(.get, "/v1/accounts/new\(query)", token: TestIntake.serverKey)
            #expect(answer.status == 200)
            #expect(answer.fields["version"] as? Int == 0)
            #expect((answer.fields["balances"] as? [Any])?.isEmpty == true)
        }
    }

    @Test("names come percent-encoded and whole", arguments: ["a/b c", "müller", "100%", "e\u{301}", "?x=1&y#z", "名前"])
    func names(name: String) async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.setVersion(7, of: name)
            let path = try #require(name.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            let answer = try await intake.send(.get, "/v1/accounts/\(path)\(query)", token: ReadingFixture.player(name))
            #expect(answer.status == 200)
            #expect(answer.fields["version"] as? Int == 7)
            #expect((answer.fields["account"] as? String)?.utf8.elementsEqual(name.utf8) == true)
        }
    }

    @Test("another's account does not exist, for players and for other apps' servers")
    func others() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfOneOrder()
            for path in ["/v1/accounts/player-1", "/v1/accounts/player-1/transactions"] {
                #expect(
                    try await intake.send(.get, path + query, token: ReadingFixture.player("player-2")).slug
                        == "not-found")
                #expect(try await intake.send(.get, path + query, token: nil).slug == "authentication-required")
                #expect(
                    try await intake.send(.get, path + query, token: TestIntake.otherServerKey).slug
                        == "authentication-failed")
                let theirs = try await intake.send(
                    .get, "\(path)?app=\(TestIntake.otherApp)", token: TestIntake.otherServerKey)
                #expect(theirs.status == 200)
                #expect(!theirs.text.contains("gem"))
            }
            // Two ways to write the same letter are two accounts.
            let answer = try await intake.send(
                .get, "/v1/accounts/%C3%A9\(query)", token: ReadingFixture.player("e\u{301}"))
            #expect(answer.slug == "not-found")
        }
    }

    @Test(
        "what is wrong with a question is said",
        arguments: [
            ("player-1", "", "field-missing"), ("player-1", "?app=nobody", "app-unknown"),
            ("player-1", "?app=\(TestIntake.app)&environment=xcode", "field-invalid"),
            ("player-1", "?app=\(TestIntake.app)&expired=1", "field-invalid"),
            ("player-1", "?app=\(TestIntake.app)&at_least=-1", "field-invalid"),
            ("player-1", "?app=\(TestIntake.app)&at_least=99999999999999999999", "field-invalid"),
            ("player-1", "?app=\(TestIntake.app)&at_least=1&wait=31", "field-invalid"),
            ("%00", "?app=\(TestIntake.app)", "not-found"), ("%FF", "?app=\(TestIntake.app)", "not-found"),
            ("player-1/transactions", "?app=\(TestIntake.app)&limit=0", "field-invalid"),
            ("player-1/transactions", "?app=\(TestIntake.app)&limit=101", "field-invalid"),
            ("player-1/transactions", "?app=\(TestIntake.app)&after=", "field-invalid"),
            ("player-1/transactions", "?app=\(TestIntake.app)&after=bm9uZQ", "field-invalid"),
            ("player-1/transactions", "?app=\(TestIntake.app)&after=OTk5OTk5OTk5OTk5OTk5OTk5OQox", "field-invalid"),
        ])
    func badQuestions(path: String, query: String, slug: String) async throws {
        try await ReadingFixture.with { intake, _ in
            let answer = try await intake.send(.get, "/v1/accounts/\(path)\(query)", token: TestIntake.serverKey)
            #expect(answer.slug == slug, "\(answer.status) \(answer.text)")
        }
    }

    @Test("transactions come a page at a time, the newest first, each once, though many have one time")
    func pages() async throws {
        try await ReadingFixture.with { intake, rows in
            // Five at one time, and one a second.
            for number in 100..<110 {
                try await rows.order("\(number)", account: "player-1", at: max(105, number), granted: 200)
            }
            try await rows.order("900", account: "player-2", at: 300, granted: 300)
            try await rows.order("901", account: "player-1", environment: "sandbox", at: 300, granted: 300)
            var ids: [String] = []
            var after = ""
            repeat {
                let answer = try await intake.send(
                    .get, "/v1/accounts/player-1/transactions\(query)&limit=3\(after)", token: ReadingFixture.player())
                #expect(answer.status == 200, "\(answer.text)")
                let page = answer.fields["data"] as? [[String: Any]] ?? []
                #expect((1...3).contains(page.count))
                ids += page.compactMap { $0["transaction_id"] as? String }
                after = (answer.fields["next"] as? String).map { "&after=\($0)" } ?? ""
                // A newer one is on none of the later pages.
                if ids.count == 3 { try await rows.order("999", account: "player-1", at: 400, granted: 400) }
            } while !after.isEmpty && ids.count < 20
            #expect(ids == (100..<110).reversed().map(String.init))
            let whole = try await intake.send(
                .get, "/v1/accounts/player-1/transactions\(query)&limit=11", token: TestIntake.serverKey)
            #expect((whole.fields["data"] as? [Any])?.count == 11)
            #expect(whole.fields["next"] is NSNull, "the last page says that it is")
            #expect(whole.fields["has_more"] as? Bool == false)
        }
    }
}
