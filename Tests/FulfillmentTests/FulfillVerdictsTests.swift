import Foundation
import LogTesting
import Logging
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
    .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct FulfillVerdictsTests {
    private func transaction(_ id: String, product: String = "gems.100", quantity: Int = 1) -> Transaction {
        var transaction = Bench.signed(id, product: product)
        transaction.quantity = quantity
        return transaction
    }

    @Test func `a batch is granted, and its repetition changes nothing`() async throws {
        try await Bench.with { bench in
            var batch: [VerdictMessage] = []
            for index in 0..<200 {
                batch.append(
                    try await bench.verdict("s\(index)", .genuine([transaction("t\(index)")]), account: "p\(index % 7)")
                )
            }
            try await bench.settle(batch)
            try await bench.settle(batch.reversed())
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") == 200)
            #expect(try await bench.number("SELECT count(*) FROM ledger_entries") == 200)
            #expect(try await bench.number("SELECT sum(amount) FROM balances") == 20_000)
            #expect(try await bench.number("SELECT count(*) FROM events") == 200)
            #expect(try await bench.number("SELECT count(*) FROM submissions WHERE state = 'fulfilled'") == 200)
            #expect(bench.published.count(PurchaseEvent.fulfilled) == 200)
            #expect(bench.published.topics(of: PurchaseEvent.fulfilled) == [Topics.deliveries])
            #expect(bench.published.topics(of: SettlementMessage.type) == [Topics.settlements])
        }
    }

    @Test func `the same transaction twice in one batch is one order, and both hear of it`() async throws {
        try await Bench.with { bench in
            let proof = Verdict.genuine([transaction("t1")])
            let first = try await bench.verdict("s1", proof)
            let second = try await bench.verdict("s2", proof, account: "other")
            try await bench.settle([first, second])
            let statuses = try await SubmissionStore(pool: bench.pool).statuses(of: ["s1", "s2"])
            #expect(statuses["s1"]?.outcome?.state == .fulfilled)
            #expect(statuses["s2"]?.outcome?.state == .rejected)
            #expect(statuses["s2"]?.outcome?.reason == .belongsToAnotherAccount)
            #expect(statuses["s2"]?.outcome?.finish == true)
            #expect(try await bench.number("SELECT sum(amount) FROM balances") == 100)
        }
    }

    @Test func `concurrent batches over the same transactions grant each once and do not dead-lock`() async throws {
        try await Bench.with { bench in
            var batch: [VerdictMessage] = []
            for index in 0..<100 {
                batch.append(try await bench.verdict("s\(index)", .genuine([transaction("t\(index)")])))
            }
            let shuffled = (0..<6).map { _ in batch.shuffled() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for batch in shuffled { group.addTask { try await bench.settle(batch) } }
                try await group.waitForAll()
            }
            #expect(try await bench.number("SELECT count(*) FROM ledger_entries") == 100)
            #expect(try await bench.number("SELECT sum(amount) FROM balances") == 10_000)
            #expect(try await bench.number("SELECT max(sequence) FROM events") == 100)
            #expect(try await bench.number("SELECT count(DISTINCT sequence) FROM events") == 100)
        }
    }

    @Test func `what meets the same conflict at every attempt does not come again, lest its partition stop`()
        async throws
    {
        try await Bench.with { bench in
            _ = try await bench.pool.query(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN RAISE EXCEPTION SQLSTATE ''40001''; END'
                """)
            _ = try await bench.pool.query(
                """
                CREATE TRIGGER refuse BEFORE INSERT ON orders
                    FOR EACH ROW WHEN (NEW.transaction_id = 't1') EXECUTE FUNCTION refuse()
                """)
            let batch = [
                try await bench.verdict("s1", .genuine([transaction("t1")])),
                try await bench.verdict("s2", .genuine([transaction("t2")])),
            ]
            await #expect(throws: LastingConflict.self) { try await bench.settle(batch) }
            try await bench.settle([batch[1]])
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            #expect(try await bench.number("SELECT count(*) FROM submissions WHERE state = 'received'") == 1)
        }
    }

    @Test func `quantity multiplies what is granted`() async throws {
        try await Bench.with { bench in
            let bought = try await bench.verdict("s1", .genuine([transaction("t1", quantity: 3)]))
            try await bench.settle([bought])
            #expect(try await bench.number("SELECT amount FROM balances WHERE account = 'player'") == 300)
        }
    }

    @Test func `an unknown verdict is due later, with its reason, and settled by nobody`() async throws {
        try await Bench.with { bench in
            let later = try await bench.verdict(
                "s1", .unknown(ReasonCode(rawValue: "apple_unreachable"), retryAfterSeconds: 30))
            try await bench.settle([later])
            let due = try await bench.number(
                """
                SELECT count(*) FROM submissions WHERE state = 'received' AND reason = 'apple_unreachable'
                    AND due_at BETWEEN now() + interval '20 seconds' AND now() + interval '61 seconds'
                """)
            #expect(due == 1)
        }
    }

    @Test func `a rejection is settled with its reason and must not be finished`() async throws {
        try await Bench.with { bench in
            let refused = try await bench.verdict(
                "s1", .rejected(ReasonCode(rawValue: "signature_invalid"), detail: "no"))
            try await bench.settle([refused])
            let outcome = try await SubmissionStore(pool: bench.pool).statuses(of: ["s1"])["s1"]?.outcome
            #expect(outcome?.state == .rejected)
            #expect(outcome?.reason?.rawValue == "signature_invalid")
            #expect(outcome?.finish == false)
            #expect(try await bench.number("SELECT count(*) FROM orders") == 0)
        }
    }

    @Test func `a verdict without its submission makes no order: nothing says who posted it`() async throws {
        try await Bench.with { bench in
            let orphan = VerdictMessage(
                submissionId: "nobody", app: Bench.app, account: "player", correlationId: "req_test", attempt: 0,
                verdict: .genuine([transaction("t1"), transaction("t2", product: "unheard")]))
            try await bench.settle([orphan])
            #expect(try await bench.number("SELECT count(*) FROM orders") == 0)
            #expect(
                bench.log.texts(.error) == [
                    "a verdict without its submission grants nothing app=\(Bench.app) correlation=req_test submission=nobody"
                ])
        }
    }

    @Test func `a parked order is granted once the catalogue knows it, and its submission hears of it`() async throws {
        try await Bench.with { bench in
            let early = try await bench.verdict("s1", .genuine([transaction("t1", product: "unheard")]))
            try await bench.settle([early])
            #expect(try await SubmissionStore(pool: bench.pool).statuses(of: ["s1"])["s1"]?.outcome?.state == .parked)
            let known = Catalogue([
                Bench.app: [
                    Catalogue.Product(
                        id: "unheard", type: .consumable, items: [Catalogue.ItemGrant(item: "hat", amount: 1)],
                        entitlements: ["hats"])
                ]
            ])
            var later = bench
            later.products = known
            #expect(try await later.grantParked() == 1)
            #expect(try await later.grantParked() == 0)
            #expect(try await bench.number("SELECT amount FROM balances WHERE item = 'hat'") == 1)
            #expect(try await bench.number("SELECT count(*) FROM entitlements WHERE entitlement = 'hats'") == 1)
            #expect(
                try await SubmissionStore(pool: bench.pool).statuses(of: ["s1"])["s1"]?.outcome?.state == .fulfilled)
        }
    }

    @Test func `the ledger refuses to be changed`() async throws {
        try await Bench.with { bench in
            let bought = try await bench.verdict("s1", .genuine([transaction("t1")]))
            try await bench.settle([bought])
            await #expect(throws: PostgresError.self) {
                _ = try await bench.pool.query("UPDATE ledger_entries SET amount = 1")
            }
            await #expect(throws: PostgresError.self) {
                _ = try await bench.pool.query("DELETE FROM ledger_entries")
            }
        }
    }
}
