import Foundation
import Messages
import NIOHTTP1
import Persistence
import Postgres
import PurchaseModel
import Testing

@testable import VerificationWorker

/// What nobody told us of, and Apple still knows.
@Suite("The sweep's stories", .enabled(if: SweepBooks.isThere, SweepBooks.missing))
struct SweepStoriesTests {
    @Test(
        "a customer has nothing but the order id of Apple's e-mail: his purchase is found, and held until somebody is named"
    )
    func orderId() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            let paid = try await store.sell("coins.100", type: "Consumable", to: "apple", token: nil)
            let orderId = try await store.orderId(of: paid.transactionId)
            try await books.stage.withAccess { access in
                let requests = SweepRequestStore(pool: books.pool)
                func ask(_ id: String) async throws -> SweepRequestStore.Status {
                    let asking = try await requests.ask(
                        .order(id), app: SubmissionFixture.app, environment: nil, actor: "kim", reason: "ticket 1",
                        limit: 9)
                    guard case .asked(let request, true) = asking else { throw Unexpected(asking: asking) }
                    try await books.sweep(access)
                    return try #require(try await requests.find(request, app: SubmissionFixture.app))
                }
                let found = try await ask(orderId)
                #expect(found.finishedAt != nil && found.found == 1 && found.calls == 1)
                #expect(found.recovered.map(\.transactionId) == [paid.transactionId])
                #expect(found.recovered.first?.state == "parked" && found.recovered.first?.reason == "unclaimed")
                // Asked once more, nothing is new, and the purchase is told all the same.
                let again = try await ask(orderId)
                #expect(again.found == 0 && again.recovered == found.recovered)
                // An order that Apple does not know, and what cannot be one, end the question.
                for unknown in ["MNONESUCH", "x"] {
                    let nothing = try await ask(unknown)
                    #expect(nothing.finishedAt != nil && nothing.recovered.isEmpty, "\(unknown)")
                }
                #expect(
                    try await books.number(
                        "SELECT count(*) AS n FROM audit_log WHERE action = 'sweep' AND actor = 'kim'") == 4)
                try await ConsistencyCheck(pool: books.pool).expectClean()
            }
        }
    }

    private struct Unexpected: Error { let asking: SweepRequestStore.Asking }

    @Test("our endpoint was away for days, and Apple has given up: the sweep leaves books and store in agreement")
    func outage() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            try await store.keepNotifications()
            try await store.addSubscription()
            try await store.setClock(Date(timeIntervalSinceNow: -9 * 86_400))
            var sold: [Simulator.Sold] = []
            for number in 0..<25 {
                let token = try await books.token(of: "player-\(number)")
                sold.append(
                    try await store.sell("coins.100", type: "Consumable", to: "apple-\(number)", token: token))
            }
            let token = try await books.token(of: "subscriber")
            sold.append(try await store.sell("gold", type: "Auto-Renewable Subscription", to: "apple-s", token: token))
            try await store.advance("P1D")
            for refunded in sold[..<3] { try await store.refund(refunded) }
            // Six attempts within six and a half days, and then no more.
            try await store.advance("P7D")
            try await store.advance("12h")
            try await store.setClock(Date())
            try await books.stage.withAccess { access in
                try await books.sweep(access)
                #expect(try await books.orders() == books.apple(access, customersOf: sold))
                #expect(try await books.number("SELECT count(*) AS n FROM orders WHERE state = 'granted'") == 23)
                // A refund whose purchase comes after it is one order; in what order Apple's history has them is Apple's.
                #expect(
                    try await books.number(
                        """
                        SELECT count(DISTINCT transaction_id) AS n FROM events WHERE type = 'iap.transaction.recovered'
                        """) == 26)
                let found = try await books.number("SELECT count(*) AS n FROM recoveries")
                // Asked again from the beginning, it finds nothing new.
                _ = try await books.pool.query("UPDATE sweep_tasks SET covered_until = NULL")
                try await books.hurry()
                try await books.sweep(access)
                #expect(try await books.number("SELECT count(*) AS n FROM recoveries") == found)
                #expect(try await books.number("SELECT count(*) AS n FROM submissions") == found)
                try await ConsistencyCheck(pool: books.pool).expectClean()
            }
        }
    }

    @Test("the app was deleted after paying, and has no notifications: the intent has the history looked at")
    func appDeleted() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            let first = try await store.sell("coins.100", type: "Consumable", to: "apple", token: nil)
            try await books.stage.withAccess { access in
                try await books.post(first, by: "player")
                try await books.settle(access)
                let intent = try await books.intent(of: "player", for: "coins.100")
                let paid = try await store.sell("coins.100", type: "Consumable", to: "apple", token: intent)
                try await books.sweep(access)
                #expect(try await books.state(of: paid) == "granted")
                #expect(
                    try await books.number(
                        "SELECT amount AS n FROM balances WHERE account = 'player' AND item = 'coin'") == 200)
                #expect(
                    try await books.number("SELECT count(*) AS n FROM recoveries WHERE cause = 'intent'") == 1,
                    "what was posted was not found again")
                let told = try await books.pool.query(
                    "SELECT body::jsonb #>> '{data,recovered_by}' AS source FROM events WHERE type = $1",
                    [.text("iap.transaction.recovered")])
                #expect(try told.rows.map { try $0.decode("source", as: String.self) } == ["history"])
            }
        }
    }

    @Test("an offer code without a token is nobody's until its player posts it, and is listed as lost until then")
    func offerCode() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            try await store.keepNotifications()
            try await store.control(
                .PUT, "apps/\(SubmissionFixture.app)/products/gold",
                """
                {"type":"Auto-Renewable Subscription","period":"P1M","price":4990,"level":1,
                "offers":[{"kind":"code","identifier":"FREE","discount":"FREE_TRIAL","period":"P1M"}]}
                """)
            let sold = try await store.sell(
                "gold", type: "Auto-Renewable Subscription", to: "apple", token: nil,
                extra: ",\"offer\":{\"kind\":\"code\",\"identifier\":\"FREE\"}")
            try await books.stage.withAccess { access in
                try await books.sweep(access)
                #expect(try await books.state(of: sold) == "parked unclaimed")
                var all = LostPurchasesStore.Selection()
                all.olderThan = .zero
                let lost = try await LostPurchasesStore(pool: books.pool).rows(all, limit: 10)
                #expect(lost.map(\.transactionId) == [sold.transactionId])
                #expect(lost.first?.reason == "unclaimed")
                try await books.post(sold, by: "player")
                try await books.settle(access)
                #expect(try await books.state(of: sold) == "granted")
                #expect(try await LostPurchasesStore(pool: books.pool).rows(all, limit: 10).isEmpty)
            }
        }
    }

    @Test("refunds and cancelled subscriptions of which nobody told, in an app without notifications")
    func refundsAndStatuses() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            try await store.addSubscription()
            let coins = try await store.sell("coins.100", type: "Consumable", to: "apple", token: nil)
            let gold = try await store.sell("gold", type: "Auto-Renewable Subscription", to: "apple", token: nil)
            try await books.stage.withAccess { access in
                for sold in [coins, gold] { try await books.post(sold, by: "player") }
                try await books.settle(access)
                try await store.refund(coins)
                try await store.control(
                    .POST, "subscriptions/\(gold.originalTransactionId)/auto-renew", "{\"on\":false}")
                try await books.sweep(access)
                try await books.hurry()
                try await books.sweep(access)
                #expect(try await books.state(of: coins) == "revoked revoked_by_apple")
                #expect(
                    try await books.number(
                        "SELECT amount AS n FROM balances WHERE account = 'player' AND item = 'coin'") == 0)
                #expect(
                    try await books.number(
                        """
                        SELECT count(*) AS n FROM events WHERE type = 'iap.subscription.cancel_scheduled'
                        """) == 1)
                // All of it is known by now.
                let found = try await books.number("SELECT count(*) AS n FROM recoveries")
                try await books.hurry()
                try await books.sweep(access)
                #expect(try await books.number("SELECT count(*) AS n FROM recoveries") == found)
            }
        }
    }

    @Test("an operator has everything of one account asked at once, before all others")
    func request() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            let first = try await store.sell("coins.100", type: "Consumable", to: "apple", token: nil)
            try await books.stage.withAccess { access in
                try await books.post(first, by: "player")
                try await books.settle(access)
                let token = try await books.token(of: "player")
                let paid = try await store.sell("coins.100", type: "Consumable", to: "apple", token: token)
                let tasks = SweepTaskStore(pool: books.pool)
                let asked = try await tasks.request(
                    .account(Account(stored: "player")), app: SubmissionFixture.app, environment: .production,
                    actor: "anna",
                    reason: "wrote to support")
                #expect(asked.tasks == 3)
                #expect(asked.auditId != nil)
                try await books.sweep(access)
                #expect(try await books.state(of: paid) == "granted")
                let nobody = try await tasks.request(
                    .transaction("1"), app: SubmissionFixture.app, environment: nil, actor: "anna", reason: "?")
                #expect(nobody.tasks == 0 && nobody.auditId == nil)
            }
        }
    }

    @Test(
        "a backend asks about a player who wrote to support: before a reconciliation of thousands, and sees what was found"
    )
    func backend() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            let first = try await store.sell("coins.100", type: "Consumable", to: "apple", token: nil)
            let others = try await store.sell("coins.100", type: "Consumable", to: "another", token: nil)
            try await books.stage.withAccess { access in
                try await books.post(first, by: "player")
                try await books.post(others, by: "somebody")
                try await books.settle(access)
                try await books.sweep(access)
                let token = try await books.token(of: "player")
                let paid = try await store.sell("coins.100", type: "Consumable", to: "apple", token: token)
                _ = try await SweepRunStore(pool: books.pool).begin(
                    since: Date(timeIntervalSinceNow: -86_400), isFull: true, actor: "anna", reason: "restored")
                let requests = SweepRequestStore(pool: books.pool)
                let asking = try await requests.ask(
                    .token(token), app: SubmissionFixture.app, environment: nil, actor: "a key",
                    reason: "wrote to support", limit: 10)
                guard case .asked(let id, true) = asking else {
                    Issue.record("\(asking)")
                    return
                }
                // One question at a time: the customer's three are the first.
                let sweeper = books.sweeper(access) { $0.inFlightMaximum = 1 }
                for _ in 0..<3 { #expect(try await sweeper.look() == 1) }
                let over = try #require(try await requests.find(id, app: SubmissionFixture.app))
                #expect(over.finishedAt != nil && over.questions == 3 && over.questionsLeft == 0, "\(over)")
                #expect(over.found == 1 && over.calls >= 3)
                try await books.settle(access)
                let told = try #require(try await requests.find(id, app: SubmissionFixture.app)).recovered
                #expect(told.map(\.transactionId) == [paid.transactionId] && told.map(\.state) == ["granted"])
                #expect(try await requests.find(id, app: "another") == nil)
            }
        }
    }
}

extension SweepBooks {
    /// An order's state, and why.
    func state(of sold: Simulator.Sold) async throws -> String? {
        let rows = try await pool.query(
            "SELECT concat_ws(' ', state, reason) AS state FROM orders WHERE transaction_id = $1",
            [.text(sold.transactionId)]
        ).rows
        return try rows.first?.decode("state", as: String.self)
    }

    /// Why submissions wait, sorted.
    func waiting() async throws -> [String] {
        let rows = try await pool.query("SELECT reason FROM submissions WHERE state = 'received' ORDER BY reason").rows
        return try rows.map { try $0.decode("reason", as: String.self) }
    }
}

extension ConsistencyCheck {
    /// No rule is broken.
    func expectClean() async throws {
        let broken = try await run(examplesMaximum: 3).rules.filter { $0.violations > 0 }
        #expect(broken.isEmpty, "\(broken)")
    }
}
