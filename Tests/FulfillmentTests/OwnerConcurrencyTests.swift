import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// Many batches about the same lineages at once, and what a batch without lineages costs.
@Suite("Owners under load", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct OwnerConcurrencyTests {
    private static let lineages = (1...12).map { "l\($0)x" }

    /// Two seasons of every lineage, restored after the second began: signed later than what bound it.
    private static func restored() -> [Transaction] {
        lineages.shuffled().flatMap { lineage in
            [Bench.season(1, lineage: lineage), Bench.season(2, lineage: lineage)].map { season in
                var signed = season
                signed.signedDate = Bench.day(40)
                return signed
            }
        }
    }

    @Test(arguments: [RestorePolicy.transfer, .share])
    func `both players restore everything at once, again and again: each restore counts once`(
        policy: RestorePolicy
    ) async throws {
        let rule = RestoreRule(policy: policy, transfersMaximum: 1_000)
        try await Bench.withOwners(rule) { bench in
            var verdicts: [VerdictMessage] = []
            for round in 0..<6 {
                for account in ["anna", "ben"] {
                    verdicts.append(
                        try await bench.verdict(
                            "\(account)\(round)", .genuine(bench.signatures.resigned(Self.restored())),
                            account: account))
                }
                verdicts.append(
                    try await bench.notification(
                        "n\(round)", Self.lineages.shuffled().map { Bench.season(3, lineage: $0) }))
            }
            let all = verdicts
            // The one that was signed first: if the last came before all others, nothing would be left to be moved.
            try await bench.settle([all[0]])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for start in stride(from: 0, to: all.count, by: 3) {
                            try await bench.settle(Array(all.shuffled()[start..<min(start + 3, all.count)]))
                        }
                    }
                    group.addTask { _ = try await bench.grantParked() }
                }
                try await group.waitForAll()
            }
            try await bench.settle(all)
            #expect(
                try await bench.number(
                    "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0)
            let transfers = try await bench.answers(
                """
                SELECT count(*) FROM binding_history WHERE cause = '\(policy.rawValue)'
                GROUP BY original_transaction_id, submission_id
                """)
            #expect(transfers.allSatisfy { $0 == "1" } && !transfers.isEmpty)
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") == 36)
            #expect(try await bench.number("SELECT sum(amount) FROM ledger_entries") == 360)
            let accounts = try await bench.number("SELECT count(DISTINCT account) FROM entitlements")
            #expect(
                try await bench.number("SELECT count(*) FROM entitlements")
                    == (policy == .share ? 72 : 36) && accounts >= 1)
            #expect(
                try await bench.number(
                    """
                    SELECT count(*) FROM orders o JOIN lineages l USING (environment, original_transaction_id)
                    WHERE o.account IS DISTINCT FROM l.account
                    """) == 0)
            try await bench.expectClean()
        }
    }

    @Test func `a batch of consumables asks nothing about owners`() async throws {
        try await Bench.withOwners { bench in
            var verdicts: [VerdictMessage] = []
            for number in 0..<500 {
                verdicts.append(
                    try await bench.verdict(
                        "s\(number)", .genuine([Bench.signed("g\(number)")]), account: "player\(number)"))
            }
            try await bench.settle(verdicts)
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'") == 500)
            // The pool gives the connection that was used last; what it ever prepared is on it still, also for migrating.
            let asked = try await bench.answers(
                """
                SELECT statement FROM pg_prepared_statements
                WHERE statement NOT LIKE '%pg_prepared%' AND statement NOT LIKE '%orders_to_merge%' ORDER BY prepare_time
                """)
            let settling = asked.filter { $0.contains("INSERT INTO orders") }
            #expect(settling.count == 1)
            #expect(
                asked.filter {
                    $0.contains("lineage") || $0.contains("binding") || $0.contains("submission_transactions")
                }
                    == [])
        }
    }
}
