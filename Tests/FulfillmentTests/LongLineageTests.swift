import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// A subscription of thousands of periods, as the sandbox makes them within days, comes in one receipt.
@Suite("A lineage of thousands of periods", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct LongLineageTests {
    /// Periods of a lineage as a receipt tells them, each seventh of which follows nothing: somebody paid anew.
    private func periods(_ count: Int) -> [Transaction] {
        (0..<count).map { number in
            var period = Bench.entry("v\(number)", product: "vip")
            period.originalTransactionId = "v0"
            period.purchaseDate = Bench.day(Double(number) * 0.01)
            period.expiresDate = Bench.day(Double(number) * 0.01 + (number % 7 == 0 ? 0.005 : 0.01))
            return period
        }
    }

    /// Rows and entries of indexes that are read to settle so many periods.
    private func reads(_ count: Int) async throws -> Int64 {
        try await TestDatabase.withAddress { pool, url in
            let step = MeasuredStep("settle", .max) { own in
                var bench = Bench(pool: own)
                bench.products = Bench.restorable(.keep)
                bench.now = { Bench.day(15) }
                let verdict = try await bench.verdict("s1", .genuine(periods(count)), account: "anna")
                try await bench.settle([verdict])
            }
            let reads = try await step.reads(pool, url)
            let bench = Bench(pool: pool)
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE account = 'anna'") == Int64(count))
            #expect(try await bench.outcome("s1")?.state == .fulfilled)
            return reads.values.reduce(0, +)
        }
    }

    /// Were each period compared with each, four times as many were sixteen times the work.
    @Test func `four times as many periods are four times the rows, and not sixteen`() async throws {
        let (few, many) = (try await reads(1_250), try await reads(5_000))
        #expect(few > 1_250 && many < few * 6, "\(few) and \(many) rows")
    }

    @Test func `what is decided of them takes four times as long, and not sixteen times`() async throws {
        func seconds(_ count: Int) -> Double {
            let periods = periods(count)
            return (0..<3).map { _ in
                let start = threadSeconds()
                var ownership = Ownership(
                    Lineage(key: LineageKey(environment: .production, originalTransactionId: "v0"), app: Bench.app)
                ) { _ in RestoreRule(policy: .keep) }
                let statements = periods.map {
                    LineageEvidence.Statement(transaction: $0, order: nil, isClaimed: true)
                }
                ownership.note(periods: statements)
                ownership.apply(
                    LineageEvidence(
                        statements: statements, evidence: .possession(Account(stored: "anna")), submissionId: "s",
                        correlationId: "c"), tokens: [:], now: Bench.day(15))
                ownership.noteWaiting()
                let owned = statements.count { ownership.owner(of: $0).account != nil }
                #expect(owned == count)
                return threadSeconds() - start
            }.min() ?? 0
        }
        _ = seconds(1_250)
        let (few, many) = (seconds(1_250), seconds(5_000))
        #expect(few > 0 && many < few * 9, "\(few) s and \(many) s")
    }

    // The time of this thread: the machine may do other things, too.
    private func threadSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
