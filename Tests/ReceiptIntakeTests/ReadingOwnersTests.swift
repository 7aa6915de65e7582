import Foundation
import HTTPTypes
import HummingbirdTesting
import Postgres
import PurchaseModel
import Testing

@testable import ReceiptIntake

@Suite(
    "Reading after transfers, shares and refunds",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ReadingOwnersTests {
    private typealias Object = [String: Any]
    private let query = ReadingFixture.query

    @Test("an entitlement that was taken back is none, and is listed only with those that ended, with why")
    func revokedEntitlement() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.entitle("player-1", to: "vip", by: "1", endsIn: nil)
            try await rows.entitle("player-1", to: "season", by: "2", endsIn: 3600)
            try await rows.endEntitlement(of: "player-1", by: "1", because: "consent_rescinded", at: 90)
            let now = try await intake.send(.get, "/v1/accounts/player-1\(query)", token: ReadingFixture.player())
            let active = now.fields["entitlements"] as? [Object] ?? []
            #expect(active.map { $0["entitlement"] as? String } == ["season"])
            #expect(active.first?["revoked_at"] == nil)
            let all = try await intake.send(
                .get, "/v1/accounts/player-1\(query)&expired=true", token: ReadingFixture.player())
            let vip = try #require((all.fields["entitlements"] as? [Object])?.last)
            #expect(vip["entitlement"] as? String == "vip")
            #expect(vip["active"] as? Bool == false)
            #expect(vip["revoked_at"] as? String == "2026-11-21T10:01:30.000Z")
            #expect(vip["revoked_because"] as? String == "consent_rescinded")
        }
    }

    @Test("a balance below zero is told as the debt that it is")
    func debt() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.order("1", account: "player-1", at: 10, granted: 10)
            try await rows.post("revocation", -30, "gem", account: "player-1", for: "1", at: 20)
            let answer = try await intake.send(.get, "/v1/accounts/player-1\(query)", token: ReadingFixture.player())
            #expect((answer.fields["balances"] as? [Object])?.first?["amount"] as? Int == -30)
        }
    }

    @Test("an account tells its subscriptions and those shared with it, those that run longest first")
    func subscriptions() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.subscription("10", of: "player-1", .expired, ends: 100) { $0.expirationIntent = 1 }
            try await rows.subscription("11", of: "player-1", .gracePeriod, ends: 300)
            try await rows.subscription("12", of: "player-2", ends: 900)
            try await rows.bind("12", from: "player-2", to: "player-1", cause: "share", policy: "share", at: 50)
            try await rows.subscription("13", of: "player-2", ends: 900)
            try await rows.subscription("14", of: nil, ends: 900)
            try await rows.subscription("15", of: "player-1", ends: 900, environment: "sandbox")
            try await rows.subscription("16", of: "player-1", ends: 900, app: TestIntake.otherApp)
            let answer = try await intake.send(.get, "/v1/accounts/player-1\(query)", token: ReadingFixture.player())
            let all = answer.fields["subscriptions"] as? [Object] ?? []
            #expect(all.map { $0["original_transaction_id"] as? String } == ["12", "11", "10"])
            #expect(all.map { $0["shared"] as? Bool } == [true, false, false])
            #expect(all.map { $0["state"] as? String } == ["active", "grace_period", "expired"])
            #expect(all.last?["expiration_intent"] as? Int == 1)
            #expect(all.last?["changed_at"] as? String == "2026-11-21T10:03:20.000Z")
            #expect(answer.fields["complete"] as? Bool == true)
            #expect(!answer.text.contains("player-2"), "whose it is that is shared, is not told")
        }
    }

    @Test("more than a hundred subscriptions are told to be more")
    func many() async throws {
        try await ReadingFixture.with { intake, rows in
            for number in 0..<101 { try await rows.subscription("\(1000 + number)", of: "player-1", ends: number) }
            let answer = try await intake.send(.get, "/v1/accounts/player-1\(query)", token: TestIntake.serverKey)
            #expect((answer.fields["subscriptions"] as? [Object])?.count == 100)
            #expect(answer.fields["complete"] as? Bool == false)
        }
    }

    @Test("transactions tell what was taken back, and after a transfer the new owner has them, and the old one not")
    func transactions() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfAChequeredLife()
            func transactions(_ name: String) async throws -> [Object] {
                let answer = try await intake.send(
                    .get, "/v1/accounts/\(name)/transactions\(query)", token: ReadingFixture.player(name))
                return answer.fields["data"] as? [Object] ?? []
            }
            #expect(try await transactions("player-1").isEmpty)
            #expect(try await transactions("player-3").isEmpty, "who shares has not bought")
            let own = try #require(try await transactions("player-2").first)
            #expect(own["transaction_id"] as? String == "2000050")
            #expect(own["state"] as? String == "revoked")
            #expect(own["revocation_type"] as? String == "REFUND_PRORATED")
            #expect(own["revocation_percentage"] as? Int == 50_000)
            #expect(own["revoked_at"] as? String == "2026-11-21T10:03:20.000Z")
            #expect(own["granted_at"] as? String == "2026-11-21T10:00:20.000Z")
        }
    }

    @Test("a server reads all that an order went through")
    func server() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfAChequeredLife()
            let answer = try await intake.send(.get, "/v1/orders/2000050\(query)", token: TestIntake.serverKey)
            #expect(answer.status == 200, "\(answer.text)")
            func list(_ name: String) -> [Object] { answer.fields[name] as? [Object] ?? [] }
            #expect(list("entries").map { $0["kind"] as? String } == ["grant", "revocation"])
            #expect(list("entries").map { $0["account"] as? String } == ["player-1", "player-1"])
            #expect(list("bindings").map { $0["to"] as? String } == ["player-1", "player-2", "player-3"])
            #expect(list("bindings").map { $0["from"] as? String } == [nil, "player-1", "player-2"])
            #expect(list("bindings").map { $0["first"] as? Bool } == [true, false, false])
            #expect(list("entitlements").map { $0["account"] as? String } == ["player-2", "player-3"])
            #expect(list("entitlements").map { $0["active"] as? Bool } == [false, true])
            #expect(list("claims").map { $0["actor"] as? String } == ["alice"])
            #expect(list("submissions").map { $0["account"] as? String } == ["player-1", nil], "Apple is no account")
            #expect(answer.fields["price_expected"] as? Bool == false)
            #expect(answer.fields["catalogue_version"] as? Int == 1)
            #expect((answer.fields["subscription"] as? Object)?["renewal_product_id"] as? String == "pass.yearly")
            let proceeds = try #require(answer.fields["proceeds"] as? Object)
            func milliunits(_ name: String) -> Int { proceeds["\(name)_milliunits"] as? Int ?? .min }
            #expect(milliunits("gross") == 990)
            #expect(milliunits("proceeds") == 990 - milliunits("tax") - milliunits("commission"))
            #expect(milliunits("refunded_proceeds") > 0)
        }
    }

    @Test("a player reads of it what is of the own account, and neither others, nor staff, nor estimates")
    func player() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.storyOfAChequeredLife()
            let token = try ReadingFixture.player("player-2")
            for path in ["/v1/orders/2000050", "/v1/orders/2000050/why"] {
                let answer = try await intake.send(.get, path + query, token: token)
                #expect(answer.status == 200, "\(answer.text)")
                for secret in [
                    "player-1", "player-3", "alice", "Monday", "proceeds", "commission", "expects", "backend",
                ] {
                    #expect(!answer.text.contains(secret), "\(secret) in \(answer.text)")
                }
                for name in ["player-1", "player-3", "player-4"] {
                    let other = try await intake.send(.get, path + query, token: ReadingFixture.player(name))
                    #expect(other.slug == "not-found", "\(name)")
                }
            }
            let answer = try await intake.send(.get, "/v1/orders/2000050\(query)", token: token)
            let bindings = answer.fields["bindings"] as? [Object] ?? []
            #expect(bindings.count == 2, "the first is between others")
            #expect(bindings.first?["from"] == nil && bindings.first?["first"] as? Bool == false)
            #expect(bindings.last?["to"] == nil && bindings.last?["from"] as? String == "player-2")
            let claim = (answer.fields["claims"] as? [Object])?.first
            #expect(claim?["account"] as? String == "player-2" && claim?["actor"] == nil && claim?["reason"] == nil)
            #expect((answer.fields["entries"] as? [Object])?.isEmpty == true)
            #expect((answer.fields["entitlements"] as? [Object])?.count == 1)
        }
    }

    @Test("what one account's posting reads of another's does not depend on how alike their names look")
    func alike() async throws {
        try await ReadingFixture.with { intake, rows in
            try await rows.subscription("20", of: "\u{E9}")
            let composed = try await intake.send(.get, "/v1/accounts/%C3%A9\(query)", token: TestIntake.serverKey)
            let decomposed = try await intake.send(.get, "/v1/accounts/e%CC%81\(query)", token: TestIntake.serverKey)
            #expect((composed.fields["subscriptions"] as? [Object])?.count == 1)
            #expect((decomposed.fields["subscriptions"] as? [Object])?.isEmpty == true)
        }
    }
}
