import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// A sandbox transaction that has the id of a production one never meets it.
@Suite("The environment firewall", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct EnvironmentFirewallTests {
    private func sandbox(_ id: String, product: String = "gems.100", _ mark: TestPurchase? = nil)
        -> Transaction
    {
        var transaction = Bench.signed(id, product: product, environment: .sandbox)
        transaction.testPurchase = mark
        return transaction
    }

    @Test(arguments: [false, true])
    func `orders, ledger, balances, entitlements and sequences are apart`(isSandboxFirst: Bool) async throws {
        try await Bench.with { bench in
            let paid = try await bench.verdict("s1", .genuine([Bench.signed("7"), Bench.signed("8", product: "pro")]))
            let free = try await bench.verdict("s2", .genuine([sandbox("7"), sandbox("8", product: "pro")]))
            for verdict in isSandboxFirst ? [free, paid, free] : [paid, free, paid] {
                try await bench.settle([verdict])
            }
            for table in ["orders", "ledger_entries", "balances", "entitlements", "account_sequences", "events"] {
                let count = try await bench.number("SELECT count(*) FROM \(table)")
                for environment in StoreEnvironment.allCases {
                    let share = try await bench.number(
                        "SELECT count(*) FROM \(table) WHERE environment = '\(environment.rawValue)'")
                    #expect(share * 2 == count && share > 0, "\(table)")
                }
            }
            #expect(try await bench.number("SELECT count(*) FROM balances WHERE amount = 100") == 2)
            #expect(try await bench.number("SELECT count(*) FROM account_sequences WHERE last_sequence = 2") == 2)
            for id in ["s1", "s2"] { #expect(try await bench.outcome(id)?.state == .fulfilled) }
            try await bench.expectClean()
        }
    }

    @Test func `in one batch they are two orders, of two owners`() async throws {
        try await Bench.with { bench in
            try await bench.settle([
                try await bench.verdict("s1", .genuine([sandbox("7")]), account: "tester"),
                try await bench.verdict("s2", .genuine([Bench.signed("7")]), account: "player"),
            ])
            #expect(try await bench.standing(of: "7") == "granted - player")
            #expect(try await bench.standing(of: "7", .sandbox) == "granted - tester")
            #expect(
                try await bench.number(
                    "SELECT count(*) FROM balances WHERE account = 'tester' AND environment = 'production'") == 0)
        }
    }

    @Test func `a sandbox receipt claims no production order, and no production proof a sandbox one`() async throws {
        try await Bench.with { bench in
            let paid = Verdict.genuine([Bench.entry("7"), Bench.entry("8")])
            let free = Verdict.genuine([
                Bench.entry("7", environment: .sandbox), Bench.entry("8", environment: .sandbox),
            ])
            try await bench.settle([try await bench.verdict("s1", paid, account: "anna", claims: [])])
            try await bench.settle([try await bench.verdict("s2", free, account: "tester", claims: ["7"])])
            #expect(try await bench.standing(of: "7") == "parked unclaimed -")
            #expect(try await bench.standing(of: "7", .sandbox) == "granted - tester")
            #expect(try await bench.outcome("s1")?.reason == .claimUnnamed)
            try await bench.settle([try await bench.verdict("s3", paid, account: "anna", claims: ["8"])])
            #expect(try await bench.standing(of: "8") == "granted - anna")
            #expect(try await bench.standing(of: "8", .sandbox) == "parked unclaimed -")
            #expect(try await bench.number("SELECT sum(amount) FROM balances WHERE environment = 'production'") == 100)
            try await bench.expectClean()
        }
    }

    @Test func `a test purchase is marked in the order, the outcome and the event, and in production never`()
        async throws
    {
        try await Bench.with { bench in
            var wrong = Bench.signed("9")
            wrong.testPurchase = .sandbox
            let verdicts = [
                try await bench.verdict("s1", .genuine([sandbox("7", .appReview)])),
                try await bench.verdict("s2", .genuine([sandbox("8")])),
                try await bench.verdict("s3", .genuine([wrong])),
            ]
            try await bench.settle(verdicts)
            #expect(try await bench.column("test_purchase", of: "7", .sandbox) == "app_review")
            #expect(try await bench.column("test_purchase", of: "8", .sandbox) == nil)
            #expect(try await bench.column("test_purchase", of: "9") == nil)
            #expect(try await bench.outcome("s1")?.transactions.map(\.testPurchase) == [.appReview])
            #expect(try await bench.outcome("s3")?.transactions.map(\.testPurchase) == [nil])
            let marked = "body::jsonb -> 'data' -> 'transaction' ->> 'test_purchase'"
            #expect(try await bench.number("SELECT count(*) FROM events WHERE \(marked) = 'app_review'") == 1)
            #expect(try await bench.number("SELECT count(*) FROM events WHERE \(marked) IS NOT NULL") == 1)
            // Posted again by a build that does not say what it is for: the order's mark is told.
            try await bench.settle([try await bench.verdict("s4", .genuine([sandbox("7")]))])
            #expect(try await bench.outcome("s4")?.transactions.map(\.testPurchase) == [.appReview])
        }
    }
}
