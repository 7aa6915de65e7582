import ChanceTesting
import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// Original ids that move there and back, tokens of several accounts, some registered late.
///
/// Whatever the order, the same lineages and the same ledger. More seeds: `COUNTERSIGN_HISTORIES=1000`.
@Suite("Shuffled histories of moving ids", .serialized, .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct MovingHistoryTests {
    private static let portions = HistorySeeds.portions(of: 10, count: 20)

    @Test(arguments: portions)
    func `whatever the order, the end is the same`(seeds: [UInt64]) async throws {
        try await Bench.withOwners { bench in
            var bench = bench
            bench.now = { Bench.day(45) }
            for seed in seeds {
                let ordered = MovingHistory(seed: seed, prefix: "h\(seed)a.")
                let shuffled = MovingHistory(seed: seed, prefix: "h\(seed)b.")
                try await settleInOrder(ordered, bench)
                try await settleShuffled(shuffled, seed, bench)
                let first = try await state(of: ordered, bench)
                let second = try await state(of: shuffled, bench)
                #expect(first.count > ordered.periodCount)
                #expect(first == second, "seed \(seed): \(Set(first).symmetricDifference(second).sorted())")
                let prefix = ordered.prefix
                #expect(
                    try await bench.number("SELECT count(*) FROM orders WHERE transaction_id LIKE '\(prefix)%'")
                        == Int64(ordered.periodCount), "seed \(seed)")
                #expect(
                    try await bench.number(
                        "SELECT count(*) FROM subscriptions WHERE original_transaction_id LIKE '\(prefix)%'")
                        == Int64(ordered.lineageCount), "seed \(seed)")
            }
            try await bench.expectClean()
        }
    }

    private func register(_ tokens: ArraySlice<(token: UUID, account: String)>, _ bench: Bench) async throws {
        for (token, account) in tokens {
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: account)
        }
    }

    private func verdicts(of history: MovingHistory, _ bench: Bench) async throws -> [VerdictMessage] {
        var verdicts: [VerdictMessage] = []
        for (index, act) in history.acts.enumerated() {
            let id = "\(history.prefix)s\(index)"
            if let poster = act.poster {
                verdicts.append(try await bench.verdict(id, .genuine([act.transaction]), account: poster))
            } else {
                verdicts.append(try await bench.notification(id, [act.transaction]))
            }
        }
        return verdicts
    }

    private func settleInOrder(_ history: MovingHistory, _ bench: Bench) async throws {
        try await register(history.tokens[...], bench)
        for verdict in try await verdicts(of: history, bench) { try await bench.settle([verdict]) }
    }

    /// Repeated, shuffled and cut at random, by one task or four; every second time half of the tokens are registered late.
    private func settleShuffled(_ history: MovingHistory, _ seed: UInt64, _ bench: Bench) async throws {
        var chance = SplitMix(seed: seed &+ 7)
        let isLate = seed % 2 == 0
        try await register(isLate ? history.tokens.prefix(3) : history.tokens[...], bench)
        let all = try await verdicts(of: history, bench)
        let deck = (all + all.filter { _ in Int.random(in: 0..<3, using: &chance) == 0 }).shuffled(using: &chance)
        let streams = seed % 3 == 0 ? 4 : 1
        var hands: [[[VerdictMessage]]] = Array(repeating: [], count: streams)
        var rest = deck[...]
        while !rest.isEmpty {
            let size = min(rest.count, Int.random(in: 1...6, using: &chance))
            hands[Int.random(in: 0..<streams, using: &chance)].append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for hand in hands {
                group.addTask {
                    for (place, batch) in hand.enumerated() {
                        try await again { try await bench.settle(batch) }
                        guard isLate, place == hand.count / 2 else { continue }
                        try await register(history.tokens.dropFirst(3), bench)
                        try await again { _ = try await bench.grantParked() }
                    }
                }
            }
            try await group.waitForAll()
        }
        if isLate {
            try await register(history.tokens.dropFirst(3), bench)
            _ = try await bench.grantParked()
        }
    }

    /// What lost to the others' joins at every attempt begins anew, as `BatchStep` and the redriver have it.
    private func again(_ body: () async throws -> Void) async throws {
        for _ in 1..<10 {
            do {
                return try await body()
            } catch let error as PostgresError where error.isRetriable {
            } catch is LastingConflict {}
        }
        try await body()
    }

    /// What a history left, by line items: which original id is a lineage's own depends on which came first.
    private func state(of history: MovingHistory, _ bench: Bench) async throws -> [String] {
        let prefix = history.prefix
        let rows = try await bench.answers(
            """
            SELECT concat_ws(' ', 'order', o.web_order_line_item_id, o.state, o.reason, o.account, o.expires_date,
                o.revocation_date, o.signed_date, (SELECT string_agg(t.transaction_id, ',' ORDER BY t.transaction_id)
                    FROM order_transactions t
                    WHERE (t.environment, t.order_transaction_id) = (o.environment, o.transaction_id)))
            FROM orders o WHERE o.transaction_id LIKE '\(prefix)%'
            UNION ALL
            SELECT concat_ws(' ', 'net', o.web_order_line_item_id, l.account, l.item, sum(l.amount))
            FROM orders o JOIN ledger_entries l USING (environment, transaction_id)
            WHERE o.transaction_id LIKE '\(prefix)%'
            GROUP BY o.web_order_line_item_id, l.account, l.item HAVING sum(l.amount) <> 0
            UNION ALL
            SELECT concat_ws(' ', 'entitlement', o.web_order_line_item_id, e.account, e.entitlement, e.expires_at)
            FROM orders o JOIN entitlements e USING (environment, transaction_id)
            WHERE o.transaction_id LIKE '\(prefix)%' AND e.revoked_at IS NULL
            UNION ALL
            SELECT concat_ws(' ', 'subscription', o.web_order_line_item_id, s.account, s.state, s.access_until, s.due_at)
            FROM subscriptions s JOIN orders o USING (environment, transaction_id)
            WHERE s.original_transaction_id LIKE '\(prefix)%'
            UNION ALL
            SELECT concat_ws(' ', 'lineage', l.account, (SELECT string_agg(id, ',' ORDER BY id) FROM (
                SELECT l.original_transaction_id AS id
                UNION SELECT m.original_transaction_id FROM lineage_members m
                WHERE (m.environment, m.lineage_id) = (l.environment, l.original_transaction_id)) ids))
            FROM lineages l WHERE l.original_transaction_id LIKE '\(prefix)%'
            """)
        return rows.map { $0.replacing(prefix, with: "") }.sorted()
    }
}
