import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

/// What is said of one lineage in one batch leaves what it leaves in several.
@Suite("Owners, however batches are cut", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct OwnerBatchTests {
    private func settle(_ verdicts: [VerdictMessage], asOne isOneBatch: Bool, _ bench: Bench) async throws {
        for batch in isOneBatch ? [verdicts] : verdicts.map({ [$0] }) { try await bench.settle(batch) }
    }

    @Test(arguments: [true, false], ["cleo", "anna"])
    func `who shared a lineage and had it for a moment shares it no more`(isOneBatch: Bool, last: String) async throws {
        try await Bench.withOwners(RestoreRule(policy: .share)) { bench in
            try await bench.post("s1", Bench.season(1), by: "anna")
            try await bench.post("s2", Bench.season(1), by: "ben")
            #expect(try await bench.inForce() == ["anna vip v1", "ben vip v1"])
            let tokens = (try await bench.token(of: "ben"), try await bench.token(of: last))
            try await settle(
                [
                    try await bench.notification("n1", [Bench.season(2, token: tokens.0)]),
                    try await bench.notification("n2", [Bench.season(3, token: tokens.1)]),
                ], asOne: isOneBatch, bench)
            #expect(try await bench.owner(of: "v1") == "\(last) token")
            #expect(try await bench.inForce() == ["\(last) vip v1", "\(last) vip v2", "\(last) vip v3"])
            #expect(try await bench.number("SELECT count(*) FROM lineage_shares") == 0)
            try await bench.expectClean()
        }
    }

    @Test(arguments: [true, false])
    func `who claims what was renewed a moment ago does not get it by transfer_if_inactive`(
        isOneBatch: Bool
    ) async throws {
        try await Bench.withOwners(RestoreRule(policy: .transferIfInactive)) { bench in
            var bench = bench
            try await bench.post("s1", Bench.season(1), by: "anna")
            bench.now = { Bench.day(40) }
            try await settle(
                [
                    try await bench.notification("n1", [Bench.season(2)]),
                    try await bench.verdict("s2", .genuine([Bench.season(1)]), account: "ben"),
                ], asOne: isOneBatch, bench)
            #expect(try await bench.owner(of: "v1") == "anna possession")
            #expect(try await bench.inForce() == ["anna vip v2"])
            #expect(try await bench.outcome("s2")?.reason == .belongsToAnotherAccount)
            try await bench.expectClean()
        }
    }

    @Test func `his own new period is no reason against him`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .transferIfInactive)) { bench in
            var bench = bench
            try await bench.post("s1", Bench.season(1), by: "anna")
            bench.now = { Bench.day(40) }
            try await bench.post("s2", Bench.season(1), Bench.season(2), by: "ben")
            #expect(try await bench.owner(of: "v1") == "ben transfer")
            #expect(try await bench.inForce() == ["ben vip v2"])
            try await bench.expectClean()
        }
    }
}
