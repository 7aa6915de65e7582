import ChanceTesting
import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import PurchaseModel
import Testing

@testable import ReceiptIntake

@Suite(
    "Any mixture of spends, grants and refunds",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(5)))
struct WalletPropertyTests {
    private static let accounts = ["p", "q", "r"]
    private static let items = ["gold", "stone", "wood"]
    private static let callers = 8
    private static let acts = 40

    /// One of a few requests, the same for the same number: so that callers meet with the same key.
    private struct Wish: Sendable {
        let account: String
        let key: String
        let items: [(item: String, amount: Int64)]

        init(_ number: Int) {
            var random = SplitMix(seed: UInt64(number) &* 7919 &+ 3)
            account = accounts[number % accounts.count]
            key = "key-\(number)"
            items = WalletPropertyTests.items.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
                .map { ($0, Int64.random(in: 1...40, using: &random)) }
        }
    }

    private struct Seen: Sendable {
        let account: String
        let key: String
        let text: String
        let isReplayed: Bool

        init(_ account: String, _ key: String, _ answer: TestIntake.Answer) {
            self.account = account
            self.key = key
            text = answer.text
            isReplayed = answer.headers[.idempotentReplayed] == "true"
        }
    }

    @Test(
        "balances are the sums of their entries, no spend goes below zero, and each key is spent once",
        arguments: [1, 2, 3] as [UInt64])
    func mixture(seed: UInt64) async throws {
        try await WalletRows.with { one, rows, database in
            try await TestIntake.with(url: database.url) { two in
                let seen = Mutexed<[Seen]>([])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for caller in 0..<Self.callers {
                        group.addTask {
                            let intake = caller.isMultiple(of: 2) ? one : two
                            var random = SplitMix(seed: seed &* 1_000 &+ UInt64(caller))
                            for act in 0..<Self.acts {
                                try await Self.act(
                                    "\(caller)-\(act)", &random, intake, WalletRows(pool: intake.pool), seen)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                try await Self.check(seen.withLock { $0 }, rows, database)
            }
        }
    }

    private static func act(
        _ name: String, _ random: inout SplitMix, _ intake: TestIntake, _ rows: WalletRows, _ seen: Mutexed<[Seen]>
    ) async throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3:
            let account = accounts.randomElement(using: &random) ?? ""
            let granted = items.shuffled(using: &random).map { ($0, Int64.random(in: 1...60, using: &random)) }
            try await rows.grant(granted, to: account, order: name)
            // Some of them are taken back at once, with what was spent meanwhile.
            if Int.random(in: 0..<3, using: &random) == 0 {
                try await rows.takeBack(granted, from: account, order: name)
            }
        case 3:
            // Another request under a key that others use.
            let wish = Wish(Int.random(in: 0..<60, using: &random))
            let answer = try await intake.spend([("gold", 1)], of: wish.account, key: wish.key, reference: "another")
            if answer.status == 200 {
                seen.withLock { $0.append(Seen(wish.account, wish.key, answer)) }
            } else {
                #expect(["idempotency-key-reused", "balance-insufficient"].contains(answer.slug), "\(answer.text)")
            }
        default:
            let wish = Wish(Int.random(in: 0..<60, using: &random))
            let answer = try await intake.spend(wish.items, of: wish.account, key: wish.key)
            if answer.status == 200 {
                seen.withLock { $0.append(Seen(wish.account, wish.key, answer)) }
            } else {
                #expect(["idempotency-key-reused", "balance-insufficient"].contains(answer.slug), "\(answer.text)")
            }
        }
    }

    private static func check(_ seen: [Seen], _ rows: WalletRows, _ database: TestDatabase) async throws {
        // Each key has one answer, which was told once as new.
        let byKey = Dictionary(grouping: seen) { "\($0.account)/\($0.key)" }
        #expect(byKey.count > 10 && seen.count > byKey.count, "too little happened to prove anything")
        for (key, told) in byKey {
            #expect(Set(told.map(\.text)).count == 1, "\(key)")
            #expect(told.filter { !$0.isReplayed }.count == 1, "\(key)")
        }
        #expect(try await rows.count("spends") == byKey.count)
        let broken = try await database.pool.query(
            """
            WITH sums AS (
                SELECT account, app, environment, item, sum(amount)::int8 AS amount FROM ledger_entries
                GROUP BY account, app, environment, item
            )
            SELECT count(*) AS n FROM sums FULL JOIN balances b USING (account, app, environment, item)
            WHERE coalesce(sums.amount, 0) <> coalesce(b.amount, 0)
            """)
        #expect(try #require(broken.rows.first).decode("n", as: Int64.self) == 0, "a balance is not its entries' sum")
        // Lines of one balance are numbered while it is locked, so their running sum is what each found.
        let spent = try await database.pool.query(
            """
            SELECT running.amount, answered.amount AS told FROM (
                SELECT spend_id, kind, item,
                    sum(amount) OVER (PARTITION BY account, app, environment, item ORDER BY id)::int8 AS amount
                FROM ledger_entries
            ) running
            JOIN spends s ON s.id = running.spend_id
            CROSS JOIN LATERAL jsonb_to_recordset(s.answer -> 'balances') AS answered (item text, amount int8)
            WHERE running.kind = 'spend' AND answered.item = running.item
            """)
        #expect(spent.rows.count >= byKey.count)
        for row in spent.rows {
            let amount = try row.decode("amount", as: Int64.self)
            #expect(amount >= 0, "a spend went below zero")
            #expect(try row.decode("told", as: Int64.self) == amount, "the answer told another balance")
        }
        let lines = try await database.pool.query(
            """
            SELECT count(*) AS n FROM spends s WHERE jsonb_array_length(answer -> 'items')
                <> (SELECT count(*) FROM ledger_entries e WHERE e.spend_id = s.id)
            """)
        #expect(try #require(lines.rows.first).decode("n", as: Int64.self) == 0, "a spend has not its lines")
    }
}
