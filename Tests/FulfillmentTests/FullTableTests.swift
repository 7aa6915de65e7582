import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// What is done for every request and every second reads some rows of the tables that grow, never most of one.
@Suite(.enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct FullTableTests {
    /// The most rows of one table, and entries of its indexes, that one step may read; it has ten times as many, or more.
    fileprivate static let rowsMaximum: Int64 = 2_000
    private static let customer = Customer(
        environment: .production, app: Bench.app, account: Account(stored: "player4"))

    private typealias Step = MeasuredStep

    private static let steps = fulfilling + lookingForDue + delivering + resending + asking + operating

    private static let fulfilling = [
        Step("settle purchases") { pool in
            let bench = Bench(pool: pool)
            try await bench.settle([
                try await bench.verdict("s1", .genuine([Bench.signed("n1")])),
                try await bench.verdict("s2", .genuine([Bench.signed("n2", product: "pro")])),
                try await bench.verdict("s3", .genuine([Bench.signed("n3", token: UUID())])),
            ])
        },
        Step("settle what is there, another's, and a refund") { pool in
            let bench = Bench(pool: pool)
            var refunded = Bench.signed("4")
            refunded.revocationDate = Date(timeIntervalSince1970: 1_700_000_100)
            refunded.signedDate = Date(timeIntervalSince1970: 1_700_000_100)
            try await bench.settle([
                try await bench.verdict("s4", .genuine([Bench.signed("1")]), account: "player1"),
                try await bench.verdict("s5", .genuine([Bench.signed("6", product: "pro")])),
                try await bench.verdict("s6", .genuine([refunded]), account: "player4"),
            ])
        },
        Step("settle a renewal") { pool in
            let shop = SubscriptionBench(Bench(pool: pool))
            try await shop.post(
                [SubscriptionBench.period("n9", from: 2_000, to: 2_030, lineage: "9")],
                [SubscriptionBench.renewal(signed: 2_000, lineage: "9")], account: "player9")
        },
        Step("settle a withdrawn consent") { pool in
            let bench = Bench(pool: pool)
            var verdict = try await bench.verdict("s7", .genuine([]))
            verdict.rescindedConsents = [
                RescindedConsent(
                    environment: .production, bundleId: Bench.app, appTransactionId: "appplayer7", signedDate: Date())
            ]
            try await bench.settle([verdict])
        },
    ]

    private static let lookingForDue = [
        Step("parked orders") { _ = try await Bench(pool: $0).grantParked() },
        Step("subscriptions and entitlements that end") { pool in
            let shop = SubscriptionBench(Bench(pool: pool))
            _ = try await shop.endSubscriptions.end(limit: 200)
            _ = try await shop.endEntitlements.end(limit: 200)
        },
        Step("submissions and events that are due") { pool in
            let lease = Duration.seconds(30)
            _ = try await SubmissionStore(pool: pool).claimDue(limit: 200, lease: lease, leaseMaximum: lease)
            _ = try await EventStore(pool: pool).claimDue(limit: 200, lease: lease, leaseMaximum: lease)
        },
        Step("alarms and ages") { pool in
            let alarms = SubmissionStore(pool: pool)
            _ = try await alarms.raiseAlarms(olderThan: .seconds(3_600), limit: 100)
            _ = try await alarms.alarmed()
            _ = try await SubmissionStore(pool: pool).oldestUnsettled()
            let events = EventStore(pool: pool)
            _ = try await events.raiseAlarms(olderThan: .seconds(300), limit: 100)
            _ = try await events.waiting(longerThan: .seconds(300))
        },
    ]

    private static let delivering = [
        Step("deliveries that are due, where thousands wait") { pool in
            let store = DeliveryStore(pool: pool)
            let due = try await store.claimDue(endpointIds: ["down"], limit: 50, lease: .seconds(30))
            #expect(due.count == 50)
            let attempt = DeliveryStore.Attempt(
                number: 1, beganAt: Date(), duration: .milliseconds(5), answer: "ok")
            try await store.record(
                due.map {
                    .init(
                        eventId: $0.eventId, endpointId: $0.endpointId, result: .delivered(status: 200),
                        attempt: attempt)
                })
        },
        Step("the next delivery") { pool in
            let store = DeliveryStore(pool: pool)
            #expect(try await !store.untilDue(endpointIds: ["up", "down"]).isEmpty)
            let new = ["evt1", "evt2"].map { DeliveryStore.NewDelivery(eventId: $0, endpointId: "new", body: nil) }
            _ = try await store.takeOver(eventIds: ["evt1", "evt2"], deliveries: new, lease: .seconds(60))
        },
    ]

    private static let resending = [
        Step("deliveries that were given up, among thousands that were not") { pool in
            let store = WebhookResendStore(pool: pool)
            let asker = WebhookResendStore.Asker(actor: "test", reason: "a test")
            #expect(try await store.resend(.init(), .init(limit: 1_000), asker: asker).count == 20)
            let taken = try await DeliveryStore(pool: pool).takeUp(
                endpointIds: ["up"], limit: 1_000, lease: .seconds(60))
            #expect(taken.deliveries == 20)
        },
        Step("an account's deliveries, whatever their state") { pool in
            var selection = WebhookSelection()
            (selection.account, selection.app, selection.state) = (customer.account, Bench.app, .all)
            let found = try await WebhookResendStore(pool: pool).count(selection, .init(limit: 1_000))
            #expect(found.count >= 2)
        },
        Step("one look at deliveries of which none is meant") { pool in
            var selection = WebhookSelection()
            (selection.type, selection.state) = ("iap.refund.*", .all)
            let found = try await WebhookResendStore(pool: pool).page(of: selection, after: nil, limit: 10)
            #expect(found.matches.isEmpty && found.next != nil)
        },
        Step("a part of the deliveries of an endpoint that is on again") { pool in
            _ = try await pool.query("UPDATE webhook_endpoints SET disabled_at = NULL WHERE id = 'down'")
            let endpoints = EndpointStore(pool: pool)
            for _ in 1...2 { _ = try await endpoints.closed(among: ["up", "down"]) }
            #expect(try await !DeliveryStore(pool: pool).resume("down", limit: 200))
        },
    ]

    private static let asking = [
        Step("an account, its version and its transactions") { pool in
            let accounts = AccountStore(pool: pool)
            _ = try await accounts.account(customer, includesExpired: true)
            #expect(try await accounts.version(of: customer) > 0)
            _ = try await accounts.transactions(
                of: customer, after: AccountStore.Position(microseconds: 9_000_000_000_000_000, transactionId: "1"),
                limit: 100)
        },
        Step("an order's story") { pool in
            let key = OrderKey(environment: .production, transactionId: "7")
            let story = try await OrderReadingStore(pool: pool).story(of: key, app: Bench.app)
            #expect(story?.proceeds != nil)
            _ = try await OwnershipStore(pool: pool).lineage(environment: .production, transactionId: "7")
        },
        Step("intents") { pool in
            let intents = IntentStore(pool: pool)
            let opened = try await intents.open(
                UUID(), app: Bench.app, account: "player4", productId: "pro", limit: 1_000)
            guard case .opened(let intent) = opened else {
                Issue.record("\(opened)")
                return
            }
            _ = try await intents.find(intent.id, app: Bench.app)
        },
        Step("spending") { pool in
            let spent = try await SpendStore(pool: pool).spend(
                SpendStore.Request(
                    customer: customer, key: "new", sha256: "y",
                    items: [Catalogue.ItemGrant(item: "gem", amount: 1)], reference: nil))
            guard case .spent = spent else {
                Issue.record("\(spent)")
                return
            }
        },
        Step("an operator's claim") { pool in
            _ = try await OperatorClaimStore(pool: pool).claim(
                environment: .production, transactionId: "300", account: "player4", actor: "test", reason: "a letter")
        },
        Step("a day's revenue") { pool in
            let day = try #require(RevenueDay("2026-01-01"))
            _ = try await RevenueStore(pool: pool).rows(from: day, to: day, app: nil)
        },
    ]

    private static let operating = [
        Step("everything about a purchase, by each kind of id, and about one that is not known") { pool in
            let store = InspectionStore(pool: pool)
            for id in ["7", "sub7", "evt7"] {
                let dossier = try await store.inspect(id)
                #expect(dossier != nil, "\(id)")
            }
            let unknown = try await store.inspect("no such id")
            #expect(unknown == nil)
        },
        Step("submissions to be judged again, of thousands that are parked") { pool in
            let redriven = try await SubmissionStore(pool: pool).redrive(
                .parked, reason: "a test", actor: "test", limit: 10)
            #expect(redriven.count == 10)
        },
        Step("one rule of the audit, of what is found by an index") { pool in
            let report = try await ConsistencyCheck(pool: pool).run(rules: ["unclaimed_orders_are_nobodys"])
            #expect(report.rules.count == 1 && report.counts.isEmpty)
        },
    ]

    @Test("no step reads most of a table that grows")
    func fewRows() async throws {
        try await TestDatabase.withAddress { pool, url in
            try await FilledTables.fill(pool)
            for step in Self.steps {
                for (table, read) in try await step.reads(pool, url) {
                    #expect(read <= step.rowsMaximum, "\(step.name) reads \(read) rows of \(table)")
                }
            }
        }
    }
}

extension MeasuredStep {
    fileprivate init(_ name: String, _ run: @escaping @Sendable (PostgresPool) async throws -> Void) {
        self.init(name, FullTableTests.rowsMaximum, run)
    }
}
