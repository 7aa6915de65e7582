import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// Submissions that wait for orders hear of them, and of nothing less than all they wait for.
@Suite("Waiting submissions", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct WaitingSubmissionTests {
    private let both = Verdict.genuine([Bench.entry("t1"), Bench.entry("t2")])

    @Test func `an unnamed receipt waits until all of it is somebody's`() async throws {
        try await Bench.with { bench in
            let unnamed = try await bench.verdict("s1", both, account: "anna", claims: [])
            try await bench.settle([unnamed])
            let first = try #require(try await bench.outcome("s1"))
            #expect(first.state == .parked && !first.finish && first.reason == .claimUnnamed)
            try await bench.settle([try await bench.verdict("s2", both, account: "anna", claims: ["t1"])])
            let second = try #require(try await bench.outcome("s1"))
            #expect(second.reason == .claimUnnamed && second.transactions.map(\.state) == [.granted, .parked])
            try await bench.settle([try await bench.verdict("s3", both, account: "ben", claims: ["t2"])])
            let third = try #require(try await bench.outcome("s1"))
            #expect(third.state == .fulfilled && third.finish)
            #expect(third.transactions.map(\.reason) == [nil, .belongsToAnotherAccount])
            #expect(try bench.published.settlements(of: "s1") == [first, second, third])
            try await bench.settle([unnamed])
            #expect(try await bench.outcome("s1") == third)
            try await bench.expectClean()
        }
    }

    @Test func `an unnamed receipt of which others claimed everything is refused`() async throws {
        try await Bench.with { bench in
            try await bench.settle([try await bench.verdict("s1", both, account: "anna", claims: [])])
            try await bench.settle([try await bench.verdict("s2", both, account: "ben", claims: ["t1"])])
            try await bench.settle([try await bench.verdict("s3", both, account: "ben", claims: ["t2"])])
            #expect(try await bench.outcome("s1")?.state == .rejected)
            #expect(try await bench.outcome("s1")?.reason == .belongsToAnotherAccount)
        }
    }

    @Test func `an unnamed receipt of which nothing is left to name has its outcome at once`() async throws {
        try await Bench.with { bench in
            try await bench.settle([try await bench.verdict("s1", both, account: "anna")])
            try await bench.settle([try await bench.verdict("s2", both, account: "anna", claims: [])])
            #expect(try await bench.outcome("s2")?.state == .fulfilled)
            try await bench.settle([try await bench.verdict("s3", both, account: "ben", claims: [])])
            #expect(try await bench.outcome("s3")?.reason == .belongsToAnotherAccount)
        }
    }

    @Test(arguments: [false, true])
    func `an unnamed receipt waits for its own account's held orders alone`(isFirst: Bool) async throws {
        try await Bench.with { bench in
            let entries = [Bench.entry("t1", product: "hat"), Bench.entry("t2")]
            let unnamed = try await bench.verdict("s1", .genuine(entries), account: "anna", claims: [])
            if isFirst { try await bench.settle([unnamed]) }
            try await bench.settle([
                try await bench.verdict("s2", .genuine([entries[0]]), account: "anna"),
                try await bench.verdict("s3", .genuine([Bench.signed("t2", token: UUID())]), account: "ben"),
            ])
            if !isFirst { try await bench.settle([unnamed]) }
            #expect(try await bench.standing(of: "t2") == "parked account_token_unknown -")
            let held = try #require(try await bench.outcome("s1"))
            #expect(held.state == .parked && held.finish && held.reason == .productUnknown)
            #expect(held.transactions.map(\.transactionId) == ["t1"])
            var later = bench
            later.products = ShuffledWorld.wholeCatalogue
            #expect(try await later.grantParked() == 1)
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            try await bench.expectClean()
        }
    }

    @Test func `who waits for two orders is not fulfilled by one, nor held up by a stranger's`() async throws {
        try await Bench.with { bench in
            let three = Verdict.genuine([
                Bench.entry("t1", product: "hat"), Bench.entry("t2", product: "scarf"), Bench.entry("t3"),
            ])
            try await bench.settle([try await bench.verdict("s1", three, account: "anna", claims: ["t1", "t2"])])
            #expect(try await bench.outcome("s1")?.reason == .productUnknown)
            var later = bench
            later.products = catalogue(["hat"])
            #expect(try await later.grantParked() == 1)
            let half = try #require(try await bench.outcome("s1"))
            #expect(half.state == .parked && half.transactions.map(\.state) == [.granted, .parked, .parked])
            later.products = catalogue(["hat", "scarf"])
            #expect(try await later.grantParked() == 1)
            let whole = try #require(try await bench.outcome("s1"))
            #expect(whole.state == .fulfilled && whole.transactions.map(\.state) == [.granted, .granted, .parked])
            #expect(whole.transactions.map(\.reason) == [nil, nil, .unclaimed])
            try await bench.expectClean()
        }
    }

    @Test func `who is judged again while the catalogue grants its order hears of the grant`() async throws {
        try await Bench.with { bench in
            let verdict = try await bench.verdict(
                "s1", .genuine([Bench.entry("t1", product: "hat")]), account: "anna")
            try await bench.settle([verdict])
            let redriven = try await SubmissionStore(pool: bench.pool).redrive(
                .parked, reason: "r", actor: "eve", limit: 10)
            #expect(redriven.map(\.id) == ["s1"])
            var later = bench
            later.products = catalogue(["hat"])
            let granting = later
            // Whoever settles waits here, when it has read its orders.
            try await bench.meanwhile(at: "LOCK TABLE submissions IN SHARE MODE") {
                try await bench.settle([verdict])
            } _: {
                _ = try await granting.grantParked()
            }
            _ = try await granting.grantParked()
            #expect(try await bench.standing(of: "t1") == "granted - anna")
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            try await bench.expectClean()
        }
    }

    @Test func `claims, catalogue and submissions at once: nobody waits for what is over, and nothing dead-locks`()
        async throws
    {
        try await Bench.with { bench in
            let transactions = (0..<40).map { Bench.entry("t\($0)", product: "hat") }
            var verdicts: [VerdictMessage] = []
            for index in 0..<40 {
                verdicts.append(
                    try await bench.verdict("u\(index)", .genuine(transactions.shuffled()), account: "u", claims: []))
                let claims = (index..<index + 3).map { "t\($0 % 40)" }
                verdicts.append(
                    try await bench.verdict(
                        "c\(index)", .genuine(transactions.shuffled()), account: "p\(index % 5)", claims: claims))
            }
            let shuffled = (0..<4).map { _ in verdicts.shuffled() }
            var later = bench
            later.products = catalogue(["hat"])
            let granting = later
            try await withThrowingTaskGroup(of: Void.self) { group in
                for verdicts in shuffled {
                    group.addTask {
                        for start in stride(from: 0, to: verdicts.count, by: 10) {
                            try await bench.settle(Array(verdicts[start..<start + 10]))
                        }
                    }
                }
                group.addTask { for _ in 0..<20 { _ = try await granting.grantParked() } }
                try await group.waitForAll()
            }
            _ = try await granting.grantParked()
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") == 40)
            #expect(try await bench.number("SELECT count(*) FROM ledger_entries") == 40)
            #expect(try await bench.number("SELECT count(*) FROM submissions WHERE state = 'parked'") == 0)
            #expect(try await bench.number("SELECT count(*) FROM submissions WHERE state = 'received'") == 0)
            try await bench.expectClean()
        }
    }

    private func catalogue(_ ids: [String]) -> Catalogue {
        Catalogue([
            Bench.app: ids.map { id in
                Catalogue.Product(
                    id: id, type: .consumable, items: [Catalogue.ItemGrant(item: id, amount: 1)], entitlements: [])
            }
        ])
    }
}
