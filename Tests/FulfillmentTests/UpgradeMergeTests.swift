import Foundation
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Persistence

/// A database in which each transaction id was an order goes on with one where an order is a purchase.
@Suite(.enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct UpgradeMergeTests {
    private static let today = ((Date().timeIntervalSince1970 - 1_700_000_000) / 86_400).rounded(.down)
    private static let gems = [Catalogue.ItemGrant(item: "gem", amount: 50)]

    /// The running month under one of its ids.
    private static func month(_ id: String, lineItem: String? = "7") -> Transaction {
        SubscriptionBench.period(id, from: today - 10, to: today + 20, product: "vip", lineage: "m") {
            $0.webOrderLineItemId = lineItem
        }
    }

    /// Fills at the oldest schema, goes on at migration 5, then upgrades.
    private func upgraded(
        _ fill: (OldDatabase) async throws -> Void, before: (OldDatabase) async throws -> Void = { _ in },
        _ body: (Bench) async throws -> Void
    ) async throws {
        try await TestDatabase.with { pool in
            let old = OldDatabase(pool: pool)
            try await old.create()
            try await fill(old)
            try await old.advance()
            try await before(old)
            _ = try await Migrator(pool: pool).migrate()
            try await body(Bench(pool: pool))
        }
    }

    private static func fourIds(_ old: OldDatabase) async throws {
        for (id, lineItem) in [("1", "7"), ("2", "7"), ("3", nil), ("4", "7")] {
            try await old.grant(month(id, lineItem: lineItem), to: "alice", items: gems, entitlements: ["vip"])
        }
    }

    private static func spend(_ amount: Int64, _ old: OldDatabase) async throws {
        let customer = Customer(environment: .production, app: Bench.app, account: Account(stored: "alice"))
        let outcome = try await SpendStore(pool: old.pool).spend(
            SpendStore.Request(
                customer: customer, key: "k", sha256: "x", items: [Catalogue.ItemGrant(item: "gem", amount: amount)],
                reference: nil))
        guard case .spent = outcome else { throw PostgresError(code: .statementFailed, reason: "nothing was spent") }
    }

    private func balance(_ bench: Bench, of account: String = "alice") async throws -> Int64 {
        try await bench.number("SELECT coalesce(sum(amount), 0) FROM balances WHERE account = '\(account)'")
    }

    /// `account amount state corrected` of every double grant.
    private func doubles(_ bench: Bench) async throws -> [String] {
        try await bench.pool.query(
            "SELECT concat_ws(' ', account, amount, state, corrected) AS words FROM double_grants ORDER BY 1"
        ).rows.map { try $0.decode("words", as: String.self) }
    }

    @Test("one month under four ids is granted once")
    func fourIds() async throws {
        try await upgraded(Self.fourIds) { bench in
            #expect(try await doubles(bench) == ["alice 150 open"])
            let decided = try await DoubleGrantStore.correct(pool: bench.pool, leave: false)
            #expect(decided.map(\.corrected) == [150])
            #expect(try await balance(bench) == 50)
            #expect(try await bench.number("SELECT count(*) FROM orders") == 1)
            #expect(try await bench.number("SELECT count(*) FROM entitlements WHERE revoked_at IS NULL") == 1)
            #expect(try await bench.number("SELECT count(*) FROM merged_orders") == 3)
            #expect(
                try await bench.number(
                    "SELECT count(*) FROM order_transactions WHERE order_transaction_id = '1' AND statement IS NOT NULL"
                )
                    == 4)
            #expect(try await bench.number("SELECT count(*) FROM events WHERE type = 'iap.account.adjusted'") == 1)
            try await bench.expectClean()
        }
    }

    @Test("what was spent is not taken back, and reported")
    func spent() async throws {
        try await upgraded(Self.fourIds, before: { try await Self.spend(100, $0) }) { bench in
            let decided = try await DoubleGrantStore.correct(pool: bench.pool, leave: false)
            #expect(decided.map(\.amount) == [150])
            #expect(decided.map(\.corrected) == [100])
            #expect(try await balance(bench) == 0)
            try await bench.expectClean()
        }
    }

    @Test("who bought first keeps it where the ids are of two accounts")
    func twoAccounts() async throws {
        try await upgraded { old in
            try await old.grant(Self.month("1"), to: "alice", items: Self.gems, entitlements: ["vip"])
            try await old.grant(Self.month("2"), to: "bob", items: Self.gems, entitlements: ["vip"])
        } _: { bench in
            #expect(try await doubles(bench) == ["bob 50 open"])
            _ = try await DoubleGrantStore.correct(pool: bench.pool, leave: false)
            #expect(try await balance(bench) == 50)
            #expect(try await balance(bench, of: "bob") == 0)
            #expect(try await bench.number("SELECT count(DISTINCT account) FROM entitlements") == 2)
            try await bench.expectClean()
        }
    }

    @Test("a refund of one id is a refund of the purchase", arguments: ["1", "2"])
    func refunded(id: String) async throws {
        try await upgraded { old in
            for id in ["1", "2"] {
                try await old.grant(Self.month(id), to: "alice", items: Self.gems, entitlements: ["vip"])
            }
        } before: { old in
            try await old.refund(Self.month(id), of: "alice", items: Self.gems)
        } _: { bench in
            #expect(try await bench.standing(of: "1") == "revoked revoked_by_apple alice")
            _ = try await DoubleGrantStore.correct(pool: bench.pool, leave: false)
            #expect(try await balance(bench) == 0)
            #expect(try await bench.number("SELECT count(*) FROM entitlements WHERE revoked_at IS NULL") == 0)
            #expect(try await bench.number("SELECT count(*) FROM subscriptions WHERE state = 'revoked'") == 1)
            try await bench.expectClean()
        }
    }

    @Test("a restored non-consumable is one order, and parked doubles too")
    func restoredAndParked() async throws {
        try await upgraded { old in
            var restored = Bench.signed("pro again", product: "pro")
            restored.originalTransactionId = "pro"
            restored.purchaseDate += 86_400
            try await old.grant(Bench.signed("pro", product: "pro"), to: "alice", entitlements: ["pro"])
            try await old.grant(restored, to: "alice", entitlements: ["pro"])
            try await old.hold(Self.month("1"), .parked, .unclaimed, account: nil)
            try await old.hold(Self.month("2"), .parked, .productUnknown, account: "bob")
        } _: { bench in
            #expect(try await bench.standing(of: "pro") == "granted - alice")
            #expect(try await bench.standing(of: "1") == "parked product_unknown bob")
            #expect(try await bench.number("SELECT count(*) FROM orders") == 2)
            #expect(try await doubles(bench).isEmpty)
            try await bench.expectClean()
        }
    }

    @Test("orders that contradict each other stay, and are noted")
    func conflicts() async throws {
        try await upgraded { old in
            try await old.grant(Self.month("1"), to: "alice", entitlements: ["vip"])
            try await old.grant(Self.month("2", lineItem: "8"), to: "alice", entitlements: ["vip"])
            var other = Self.month("3")
            other.originalTransactionId = "n"
            try await old.grant(other, to: "alice", entitlements: ["vip"])
        } _: { bench in
            #expect(try await bench.number("SELECT count(*) FROM orders") == 3)
            let noted = try await bench.pool.query(
                """
                SELECT concat_ws(' ', transaction_id, order_transaction_id, cause) AS words FROM purchase_conflicts
                ORDER BY 1
                """
            ).rows.map { try $0.decode("words", as: String.self) }
            #expect(noted == ["2 1 two_line_items", "3 1 line_item_of_another"])
            #expect(try await bench.column("fallback_key", of: "2") == nil)
            #expect(try await bench.column("purchase_key", of: "2") == "p:m:8")
            try await bench.expectClean()
        }
    }

    @Test("an operator may leave what was granted twice")
    func left() async throws {
        try await upgraded(Self.fourIds) { bench in
            let decided = try await DoubleGrantStore.correct(pool: bench.pool, leave: true)
            #expect(decided.map(\.corrected) == [nil])
            #expect(try await doubles(bench) == ["alice 150 left"])
            #expect(try await balance(bench) == 200)
            try await bench.expectClean()
        }
    }

    @Test("a correction that was ended goes on, and takes nothing again")
    func ended() async throws {
        try await upgraded { old in
            try await Self.fourIds(old)
            var other = Self.month("5", lineItem: "9")
            other.originalTransactionId = "o"
            var copy = other
            copy.transactionId = "6"
            try await old.grant(other, to: "bob", items: Self.gems, entitlements: ["vip"])
            try await old.grant(copy, to: "bob", items: Self.gems, entitlements: ["vip"])
        } _: { bench in
            #expect(try await DoubleGrantStore.correctNext(pool: bench.pool, leave: false, limit: 1).count == 1)
            #expect(try await DoubleGrantStore.correct(pool: bench.pool, leave: false).count == 1)
            #expect(try await DoubleGrantStore.correct(pool: bench.pool, leave: false).isEmpty)
            #expect(try await balance(bench) == 50)
            #expect(try await balance(bench, of: "bob") == 50)
            try await bench.expectClean()
        }
    }
}
