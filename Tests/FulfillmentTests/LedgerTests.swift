import Foundation
import Messages
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment
@testable import Persistence

@Suite("The ledger", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct LedgerTests {
    private static func gems(_ amount: Int64) -> [Catalogue.ItemGrant] {
        [Catalogue.ItemGrant(item: "gem", amount: amount)]
    }

    private func adjust(
        _ bench: Bench, _ items: [Catalogue.ItemGrant], allowsDebt: Bool = false
    ) async throws -> LedgerStore.Adjusted {
        try await LedgerStore.adjust(
            environment: .production, app: Bench.app, account: Account(stored: "anna"), items: items, actor: "operator",
            reason: "ticket 7", allowsDebt: allowsDebt, pool: bench.pool)
    }

    @Test func `lines are never changed, and never removed`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1"))
            _ = try await bench.trySpending(Self.gems(1), key: "k")
            #expect(try await bench.number("SELECT count(*) FROM spends") == 1)
            for statement in [
                "UPDATE ledger_entries SET amount = 7", "DELETE FROM ledger_entries",
                "UPDATE spends SET reference = 'x'", "DELETE FROM spends",
            ] {
                let error = try await #require(throws: PostgresError.self) { try await bench.pool.query(statement) }
                #expect(error.sqlState == "23001", "\(statement)")
            }
            #expect(try await bench.lines(of: "t1") == ["grant 1 100 gem"])
        }
    }

    @Test func `a spend takes everything or nothing, and once for its key`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1", product: "mixed"))
            let both = Self.gems(60) + [Catalogue.ItemGrant(item: "key", amount: 2)]
            let spent = try await bench.trySpending(both, key: "k1")
            #expect(
                spent
                    == .spent([
                        Catalogue.ItemGrant(item: "gem", amount: 40), Catalogue.ItemGrant(item: "key", amount: 1),
                    ]))
            #expect(try await bench.trySpending(Self.gems(10), key: "k1") == .abandoned)
            #expect(
                try await bench.trySpending(both)
                    == .insufficient([
                        LedgerStore.Shortage(item: "gem", balance: 40, needed: 60),
                        LedgerStore.Shortage(item: "key", balance: 1, needed: 2),
                    ]))
            #expect(try await bench.number("SELECT count(*) FROM spends") == 1)
            #expect(
                try await bench.texts(
                    "SELECT concat_ws(' ', kind, book, sequence, amount, item) AS value FROM ledger_entries WHERE spend_id = 1"
                )
                    == ["spend spent 1 -60 gem", "spend spent 2 -2 key"])
            #expect(
                try await bench.trySpending(Self.gems(20) + Self.gems(21))
                    == .insufficient([LedgerStore.Shortage(item: "gem", balance: 40, needed: 41)]),
                "an item that is named twice is summed up")
            try await bench.expectBalanced()
        }
    }

    @Test func `a wish for what nobody has leaves no trace`() async throws {
        try await Bench.withRefunds { (bench: Bench) async throws -> Void in
            let none = LedgerStore.Shortage(item: "gem", balance: 0, needed: 1)
            #expect(try await bench.trySpending(Self.gems(1), by: "nobody") == .insufficient([none]))
            #expect(try await bench.number("SELECT count(*) FROM balances") == 0)
            for items in [[], Self.gems(0), Self.gems(-5), Self.gems(.max), Self.gems(.min)] {
                await #expect(throws: LedgerError.self) { try await bench.trySpending(items) }
            }
            await #expect(throws: LedgerError.tooManyItems) {
                try await bench.trySpending(Array(repeating: Catalogue.ItemGrant(item: "gem", amount: 1), count: 101))
            }
        }
    }

    @Test func `many who spend at once never spend more than there is`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1"), Bench.bought("t2"))
            let spent = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<30 {
                    group.addTask {
                        if case .spent = try await bench.trySpending(Self.gems(9)) { true } else { false }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(spent == 22)
            #expect(try await bench.balance() == 200 - 22 * 9)
            try await bench.expectBalanced()
        }
    }

    @Test func `an operator gives and takes, with a reason and an event`() async throws {
        try await Bench.withRefunds { bench in
            #expect(
                try await adjust(bench, Self.gems(50)) == .adjusted(auditId: 1, balances: Self.gems(50)))
            #expect(
                try await adjust(bench, Self.gems(-60))
                    == .insufficient([LedgerStore.Shortage(item: "gem", balance: 50, needed: 60)]))
            #expect(
                try await adjust(bench, Self.gems(-60), allowsDebt: true)
                    == .adjusted(auditId: 2, balances: Self.gems(-10)))
            #expect(
                try await adjust(bench, Self.gems(4)) == .adjusted(auditId: 3, balances: Self.gems(-6)),
                "giving is never refused for a debt")
            #expect(
                try await bench.texts("SELECT concat_ws(' ', actor, action, subject, reason) AS value FROM audit_log")
                    .first
                    == "operator adjust production \(Bench.app) anna ticket 7")
            #expect(
                try await bench.texts(
                    """
                    SELECT concat_ws(' ', type, account, sequence, body::jsonb -> 'data' -> 'entries' -> 0 ->> 'amount',
                        event_outbox.due_at <= now()) AS value FROM events JOIN event_outbox ON event_id = id ORDER BY sequence
                    """) == [
                        "\(PurchaseEvent.adjusted) anna 1 50 t", "\(PurchaseEvent.adjusted) anna 2 -60 t",
                        "\(PurchaseEvent.adjusted) anna 3 4 t",
                    ])
            await #expect(throws: LedgerError.amountOutOfRange) { try await adjust(bench, Self.gems(0)) }
            await #expect(throws: LedgerError.amountOutOfRange) { try await adjust(bench, Self.gems(.min)) }
            await #expect(throws: LedgerError.tooManyItems) { try await adjust(bench, []) }
            try await bench.expectBalanced()
        }
    }

    /// An account that holds so much that a grant would leave the limits.
    private func enrich(_ bench: Bench, to amount: Int64) async throws {
        _ = try await bench.pool.query(
            """
            WITH noted AS (INSERT INTO audit_log (actor, action, subject, reason) VALUES ('test', 'adjust', '', '')
                RETURNING id),
            line AS (INSERT INTO ledger_entries (environment, kind, sequence, app, account, item, amount, audit_id)
                SELECT 'production', 'adjustment', 1, $1, 'anna', 'gem', $2, id FROM noted)
            INSERT INTO balances (environment, app, account, item, amount)
            VALUES ('production', $1, 'anna', 'gem', $2)
            """, [.text(Bench.app), .int8(amount)])
    }

    @Test("a sum that does not fit holds nobody up", arguments: [LedgerStore.Limit.balance - 30, .max])
    func overflow(held: Int64) async throws {
        try await Bench.withRefunds { bench in
            try await enrich(bench, to: held)
            let fits = max(0, LedgerStore.Limit.balance - held)
            try await bench.settle([
                try await bench.verdict("s1", .genuine([Bench.bought("t1", product: "mixed")]), account: "anna"),
                try await bench.verdict("s2", .genuine([Bench.bought("t2")]), account: "ben"),
            ])
            #expect(try await bench.balance() == held + fits)
            #expect(try await bench.balance("anna", "key") == 3)
            #expect(try await bench.balance("ben") == 100)
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            let told = try await bench.events(of: "t1").first
            #expect(told == "transaction.fulfilled anna " + (fits > 0 ? "3key,1skin,\(fits)gem" : "3key,1skin"))
            try await bench.notify(Bench.refunded("t1", product: "mixed", at: 10))
            #expect(try await bench.balance() == held, "a refund takes what was credited, and no more")
            #expect(try await adjust(bench, Self.gems(1_000)) == .beyondLimit(["gem"]))
            try await bench.expectBalanced()
        }
    }

    @Test func `a debt has its limit, too`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1", product: "debt.100"))
            _ = try await bench.pool.query("UPDATE balances SET amount = -9223372036854775000")
            try await bench.notify(Bench.refunded("t1", product: "debt.100", at: 10))
            #expect(try await bench.standing(of: "t1") == "revoked revoked_by_apple anna")
            #expect(try await bench.lines(of: "t1") == ["grant 1 100 gem"])
        }
    }
}
