import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// A large receipt comes in parts: what the poster claims stands in the last one.
@Suite("Verdicts in parts", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct PartialVerdictTests {
    private func parts(_ bench: Bench) async throws -> [VerdictMessage] {
        let texts = [["t1", "t2"], ["t3", "t4"], ["t5", "t6"]]
        var parts: [VerdictMessage] = []
        for (index, ids) in texts.enumerated() {
            let isLast = index == texts.count - 1
            parts.append(
                try await bench.verdict(
                    "s1", .genuine(ids.map { Bench.entry($0) }), account: "anna", claims: isLast ? ["t6"] : [],
                    isPartial: !isLast))
        }
        return parts
    }

    private func expectWhole(_ bench: Bench) async throws {
        #expect(try await bench.number("SELECT count(*) FROM orders") == 6)
        #expect(try await bench.number("SELECT count(*) FROM orders WHERE reason = 'unclaimed'") == 5)
        #expect(try await bench.standing(of: "t6") == "granted - anna")
        #expect(try await bench.number("SELECT count(*) FROM events") == 6)
        let outcome = try #require(try await bench.outcome("s1"))
        #expect(outcome.state == .fulfilled && outcome.finish)
        #expect(outcome.transactions.map(\.transactionId) == ["t5", "t6"])
        try await bench.expectClean()
    }

    @Test func `parts only record orders; the last one settles`() async throws {
        try await Bench.with { bench in
            let parts = try await parts(bench)
            for part in parts.dropLast() {
                try await bench.settle([part])
                #expect(try await bench.outcome("s1") == nil)
            }
            #expect(try await bench.number("SELECT count(*) FROM submissions WHERE due_at IS NOT NULL") == 1)
            try await bench.settle([parts[2]])
            try await expectWhole(bench)
        }
    }

    @Test(arguments: [[2, 1, 0], [2, 0, 1, 2, 1, 0], [0, 0, 2, 1, 1], [1, 2, 2, 0]])
    func `in any order and repeated, in batches of one`(order: [Int]) async throws {
        try await Bench.with { bench in
            let parts = try await parts(bench)
            for index in order { try await bench.settle([parts[index]]) }
            try await expectWhole(bench)
        }
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [2, 0, 1, 2, 1, 0]])
    func `in any order and repeated, in one batch`(order: [Int]) async throws {
        try await Bench.with { bench in
            let parts = try await parts(bench)
            try await bench.settle(order.map { parts[$0] })
            try await expectWhole(bench)
        }
    }

    @Test func `a part that comes after the settlement, or from two processes at once, changes nothing`() async throws {
        try await Bench.with { bench in
            let parts = try await parts(bench)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    let parts = parts.shuffled()
                    group.addTask { for part in parts { try await bench.settle([part]) } }
                }
                try await group.waitForAll()
            }
            try await expectWhole(bench)
        }
    }

    @Test func `claims of a part are granted when it comes`() async throws {
        try await Bench.with { bench in
            let first = try await bench.verdict(
                "s1", .genuine([Bench.entry("t1"), Bench.entry("t2")]), account: "anna", claims: ["t2"], isPartial: true
            )
            try await bench.settle([first])
            #expect(try await bench.standing(of: "t2") == "granted - anna")
            #expect(try await bench.outcome("s1") == nil)
            let last = try await bench.verdict("s1", .genuine([Bench.entry("t3")]), account: "anna", claims: ["t3"])
            try await bench.settle([last])
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
        }
    }

    /// Two parts that claim all of it: the first has a token that nobody has registered.
    private func claimedParts(_ bench: Bench, token: UUID) async throws -> [VerdictMessage] {
        let texts = [[Bench.signed("t1", token: token), Bench.signed("t2")], [Bench.signed("t3")]]
        var parts: [VerdictMessage] = []
        for (index, transactions) in texts.enumerated() {
            parts.append(
                try await bench.verdict(
                    "s1", .genuine(transactions), account: "anna", claims: transactions.map(\.transactionId),
                    isPartial: index == 0))
        }
        return parts
    }

    @Test(
        "a receipt whose first part waits for a token waits, too",
        arguments: [[[0], [1]], [[0, 1]], [[0], [0, 1]], [[0, 1], [1]]])
    func waits(batches: [[Int]]) async throws {
        try await Bench.with { bench in
            let token = UUID()
            let parts = try await claimedParts(bench, token: token)
            for batch in batches { try await bench.settle(batch.map { parts[$0] }) }
            #expect(try await bench.standing(of: "t3") == "granted - anna")
            var outcome = try #require(try await bench.outcome("s1"))
            #expect(outcome.state == .parked && outcome.reason == .accountTokenUnknown)
            #expect(outcome.transactions.map(\.transactionId) == ["t1", "t3"])
            // Once it is registered all of it is there.
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "anna")
            #expect(try await bench.grantParked() == 1)
            outcome = try #require(try await bench.outcome("s1"))
            #expect(outcome.state == .fulfilled && outcome.finish)
            try await bench.expectClean()
        }
    }

    @Test func `a receipt waits for its first part when the doubt of its last one is over`() async throws {
        try await Bench.with { bench in
            let token = UUID()
            var parts = try await claimedParts(bench, token: token)
            parts[1] = try await bench.verdict(
                "s1", .genuine([Bench.signed("t3", product: "hat")]), account: "anna", claims: ["t3"])
            for part in parts { try await bench.settle([part]) }
            #expect(try await bench.outcome("s1")?.reason == .productUnknown)
            var later = bench
            later.products = ShuffledWorld.wholeCatalogue
            #expect(try await later.grantParked() == 1)
            #expect(try await bench.standing(of: "t3") == "granted - anna")
            #expect(try await bench.outcome("s1")?.reason == .accountTokenUnknown)
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "anna")
            #expect(try await later.grantParked() == 1)
            let outcome = try #require(try await bench.outcome("s1"))
            #expect(outcome.state == .fulfilled && outcome.finish)
            try await bench.expectClean()
        }
    }

    @Test func `a part that waited when it came, and waits no more, holds nothing up`() async throws {
        try await Bench.with { bench in
            let token = UUID()
            let parts = try await claimedParts(bench, token: token)
            try await bench.settle([parts[0]])
            #expect(try await bench.standing(of: "t1") == "parked account_token_unknown -")
            _ = try await AccountTokenStore(pool: bench.pool).register(app: Bench.app, token: token, account: "anna")
            #expect(try await bench.grantParked() == 1)
            #expect(try await bench.outcome("s1") == nil)
            try await bench.settle([parts[1]])
            let outcome = try #require(try await bench.outcome("s1"))
            #expect(outcome.state == .fulfilled && outcome.finish)
        }
    }

    @Test func `a name that no part holds is told by the last one, and the orders stay nobody's`() async throws {
        try await Bench.with { bench in
            let first = try await bench.verdict(
                "s1", .genuine([Bench.entry("t1")]), account: "anna", claims: [], isPartial: true)
            let last = try await bench.verdict("s1", .genuine([Bench.entry("t2")]), account: "anna", claims: ["t9"])
            try await bench.settle([last, first])
            let outcome = try #require(try await bench.outcome("s1"))
            #expect(outcome.state == .rejected && !outcome.finish && outcome.reason == .transactionNotInReceipt)
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE reason = 'unclaimed'") == 2)
        }
    }

    @Test func `a batch of large receipts is several commits, in its order`() {
        func verdict(_ id: String, _ count: Int) -> VerdictMessage {
            VerdictMessage(
                submissionId: id, app: Bench.app, account: "anna", correlationId: "r", attempt: 0,
                verdict: count > 0
                    ? .genuine((0..<count).map { Bench.entry("\($0)") })
                    : .unknown(.rateLimited, retryAfterSeconds: 1))
        }
        func ids(_ counts: [Int]) -> [[String]] {
            let verdicts = counts.enumerated().map { verdict("\($0)", $1) }
            return FulfillVerdicts.commits(of: verdicts, transactionsMaximum: 10).map { $0.map(\.submissionId) }
        }
        #expect(ids([]).isEmpty)
        #expect(ids([4, 6, 0, 1]) == [["0", "1", "2"], ["3"]])
        #expect(ids([25, 0, 3, 8]) == [["0"], ["1", "2"], ["3"]])
    }
}
