import EventProcessing
import Foundation
import LogTesting
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// Every look that is repeated reads a bounded number of rows: an outage must not keep its own alarms from being raised.
///
/// `COUNTERSIGN_DUE_ROWS=10000000` shows it of as many.
@Suite("Tables that are full of due rows", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct DueTablesTests {
    /// Rows and index entries of one table that a step may read; every table has more that are due, however few the test
    /// asks for.
    private enum Bound {
        /// Nothing is to be done.
        static let idle: Int64 = 100
        /// A batch of a few hundred, with what it looks up for each.
        static let batch: Int64 = 2_500
        /// One batch of alarms, each row found and written.
        static let alarms: Int64 = Int64(RaiseAlarms.batchMaximum * RaiseAlarms.batchesPerLook * 3)
        /// Counts of three or four groups, each up to its maximum.
        static let gauge = Int64(DueRowsStore.countMaximum * 5)
    }

    /// When all that has an end has ended.
    private static func tomorrow(_ pool: PostgresPool) -> SubscriptionBench {
        let shop = SubscriptionBench(Bench(pool: pool))
        shop.on((Date().timeIntervalSince1970 - 1_700_000_000) / 86_400 + 1)
        return shop
    }

    private static let clock = [
        MeasuredStep("parked orders that cannot have changed", Bound.idle) { pool in
            let bench = Bench(pool: pool)
            let requested = try await bench.releaseRequested.look(limit: 10).count
            #expect(requested == 0)
            // The first look of a process, and the next.
            let round = ReleaseByCatalogue(orders: bench.releaseOrders())
            for _ in 0..<2 {
                let released = try await round.look(limit: 200).count
                #expect(released == 0)
            }
        },
        MeasuredStep("parked orders that were overlooked", Bound.batch) { pool in
            let (catalogues, doubtful) = (Bench(pool: pool).releaseOrders().catalogues, DoubtfulProducts())
            let overlooked = OverlookedOrders(pool: pool, catalogues: catalogues, doubtful: doubtful)
            try await overlooked.look(limit: OverlookedOrders.ordersPerLook)
        },
        MeasuredStep("subscriptions that end", Bound.batch) { pool in
            _ = try await tomorrow(pool).endSubscriptions.end(limit: 200)
        },
        MeasuredStep("entitlements that end", Bound.batch) { pool in
            let ended = try await tomorrow(pool).endEntitlements.end(limit: 200)
            #expect(ended == 200)
        },
        MeasuredStep("submissions that are due", Bound.batch) { pool in
            let lease = Duration.seconds(30)
            let due = try await SubmissionStore(pool: pool).claimDue(limit: 200, lease: lease, leaseMaximum: lease)
            #expect(due.submissions.count == 200 && due.isMoreDue)
        },
        MeasuredStep("events that are due", Bound.batch) { pool in
            let lease = Duration.seconds(30)
            let due = try await EventStore(pool: pool).claimDue(limit: 200, lease: lease, leaseMaximum: lease)
            #expect(due.count == 200)
        },
        MeasuredStep("deliveries that are due", Bound.batch) { pool in
            let store = DeliveryStore(pool: pool)
            let due = try await store.claimDue(endpointIds: ["up"], limit: 50, lease: .seconds(30))
            let until = try await store.untilDue(endpointIds: ["up", "down"])
            #expect(due.count == 50 && until.count == 2)
        },
        MeasuredStep("alarms", Bound.alarms) { pool in
            let bench = Bench(pool: pool)
            try await bench.lookForAlarms()
            #expect(bench.lines.all.count == RaiseAlarms.linesPerLook + 1)
        },
    ]

    private static let monitoring = [
        MeasuredStep("submissions with an alarm", Bound.gauge) { pool in
            let alarmed = try await SubmissionStore(pool: pool).alarmed()
            #expect(alarmed.count == 3)
        },
        MeasuredStep("the oldest submission", Bound.batch) { pool in
            let oldest = try await SubmissionStore(pool: pool).oldestUnsettled()
            let seconds = try await BacklogStore(pool: pool).oldestUnsettledSeconds()
            #expect(oldest != nil && seconds ?? 0 > 7_200)
        },
        MeasuredStep("parked orders, counted", Bound.gauge) { pool in
            let counts = try await UndeliveredStore(pool: pool).parked().map(\.count)
            #expect(counts == [10_000, 10_000, 10_000])
        },
        MeasuredStep("submissions without an outcome, counted", Bound.gauge) { pool in
            let counts = try await UndeliveredStore(pool: pool).undecided(olderThan: .seconds(60)).map(\.count)
            #expect(counts == [10_000, 10_000, 10_000])
        },
        MeasuredStep("due rows, counted", Bound.gauge) { pool in
            let queues = try await DueRowsStore(pool: pool).queues()
            // Tokens' requests are gone within a second, and people ask to be forgotten one by one.
            for queue in queues where !["release_requests", "forget_requests"].contains(queue.table) {
                #expect(queue.counts.first == 10_000, "\(queue.table)")
            }
        },
        MeasuredStep("open refund requests, counted", Bound.gauge) { pool in
            _ = try await AppleCallStore(pool: pool).openRequests()
        },
        MeasuredStep("deliveries, counted", Bound.gauge) { pool in
            let counts = try await DeliveryStore(pool: pool).waiting().mapValues(\.count)
            #expect(counts == ["up": 10_000, "down": 10_000])
        },
        MeasuredStep("what the doctor asks", Bound.gauge) { pool in
            let backlog = BacklogStore(pool: pool)
            let overdue = try await backlog.overdue(grace: .seconds(1))
            let parked = try await backlog.parkedOrders().map(\.count)
            let disabled = try await backlog.disabledEndpoints().map(\.pending)
            #expect(overdue.count == 9 && parked == [10_000, 10_000, 10_000] && disabled == [10_000])
        },
        MeasuredStep("outcomes, counted", Bound.gauge) { pool in
            let outcomes = OutcomeCountStore(pool: pool)
            let rejected = try await outcomes.rejected(within: .seconds(86_400)).reduce(0) { $0 + $1.count }
            #expect(rejected == Int64(OutcomeCountStore.countMaximum))
            let parked = try await outcomes.parked().map(\.count)
            #expect(parked == [10_000, 10_000, 10_000])
        },
    ]

    @Test func `no look that is repeated reads more rows than its bound`() async throws {
        try await TestDatabase.withAddress { pool, url in
            try await DueTables.fill(pool)
            for step in Self.clock + Self.monitoring {
                for (table, rows) in try await step.reads(pool, url) {
                    #expect(rows <= step.rowsMaximum, "\(step.name) reads \(rows) rows of \(table)")
                }
            }
        }
    }
}
