import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Synchronization
import Testing

@testable import Fulfillment

/// Batches of verdicts against a real database.
@Suite(
    "Settling verdicts",
    .enabled(if: TestDatabase.url != nil, "SKIPPED: no PostgreSQL; run deploy/test, or set COUNTERSIGN_TEST_POSTGRES"))
struct SettleVerdictsTests {
    private static let app = "com.example.game"
    private static let catalogue = Catalogue([
        app: [
            Catalogue.Product(
                id: "gems.100", type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: 100)],
                entitlements: []),
            Catalogue.Product(id: "pro", type: .nonConsumable, items: [], entitlements: ["pro"]),
        ]
    ])

    /// What was published, kept for looking at.
    private final class Published: Sendable {
        private let events = Mutex<[CloudEvent]>([])

        func add(_ messages: [(topic: String, event: CloudEvent)]) {
            events.withLock { $0 += messages.map(\.event) }
        }

        func count(_ type: String) -> Int {
            events.withLock { $0.count { $0.type == type } }
        }
    }

    private func settle(_ pool: PostgresPool, _ published: Published = Published()) -> SettleVerdicts {
        SettleVerdicts(
            pool: pool, catalogue: Self.catalogue, recorder: OrderRecorder(eventLease: .seconds(30)),
            backOff: BackOff(delayMaximum: .seconds(60)), announce: AnnounceOutcomes { published.add($0) })
    }

    private func transaction(_ id: String, product: String = "gems.100", quantity: Int = 1) -> PurchasedTransaction {
        PurchasedTransaction(
            environment: .production, transactionId: id, originalTransactionId: id, bundleId: Self.app,
            productId: product, productType: product == "pro" ? .nonConsumable : .consumable, quantity: quantity,
            purchaseDate: Date(timeIntervalSince1970: 1_700_000_000),
            signedDate: Date(timeIntervalSince1970: 1_700_000_001))
    }

    /// Accepts a submission and returns the verdict that a worker would send.
    private func verdict(
        _ id: String, _ verdict: Verdict, account: String = "player", _ pool: PostgresPool
    ) async throws -> VerdictMessage {
        let message = SubmissionMessage(
            submissionId: id, app: Self.app, account: account, kind: .signedTransaction, proof: "a.b.c", attempt: 0,
            correlationId: "req_test")
        let submission = SubmissionStore.NewSubmission(message: message, partitionKey: account)
        _ = try await SubmissionStore(pool: pool).accept([submission], lease: .seconds(30))
        return VerdictMessage(
            submissionId: id, app: Self.app, account: account, correlationId: "req_test", attempt: 0, verdict: verdict)
    }

    private func number(_ sql: String, _ pool: PostgresPool) async throws -> Int64 {
        let row = try #require(try await pool.query("SELECT (\(sql))::int8 AS n").rows.first)
        return try row.decode("n", as: Int64.self)
    }

    @Test func `a batch is granted, and its repetition changes nothing`() async throws {
        try await TestDatabase.with { pool in
            let published = Published()
            let settle = settle(pool, published)
            var batch: [VerdictMessage] = []
            for index in 0..<200 {
                batch.append(
                    try await verdict("s\(index)", .genuine([transaction("t\(index)")]), account: "p\(index % 7)", pool)
                )
            }
            try await settle.settle(batch)
            try await settle.settle(batch.reversed())
            #expect(try await number("SELECT count(*) FROM orders WHERE state = 'granted'", pool) == 200)
            #expect(try await number("SELECT count(*) FROM ledger_entries", pool) == 200)
            #expect(try await number("SELECT sum(amount) FROM balances", pool) == 20_000)
            #expect(try await number("SELECT count(*) FROM events", pool) == 200)
            #expect(try await number("SELECT count(*) FROM submissions WHERE state = 'fulfilled'", pool) == 200)
            #expect(published.count(PurchaseEvent.fulfilled) == 200)
        }
    }

    @Test func `the same transaction twice in one batch is one order, and both hear of it`() async throws {
        try await TestDatabase.with { pool in
            let proof = Verdict.genuine([transaction("t1")])
            let first = try await verdict("s1", proof, pool)
            let second = try await verdict("s2", proof, account: "other", pool)
            try await settle(pool).settle([first, second])
            let statuses = try await SubmissionStore(pool: pool).statuses(of: ["s1", "s2"])
            #expect(statuses["s1"]?.outcome?.state == .fulfilled)
            #expect(statuses["s2"]?.outcome?.state == .rejected)
            #expect(statuses["s2"]?.outcome?.reason == .belongsToAnotherAccount)
            #expect(statuses["s2"]?.outcome?.finish == true)
            #expect(try await number("SELECT sum(amount) FROM balances", pool) == 100)
        }
    }

    @Test func `concurrent batches over the same transactions grant each once and do not dead-lock`() async throws {
        try await TestDatabase.with { pool in
            var batch: [VerdictMessage] = []
            for index in 0..<100 {
                batch.append(try await verdict("s\(index)", .genuine([transaction("t\(index)")]), pool))
            }
            let settle = settle(pool)
            let shuffled = (0..<6).map { _ in batch.shuffled() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for batch in shuffled { group.addTask { try await settle.settle(batch) } }
                try await group.waitForAll()
            }
            #expect(try await number("SELECT count(*) FROM ledger_entries", pool) == 100)
            #expect(try await number("SELECT sum(amount) FROM balances", pool) == 10_000)
            #expect(try await number("SELECT max(sequence) FROM events", pool) == 100)
            #expect(try await number("SELECT count(DISTINCT sequence) FROM events", pool) == 100)
        }
    }

    @Test func `quantity multiplies what is granted`() async throws {
        try await TestDatabase.with { pool in
            let bought = try await verdict("s1", .genuine([transaction("t1", quantity: 3)]), pool)
            try await settle(pool).settle([bought])
            #expect(try await number("SELECT amount FROM balances WHERE account = 'player'", pool) == 300)
        }
    }

    @Test func `an unknown verdict is due later, with its reason, and settled by nobody`() async throws {
        try await TestDatabase.with { pool in
            let later = try await verdict(
                "s1", .unknown(ReasonCode(rawValue: "apple_unreachable"), retryAfterSeconds: 30), pool)
            try await settle(pool).settle([later])
            let due = try await number(
                """
                SELECT count(*) FROM submissions WHERE state = 'received' AND reason = 'apple_unreachable'
                    AND due_at BETWEEN now() + interval '20 seconds' AND now() + interval '61 seconds'
                """, pool)
            #expect(due == 1)
        }
    }

    @Test func `a rejection is settled with its reason and must not be finished`() async throws {
        try await TestDatabase.with { pool in
            let refused = try await verdict(
                "s1", .rejected(ReasonCode(rawValue: "signature_invalid"), detail: "no"), pool)
            try await settle(pool).settle([refused])
            let outcome = try await SubmissionStore(pool: pool).statuses(of: ["s1"])["s1"]?.outcome
            #expect(outcome?.state == .rejected)
            #expect(outcome?.reason?.rawValue == "signature_invalid")
            #expect(outcome?.finish == false)
            #expect(try await number("SELECT count(*) FROM orders", pool) == 0)
        }
    }

    @Test func `a verdict of a submission that the database lost still makes the order`() async throws {
        try await TestDatabase.with { pool in
            let orphan = VerdictMessage(
                submissionId: "nobody", app: Self.app, account: "player", correlationId: "req_test", attempt: 0,
                verdict: .genuine([transaction("t1"), transaction("t2", product: "unheard")]))
            try await settle(pool).settle([orphan])
            #expect(try await number("SELECT count(*) FROM orders", pool) == 2)
        }
    }

    @Test func `a parked order is granted once the catalogue knows it, and its submission hears of it`() async throws {
        try await TestDatabase.with { pool in
            let early = try await verdict("s1", .genuine([transaction("t1", product: "unheard")]), pool)
            try await settle(pool).settle([early])
            #expect(try await SubmissionStore(pool: pool).statuses(of: ["s1"])["s1"]?.outcome?.state == .parked)
            let known = Catalogue([
                Self.app: [
                    Catalogue.Product(
                        id: "unheard", type: .consumable, items: [Catalogue.ItemGrant(item: "hat", amount: 1)],
                        entitlements: ["hats"])
                ]
            ])
            let grant = GrantParkedOrders(
                pool: pool, catalogue: known, recorder: OrderRecorder(eventLease: .seconds(30)),
                announce: AnnounceOutcomes { _ in })
            #expect(try await grant.grant(limit: 10) == 1)
            #expect(try await grant.grant(limit: 10) == 0)
            #expect(try await number("SELECT amount FROM balances WHERE item = 'hat'", pool) == 1)
            #expect(try await number("SELECT count(*) FROM entitlements WHERE entitlement = 'hats'", pool) == 1)
            #expect(try await SubmissionStore(pool: pool).statuses(of: ["s1"])["s1"]?.outcome?.state == .fulfilled)
        }
    }

    @Test func `the ledger refuses to be changed`() async throws {
        try await TestDatabase.with { pool in
            let bought = try await verdict("s1", .genuine([transaction("t1")]), pool)
            try await settle(pool).settle([bought])
            await #expect(throws: PostgresError.self) {
                _ = try await pool.query("UPDATE ledger_entries SET amount = 1")
            }
            await #expect(throws: PostgresError.self) {
                _ = try await pool.query("DELETE FROM ledger_entries")
            }
        }
    }
}
