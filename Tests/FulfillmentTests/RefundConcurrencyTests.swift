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

    /// How often the server had to end a wait of two transactions for each other.
    private func deadlocks(_ bench: Bench) async throws -> Int64 {
        try await bench.number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    }

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
            #expect(try await deadlocks(bench) == 0)
            try await bench.expectClean()
        }
    }

    @Test func `statements about the same orders in opposite order, in many batches at once`() async throws {
        try await Bench.withRefunds { bench in
            let ids = (0..<10).map { "t\($0)" }
            try await bench.settle([
                try await bench.verdict("s", .genuine(ids.map { Bench.bought($0) }), account: "anna")
            ])
            var histories: [[PurchasedTransaction]] = []
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
            #expect(try await deadlocks(bench) == 0)
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
}
