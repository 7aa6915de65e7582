import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// What Apple tells, and what players post, of an account that was forgotten.
@Suite("After an account was forgotten", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct LateArrivalTests {
    private static let name = ForgettingTests.name

    private func forgotten(_ body: (ForgettingStory, Account) async throws -> Void) async throws {
        try await ForgettingStory.with(Self.name) { story, _ in
            try await story.forget()
            try await body(story, try await story.pseudonym())
        }
    }

    private func gems(of account: Account, _ bench: Bench) async throws -> Int64 {
        try await bench.number(
            "SELECT coalesce(sum(amount), 0) FROM balances WHERE account = '\(account)' AND item = 'gem'")
    }

    /// Her name, as her token is somebody's again.
    private func comeBack(_ story: ForgettingStory) async throws {
        let owner = try await AccountTokenStore(pool: story.bench.pool).register(
            app: Bench.app, token: story.token, account: Self.name)
        #expect(owner == Self.name)
    }

    @Test(arguments: [false, true])
    func `a refund takes from the pseudonym, and her token does not come back`(isBack: Bool) async throws {
        try await forgotten { story, pseudonym in
            let bench = story.bench
            if isBack { try await comeBack(story) }
            let before = try await gems(of: pseudonym, bench)
            let bought = ForgettingStory.signed("g1", product: "gems.100", token: story.token)
            try await story.notify("n-late", ForgettingStory.refunded(bought, at: 20))
            #expect(try await bench.standing(of: "g1") == "revoked revoked_by_apple \(pseudonym)")
            #expect(try await gems(of: pseudonym, bench) == before - 100)
            #expect(try await bench.column("app_account_token", of: "g1") == nil)
            // Again, and of what went with its lineage.
            try await story.notify("n-again", ForgettingStory.refunded(bought, at: 20))
            let pro = ForgettingStory.signed("p3", product: "pro", token: story.token)
            try await story.notify("n-pro", ForgettingStory.refunded(pro, at: 21))
            #expect(try await bench.standing(of: "p3") == "revoked revoked_by_apple \(pseudonym)")
            #expect(try await bench.owner(of: "p3") == "\(pseudonym) token")
            if !isBack { try await story.expectNoTrace() }
            try await bench.expectClean()
        }
    }

    @Test(arguments: [false, true])
    func `a renewal is the pseudonym's, whoever has the token now`(isBack: Bool) async throws {
        try await forgotten { story, pseudonym in
            let bench = story.bench
            if isBack { try await comeBack(story) }
            // The second is of long before she was forgotten, the last two are of long after.
            var renewal = RenewalStatement(
                environment: .production, originalTransactionId: "v1", productId: "vip", signedDate: Bench.day(31))
            renewal.appAccountToken = story.token
            for number in [2, 60, 61] {
                try await story.notify(
                    "n-\(number)", ForgettingStory.season(number, token: story.token, reason: "RENEWAL"),
                    renewals: [renewal])
                #expect(try await bench.standing(of: "v\(number)") == "granted - \(pseudonym)")
            }
            #expect(try await bench.owner(of: "v1") == "\(pseudonym) token")
            #expect(
                try await bench.answers("SELECT account FROM subscriptions WHERE original_transaction_id = 'v1'") == [
                    pseudonym.text
                ])
            #expect(try await bench.grantParked() == 0)
            if !isBack { try await story.expectNoTrace() }
            #expect(try await bench.answers("SELECT proof FROM submissions WHERE id = 'n-61'") == [""])
            try await bench.expectClean()
        }
    }

    @Test func `what had her token and is another's stays the other's`() async throws {
        try await forgotten { story, _ in
            let bench = story.bench
            var restated = ForgettingStory.signed("p1", product: "pro", token: story.token)
            restated.signedDate = Bench.day(22)
            try await story.notify("n-p1", restated)
            #expect(try await bench.standing(of: "p1") == "granted - ben")
            #expect(try await bench.owner(of: "p1") == "ben transfer")
            try await story.expectNoTrace()
            try await bench.expectClean()
        }
    }

    @Test func `who comes back by the same name is new, and restores by the rules`() async throws {
        try await forgotten { story, pseudonym in
            let bench = story.bench
            try await comeBack(story)
            #expect(try await gems(of: story.account, bench) == 0)
            // A consumable never changes hands, and a subscription that is kept stays where it is.
            try await story.post(
                "b-gems", ForgettingStory.signed("g1", product: "gems.100", token: story.token), by: Self.name)
            #expect(try await bench.outcome("b-gems")?.reason == .belongsToAnotherAccount)
            try await story.post(
                "b-vip", ForgettingStory.season(1, token: story.token, reason: "PURCHASE"), by: Self.name)
            #expect(try await bench.outcome("b-vip")?.reason == .belongsToAnotherAccount)
            // What may be transferred goes to whoever shows what Apple signed since.
            var old = ForgettingStory.signed("p3", product: "pro", token: story.token)
            old.signedDate = Bench.day(14)
            try await story.post("b-pro-old", old, by: Self.name)
            #expect(try await bench.outcome("b-pro-old")?.reason == .belongsToAnotherAccount)
            #expect(try await bench.standing(of: "p3") == "granted - \(pseudonym)")
            old.signedDate = Date() + 60
            try await story.post("b-pro", old, by: Self.name)
            #expect(try await bench.outcome("b-pro")?.state == .fulfilled)
            #expect(try await bench.standing(of: "p3") == "granted - \(Self.name)")
            // And what is bought anew is hers.
            var fresh = ForgettingStory.signed("g9", product: "gems.100", token: story.token)
            fresh.purchaseDate = Date() + 60
            try await story.post("b-fresh", fresh, by: Self.name)
            #expect(try await bench.standing(of: "g9") == "granted - \(Self.name)")
            #expect(try await gems(of: story.account, bench) == 100)
            #expect(
                try await bench.answers(
                    "SELECT sequence FROM events WHERE account = '\(Self.name)' AND app = '\(Bench.app)' ORDER BY 1")
                    == ["1", "2"])
            try await bench.expectClean()
        }
    }

    @Test func `a purchase that is under way is the pseudonym's, and is waited for`() async throws {
        try await ForgettingStory.with(Self.name) { story, url in
            let bench = story.bench
            let gems = ForgettingStory.signed("g7", product: "gems.100", token: story.token)
            let late = try await story.verdict("s-late", .genuine([gems]), by: Self.name)
            _ = try await story.ask()
            #expect(try await story.goOn() == .waiting(for: "purchases that have no outcome yet"))
            #expect(try await bench.standing(of: "g1")?.hasPrefix("granted - forgotten-") == true)
            try await bench.settle([late])
            #expect(try await story.goOn() == .finished)
            #expect(try await bench.standing(of: "g7") == "granted - \(try await story.pseudonym())")
            #expect(try await bench.standing(of: "g1") == "granted - \(try await story.pseudonym())")
            try await story.expectNoTrace(url)
            try await bench.expectClean()
        }
    }

    @Test func `what never got an outcome is rejected after a day, and is not in the way`() async throws {
        try await ForgettingStory.with(Self.name) { story, url in
            _ = try await story.verdict("s-never", .genuine([]), by: Self.name)
            _ = try await story.ask()
            #expect(try await story.goOn() == .waiting(for: "purchases that have no outcome yet"))
            try await story.bench.pool.withConnection { connection in
                try await connection.executeScript(
                    "UPDATE forget_requests SET requested_at = now() - interval '25 hours'; "
                        + "UPDATE submissions SET received_at = now() - interval '26 hours' WHERE id = 's-never'")
            }
            #expect(try await story.goOn() == .finished)
            #expect(
                try await story.bench.number("SELECT count(*) FROM submissions WHERE reason = 'account_forgotten'") == 1
            )
            try await story.expectNoTrace(url)
            try await story.bench.expectClean()
        }
    }

    @Test func `without a proof nothing is judged again`() async throws {
        try await forgotten { story, pseudonym in
            let store = SubmissionStore(pool: story.bench.pool)
            #expect(try await store.redrive(.parked, reason: "r", actor: "eve", limit: 100).isEmpty)
            let ids = try await story.bench.answers(
                "SELECT id FROM submissions WHERE account = '\(pseudonym)' AND state = 'rejected'")
            #expect(!ids.isEmpty)
            #expect(try await store.redrive(.ids(ids), reason: "r", actor: "eve", limit: 100).isEmpty)
            #expect(try await InspectionStore(pool: story.bench.pool).inspect(try #require(ids.first)) != nil)
            // What waits is decided all the same.
            var bench = story.bench
            bench.products = Catalogue([
                Bench.app: [
                    Catalogue.Product(
                        id: "hat", type: .consumable, items: [Catalogue.ItemGrant(item: "hat", amount: 1)],
                        entitlements: [])
                ]
            ])
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.standing(of: "h1") == "granted - \(pseudonym)")
            try await bench.expectClean()
        }
    }

    @Test func `purchases go on while she is forgotten, and nothing of them is lost`() async throws {
        try await ForgettingStory.with(Self.name) { story, url in
            let bench = story.bench
            let accounts = [Self.name, "ben", "carol"]
            var verdicts: [VerdictMessage] = []
            for number in 0..<30 {
                let gems = ForgettingStory.signed("race\(number)", product: "gems.100", token: nil)
                verdicts.append(
                    try await story.verdict("race-\(number)", .genuine([gems]), by: accounts[number % accounts.count]))
            }
            let all = verdicts
            _ = try await story.ask()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for verdict in all {
                    group.addTask {
                        // What is held is sent again.
                        let isWaiting =
                            "SELECT count(*) FROM submissions WHERE id = '\(verdict.submissionId)' AND state = 'received'"
                        repeat { try await bench.settle([verdict]) } while try await bench.number(isWaiting) == 1
                    }
                }
                group.addTask {
                    while try await story.goOn() != .finished { await Task.yield() }
                }
                try await group.waitForAll()
            }
            try await story.expectNoTrace(url)
            #expect(
                try await bench.number(
                    "SELECT count(*) FROM orders WHERE transaction_id LIKE 'race%' AND state = 'granted'") == 30)
            try await bench.expectClean()
        }
    }
}
