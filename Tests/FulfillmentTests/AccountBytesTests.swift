import Foundation
import Messages
import PersistenceTesting
import PurchaseModel
import Testing

/// Swift takes two ways to write the same letter for equal; PostgreSQL and intake do not.
@Suite("Names of accounts, by their bytes", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct AccountBytesTests {
    @Test("accounts whose names only look the same have their own events, balances and purchases in one batch")
    func oneBatch() async throws {
        let names = ["caf\u{e9}", "cafe\u{301}"]
        try await Bench.with { bench in
            for round in 0..<2 {
                var verdicts: [VerdictMessage] = []
                for (index, name) in names.enumerated() {
                    verdicts.append(
                        try await bench.verdict(
                            "s\(round)\(index)", .genuine([Bench.signed("t\(round)\(index)")]), account: name))
                }
                try await bench.settle(verdicts)
            }
            #expect(try await bench.number("SELECT count(*) FROM balances WHERE amount = 200") == 2)
            #expect(try await bench.number("SELECT count(*) FROM account_sequences WHERE last_sequence = 2") == 2)
            try await bench.expectClean()
        }
    }

    @Test(arguments: [RestorePolicy.keep, .transfer])
    func `what one spelling owns is another's, and is restored as another's`(policy: RestorePolicy) async throws {
        let names = ["caf\u{e9}", "cafe\u{301}"]
        try await Bench.withOwners(RestoreRule(policy: policy)) { bench in
            for (index, name) in names.enumerated() {
                try await bench.post("s\(index)", Bench.signed("p", product: "pro"), by: name)
            }
            let owner = policy == .keep ? names[0] : names[1]
            let expected = Int64(owner.utf8.count)
            #expect(try await bench.number("SELECT octet_length(account) FROM lineages") == expected)
            #expect(try await bench.number("SELECT octet_length(account) FROM orders") == expected)
            #expect(try await bench.number("SELECT octet_length(account) FROM entitlements") == expected)
            let outcome = try #require(try await bench.outcome("s1"))
            #expect(outcome.reason == (policy == .keep ? .belongsToAnotherAccount : nil))
            try await bench.expectClean()
        }
    }

    @Test func `a refund is told to the owner and to who shares it, though their names look the same`() async throws {
        let names = ["caf\u{e9}", "cafe\u{301}"]
        try await Bench.withOwners(RestoreRule(policy: .share)) { bench in
            for (index, name) in names.enumerated() {
                try await bench.post("s\(index)", Bench.signed("p", product: "pro"), by: name)
            }
            #expect(try await bench.number("SELECT count(*) FROM entitlements WHERE revoked_at IS NULL") == 2)
            var refunded = Bench.signed("p", product: "pro")
            refunded.signedDate += 60
            refunded.revocationDate = refunded.signedDate
            try await bench.notify("n1", refunded)
            #expect(try await bench.number("SELECT count(*) FROM entitlements WHERE revoked_at IS NULL") == 0)
            let told = "SELECT count(DISTINCT convert_to(account, 'UTF8')) FROM events WHERE type = "
            #expect(try await bench.number(told + "'\(PurchaseEvent.refundGranted)'") == 2)
            try await bench.expectClean()
        }
    }
}
