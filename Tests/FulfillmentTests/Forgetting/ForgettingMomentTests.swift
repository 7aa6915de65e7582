import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// Forgetting is bound to the moment of its request: what comes afterwards by the same name is a new account's.
@Suite("Forgetting as of a moment", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct ForgettingMomentTests {
    private static let name = ForgettingTests.name

    /// What the new account of the name has of its own, whatever became of the old one.
    private func expectOwn(
        _ story: ForgettingStory, _ newcomer: Newcomer, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let bench = story.bench
        #expect(
            try await bench.standing(of: newcomer.gems.transactionId) == "granted - \(Self.name)",
            sourceLocation: sourceLocation)
        #expect(
            try await bench.standing(of: newcomer.season.transactionId) == "granted - \(Self.name)",
            sourceLocation: sourceLocation)
        let rows = [
            ("account_tokens", 2), ("purchase_intents", 1), ("account_consents", 1), ("spends", 1),
            ("lineages", 1), ("subscriptions", 1), ("entitlements", 1), ("orders", 2),
        ]
        for (table, count) in rows {
            let found = try await bench.number(
                "SELECT count(*) FROM \(table) WHERE account = '\(Self.name)' AND app = '\(Bench.app)'")
            #expect(found == Int64(count), "\(table)", sourceLocation: sourceLocation)
        }
        #expect(
            try await bench.number(
                "SELECT count(*) FROM submissions WHERE account = '\(Self.name)' AND id LIKE 'new-%'") == 2,
            sourceLocation: sourceLocation)
        // 100 and 10 were bought, 5 are an operator's, and 40 are spent.
        #expect(
            try await bench.answers(
                "SELECT item || ' ' || amount FROM balances WHERE account = '\(Self.name)' AND app = '\(Bench.app)' "
                    + "ORDER BY 1") == ["dust 5", "gem 70"], sourceLocation: sourceLocation)
        #expect(
            try await bench.number(
                "SELECT count(*) FROM ledger_entries WHERE account = '\(Self.name)' AND app = '\(Bench.app)'") == 4,
            sourceLocation: sourceLocation)
        #expect(
            try await bench.answers(
                "SELECT type FROM events WHERE account = '\(Self.name)' AND app = '\(Bench.app)' ORDER BY 1") == [
                    "iap.account.adjusted", "iap.subscription.started", "iap.transaction.fulfilled",
                    "iap.transaction.fulfilled",
                ], sourceLocation: sourceLocation)
        #expect(try await bench.outcome("new-gems")?.finish == true, sourceLocation: sourceLocation)
        #expect(
            try await bench.column("app_account_token", of: newcomer.gems.transactionId)
                == story.token.uuidString.lowercased(), sourceLocation: sourceLocation)
        try await bench.expectClean(sourceLocation: sourceLocation)
    }

    /// Rows that name a submission by its id.
    private func places(of ids: [String], in dump: TableDump) -> [String] {
        dump.rows.values.flatMap { $0 }.filter { row in ids.contains { row.contains("\"\($0)\"") } }
    }

    /// What the new account buys: with a token of the old one's, as a studio has it that derives tokens from names.
    private struct Newcomer {
        let gems: Transaction
        let season: Transaction
    }

    private func purchases(_ story: ForgettingStory) -> Newcomer {
        var gems = ForgettingStory.signed("new1", product: "gems.100", token: story.token)
        gems.purchaseDate = Date() + 60
        var season = ForgettingStory.season(1, lineage: "new-v", token: nil, reason: "PURCHASE")
        season.purchaseDate = Bench.day(14)
        return Newcomer(gems: gems, season: season)
    }

    /// All that a new account does, but for buying.
    private func comeAsNew(_ story: ForgettingStory) async throws {
        let pool = story.bench.pool
        let tokens = AccountTokenStore(pool: pool)
        #expect(try await tokens.register(app: Bench.app, token: story.token, account: Self.name) == Self.name)
        _ = try await IntentStore(pool: pool).open(
            UUID(), app: Bench.app, account: Self.name, productId: "gems.100", limit: 10)
        _ = try await AccountConsentStore(pool: pool).set(true, app: Bench.app, account: story.account)
        _ = try await LedgerStore.adjust(
            environment: .production, app: Bench.app, account: story.account,
            items: [Catalogue.ItemGrant(item: "dust", amount: 5)], actor: "eve", reason: "welcome \(Self.name)",
            pool: pool)
    }

    private func spend(_ story: ForgettingStory) async throws {
        let spent = try await SpendStore(pool: story.bench.pool).spend(
            SpendStore.Request(
                customer: Customer(environment: .production, app: Bench.app, account: story.account), key: "shield",
                sha256: "hash", items: [Catalogue.ItemGrant(item: "gem", amount: 40)], reference: "shield"))
        guard case .spent = spent else {
            Issue.record("\(spent)")
            return
        }
    }

    /// As intake does until there is an outcome.
    private func settle(_ verdicts: [VerdictMessage], _ story: ForgettingStory) async throws {
        try await story.bench.settle(verdicts)
    }

    @Test(
        "a purchase from before waits for Apple, and the new account of the name buys: each has its own",
        arguments: [false, true])
    func waits(isCarriedOutLate: Bool) async throws {
        try await ForgettingStory.with(Self.name) { story, _ in
            let bench = story.bench
            let gems = ForgettingStory.signed("old1", product: "gems.100", token: story.token)
            // A bare id is verified by asking Apple, who is down; that it is hers, Apple's token says alone.
            var old = try await story.verdict("s-old", .genuine([gems]), by: Self.name, kind: .transactionId)
            old.claims.areUnproven = true
            _ = try await story.ask()
            if !isCarriedOutLate {
                #expect(try await story.goOn() == .waiting(for: "purchases that have no outcome yet"))
            }
            try await comeAsNew(story)
            let newcomer = purchases(story)
            let bought = [
                try await story.verdict("new-gems", .genuine([newcomer.gems]), by: Self.name),
                try await story.verdict("new-vip", .genuine([newcomer.season]), by: Self.name),
            ]
            try await settle(bought, story)
            if isCarriedOutLate {
                // Nothing is given by the name, to nobody, until it is known whose it is; and nothing is lost.
                #expect(try await bench.outcome("new-gems") == nil)
                #expect(
                    try await bench.number(
                        "SELECT count(*) FROM submissions WHERE id LIKE 'new-%' AND state = 'received' AND due_at IS NOT NULL"
                    ) == 2)
                #expect(try await story.goOn() == .waiting(for: "purchases that have no outcome yet"))
                try await settle(bought, story)
            }
            _ = try await bench.grantParked()
            #expect(try await bench.outcome("new-gems")?.state == .fulfilled)
            try await spend(story)
            try await expectOwn(story, newcomer)
            // Apple is back.
            try await settle([old], story)
            let pseudonym = try #require(try await bench.column("account", of: "old1"))
            #expect(Account(stored: pseudonym).isPseudonym)
            #expect(try await story.goOn() == .finished)
            #expect(try await story.pseudonym().text == pseudonym)
            #expect(try await bench.standing(of: "old1") == "granted - \(pseudonym)")
            #expect(try await bench.column("app_account_token", of: "old1") == nil)
            try await expectOwn(story, newcomer)
            let dump = try await TableDump(bench.pool)
            #expect(places(of: ["s-old", "s-gems"], in: dump).isEmpty)
            #expect(dump.places(of: story.intent.uuidString).isEmpty)
        }
    }

    @Test func `a name that is a part of what its rows have afterwards comes to an end, too`() async throws {
        try await ForgettingStory.with("gotten") { story, _ in
            _ = try await story.bench.pool.query(
                "UPDATE orders SET correlation_id = 'req-gotten-x' WHERE account IS NULL")
            try await story.forget()
        }
    }

    @Test func `what was posted before is the old account's, whenever it is settled, and what is posted after is not`()
        async throws
    {
        try await ForgettingStory.with(Self.name) { story, url in
            let bench = story.bench
            let old = try await story.verdict(
                "s-old", .genuine([ForgettingStory.signed("old1", product: "gems.100", token: nil)]), by: Self.name,
                kind: .transactionId)
            _ = try await story.ask()
            #expect(try await story.goOn() == .waiting(for: "purchases that have no outcome yet"))
            let after = try await story.verdict(
                "s-after", .genuine([ForgettingStory.signed("after1", product: "gems.100", token: nil)]),
                by: Self.name, kind: .transactionId)
            // In one batch, the later one first.
            try await bench.settle([after, old])
            #expect(try await bench.standing(of: "after1") == "granted - \(Self.name)")
            #expect(try await bench.standing(of: "old1")?.hasPrefix("granted - forgotten-") == true)
            #expect(try await story.goOn() == .finished)
            // And the new account is forgotten, too: then nothing is left of the name.
            try await story.forget()
            #expect(try await bench.standing(of: "after1")?.hasPrefix("granted - forgotten-") == true)
            #expect(
                try await bench.column("account", of: "after1") != bench.column("account", of: "old1"),
                "two players are two pseudonyms")
            try await story.expectNoTrace(url)
            try await bench.expectClean()
        }
    }

    @Test func `the new account may ask to be forgotten while the old one's purchases are waited for`() async throws {
        try await ForgettingStory.with(Self.name) { story, _ in
            let old = try await story.verdict("s-old", .genuine([]), by: Self.name)
            let first = try await story.ask()
            #expect(try await story.ask().id == first.id)
            #expect(try await story.goOn() == .waiting(for: "purchases that have no outcome yet"))
            #expect(try await story.ask().id != first.id)
            try await story.bench.settle([old])
        }
    }

    @Test func `of deliveries in order and of receipts in parts no hash of the name is left`() async throws {
        try await ForgettingStory.with(Self.name) { story, url in
            let bench = story.bench
            let parts = ["r1", "r2"].map { ForgettingStory.signed($0, product: "gems.100", token: UUID()) }
            var first = try await story.verdict("s-parts", .genuine([parts[0]]), by: Self.name, kind: .receipt)
            first.isPartial = true
            var last = first
            (last.verdict, last.isPartial) = (.genuine([parts[1]]), false)
            try await bench.settle([first])
            try await bench.settle([last])
            try await story.post(
                "s-more", ForgettingStory.signed("more1", product: "gems.100", token: nil), by: Self.name)
            let events = try await bench.answers(
                "SELECT id FROM events WHERE account = '\(Self.name)' AND app = '\(Bench.app)' "
                    + "AND id NOT IN (SELECT event_id FROM webhook_deliveries)")
            #expect(!events.isEmpty)
            try await EndpointStore(pool: bench.pool).register(["ordered"])
            _ = try await DeliveryStore(pool: bench.pool).takeOver(
                eventIds: events, deliveries: events.map { .init(eventId: $0, endpointId: "ordered", body: nil) },
                orderedEndpointIds: ["ordered"], lease: .seconds(30))
            let lane =
                "substr(sha256(convert_to(e.environment || E'\\n' || e.app || E'\\n' || e.account, 'UTF8')), 1, 8)"
            let lanes = "SELECT count(*) FROM webhook_turns t JOIN events e ON e.id = t.event_id WHERE t.lane = \(lane)"
            let turns = try await bench.number(lanes)
            #expect(turns == Int64(events.count))

            try await story.forget()

            #expect(try await bench.number("SELECT count(*) FROM webhook_turns") == turns)
            #expect(try await bench.number(lanes + " AND t.sequence = e.sequence") == turns)
            let pseudonym = try await story.pseudonym()
            #expect(
                try await bench.number(
                    "SELECT count(DISTINCT account) FROM webhook_turns t JOIN events e ON e.id = t.event_id")
                    == 1)
            #expect(
                try await bench.number(
                    "SELECT count(*) FROM webhook_turns t JOIN events e ON e.id = t.event_id WHERE e.account = '\(pseudonym)'"
                )
                    == turns)
            let dump = try await TableDump(bench.pool)
            #expect(places(of: ["s-parts", "s-more"], in: dump).isEmpty)
            try await story.expectNoTrace(url)
            try await bench.expectClean()
        }
    }
}
