import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// Batches that take back and grant crosswise, in several processes at once.
@Suite("Refunds at the same time", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct RefundConcurrencyTests {
    private static let rounds = 60

    @Test func `two batches that grant to the account from which the other takes do not wait for each other`()
        async throws
    {
        try await Bench.withRefunds { bench in
            for round in 0..<Self.rounds {
                try await bench.post(Bench.bought("a\(round)"), by: "anna")
                try await bench.post(Bench.bought("b\(round)"), by: "ben")
                let left = [
                    try await bench.verdict("l\(round)", .genuine([Bench.bought("c\(round)")]), account: "anna"),
                    try await bench.notice([Bench.refunded("b\(round)", at: 10)]),
                ]
                let right = [
                    try await bench.verdict("r\(round)", .genuine([Bench.bought("d\(round)")]), account: "ben"),
                    try await bench.notice([Bench.refunded("a\(round)", at: 10)]),
                ]
                async let first: Void = bench.settle(left)
                async let second: Void = bench.settle(right)
                _ = try await (first, second)
            }
            #expect(try await bench.balance("anna") == Int64(Self.rounds * 100))
            #expect(try await bench.balance("ben") == Int64(Self.rounds * 100))
            #expect(
                try await bench.number("SELECT count(*) FROM orders WHERE state = 'revoked'") == Int64(Self.rounds * 2))
            #expect(try await bench.deadlocks() == 0)
            try await bench.expectClean()
        }
    }

    @Test func `statements about the same orders in opposite order, in many batches at once`() async throws {
        try await Bench.withRefunds { bench in
            let ids = (0..<10).map { "t\($0)" }
            try await bench.settle([
                try await bench.verdict("s", .genuine(ids.map { Bench.bought($0) }), account: "anna")
            ])
            var histories: [[Transaction]] = []
            for seconds in 2...9 {
                let isRefund = seconds.isMultiple(of: 2)
                let statements = ids.map {
                    isRefund
                        ? Bench.refunded($0, at: Double(seconds), percentage: Int64(seconds) * 10_000)
                        : Bench.bought($0, at: Double(seconds))
                }
                histories.append(isRefund ? statements : statements.reversed())
            }
            for round in 0..<8 {
                var notices: [VerdictMessage] = []
                for statements in histories.shuffled() { notices.append(try await bench.notice(statements)) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for notice in notices { group.addTask { try await bench.settle([notice]) } }
                    try await group.waitForAll()
                }
                #expect(try await bench.balance() == 1000, "round \(round): the newest word is that all is bought")
                #expect(try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") == 10)
            }
            #expect(try await bench.deadlocks() == 0)
            try await bench.expectClean()
        }
    }

    @Test func `one refund in many batches at once takes once`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.post(Bench.bought("t1"), Bench.bought("t2"))
            var notices: [VerdictMessage] = []
            for _ in 0..<12 { notices.append(try await bench.notice([Bench.refunded("t1", at: 10)])) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for notice in notices { group.addTask { try await bench.settle([notice]) } }
                try await group.waitForAll()
            }
            #expect(try await bench.lines(of: "t1") == ["grant 1 100 gem", "revocation 1 -100 gem"])
            #expect(try await bench.balance() == 100)
            #expect(try await bench.events(of: "t1").count == 2)
        }
    }

    @Test func `a claim is heard at the moment in which a refund is given back to nobody`() async throws {
        try await Bench.withRefunds { bench in
            try await bench.notify(Bench.bought("t0"), Bench.refunded("t1", at: 10))
            let claim = try await bench.verdict(
                "s1", .genuine([Bench.bought("t0"), Bench.bought("t1")]), account: "ben")
            let reversal = try await bench.notice([Bench.bought("t1", at: 20)])
            // ben's claim has seen that t1 is taken back, and waits for t0 when the reversal comes.
            try await bench.meanwhile(at: "SELECT FROM orders WHERE transaction_id = 't0' FOR UPDATE") {
                try await bench.settle([claim])
            } _: {
                try await bench.settle([reversal])
            }
            #expect(try await bench.standing(of: "t1") == "granted - ben")
            #expect(try await bench.balance("ben") == 200)
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            try await bench.expectClean()
        }
    }

    @Test func `debts of several items that purchases repay while refunds make more, and players spend: to the unit`()
        async throws
    {
        try await Bench.withRefunds { bench in
            let players = ["anna", "ben", "cleo"]
            let plans = players.enumerated().flatMap { number, player in
                (0..<10).map { DebtPlan(player: player, number: $0, length: 1 + ($0 + number) % 3) }
            }
            var bought: [VerdictMessage] = []
            for plan in plans {
                bought.append(
                    try await bench.verdict("s_\(plan.id)", .genuine([plan.purchase]), account: plan.player))
            }
            try await bench.settle(bought)
            let cards = plans.flatMap(\.words).shuffled()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for start in 0..<4 {
                    group.addTask {
                        for place in stride(from: start, to: cards.count, by: 4) {
                            try await bench.notify(cards[place])
                        }
                    }
                }
                for player in players { group.addTask { try await spendAndBuy(player, bench) } }
                try await group.waitForAll()
            }
            for player in players {
                let own = plans.filter { $0.player == player }
                // Without the gems of `mixed`, which a refund takes only as far as they reach.
                let gems = try await bench.number(
                    """
                    SELECT sum(l.amount) FROM ledger_entries l JOIN orders o USING (environment, transaction_id)
                    WHERE l.account = '\(player)' AND l.item = 'gem' AND o.product_id = 'debt.100'
                    """)
                #expect(gems == own.filter { $0.product == "debt.100" }.reduce(0) { $0 + $1.left(of: 100) })
                let spent = try await bench.number("SELECT count(*) FROM spends WHERE account = '\(player)'")
                let keys = own.filter { $0.product == "mixed" }.reduce(0) { $0 + $1.left(of: 3) }
                #expect(try await bench.balance(player, "key") == keys - spent)
            }
            #expect(try await bench.deadlocks() == 0)
            try await bench.expectClean()
        }
    }

    /// Spends a key and gems, where there are some, and buys gems that no refund takes, again and again.
    private func spendAndBuy(_ player: String, _ bench: Bench) async throws {
        for round in 0..<8 {
            _ = try await bench.trySpending(
                [Catalogue.ItemGrant(item: "key", amount: 1), Catalogue.ItemGrant(item: "gem", amount: 40)], by: player)
            try await bench.post(Bench.bought("\(player)more\(round)", product: "kept.100"), by: player)
        }
    }

    /// A purchase, and what Apple signs of it later: a third of a refund, all of it, and that it is given back.
    private struct DebtPlan {
        let player: String
        let number: Int
        /// How many of these come.
        let length: Int

        var id: String { "\(player)\(number)" }
        var product: String { number.isMultiple(of: 2) ? "debt.100" : "mixed" }
        var purchase: Transaction { Bench.bought(id, product: product) }
        var words: [Transaction] {
            Array(
                [
                    Bench.refunded(id, product: product, at: 10, percentage: 33_333),
                    Bench.refunded(id, product: product, at: 20), Bench.bought(id, product: product, at: 30),
                ].prefix(length))
        }

        /// What remains of an amount in the end.
        func left(of amount: Int64) -> Int64 { amount - amount * [33_333, 100_000, 0][length - 1] / 100_000 }
    }
}
