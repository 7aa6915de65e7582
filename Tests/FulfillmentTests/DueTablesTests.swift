import EventProcessing
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
        static let alarms: Int64 = Int64(RaiseAlarms.Limit.batch * RaiseAlarms.Limit.batchesPerLook * 3)
        /// Counts of three or four groups, each up to its maximum.
        static let gauge = Int64(DueRowsStore.countMaximum * 5)
    }

    private static let clock = [
        MeasuredStep("parked orders that cannot have changed", Bound.idle) { pool in
            let bench = Bench(pool: pool)
            #expect(try await bench.releaseRequested.look(limit: 10).count == 0)
            // The first look of a process, and the next.
            let round = ReleaseByCatalogue(orders: bench.releaseOrders())
            for _ in 0..<2 { #expect(try await round.look(limit: 200).count == 0) }
        },
        MeasuredStep("parked orders that were overlooked", Bound.batch) { pool in
            let (catalogues, doubtful) = (Bench(pool: pool).releaseOrders().catalogues, DoubtfulProducts())
            let overlooked = OverlookedOrders(pool: pool, catalogues: catalogues, doubtful: doubtful)
            try await overlooked.look(limit: OverlookedOrders.Limit.orders)
        },
        MeasuredStep("subscriptions that end", Bound.batch) { pool in
            #expect(
                try await SubscriptionBench(Bench(pool: pool)).endSubscriptions.end(limit: 200) <= 200)
        },
        MeasuredStep("entitlements that end", Bound.batch) { pool in
            #expect(try await SubscriptionBench(Bench(pool: pool)).endEntitlements.end(limit: 200) == 200)
        },
        MeasuredStep("submissions that are due", Bound.batch) { pool in
            let lease = Duration.seconds(30)
            let due = try await SubmissionStore(pool: pool).claimDue(limit: 200, lease: lease, leaseMaximum: lease)
            #expect(due.submissions.count == 200 && due.isMoreDue)
        },
        MeasuredStep("events that are due", Bound.batch) { pool in
            let lease = Duration.seconds(30)
            #expect(
                try await EventStore(pool: pool).claimDue(limit: 200, lease: lease, leaseMaximum: lease).count == 200)
        },
        MeasuredStep("deliveries that are due", Bound.batch) { pool in
            let store = DeliveryStore(pool: pool)
            #expect(try await store.claimDue(endpointIds: ["up"], limit: 50, lease: .seconds(30)).count == 50)
            #expect(try await store.untilDue(endpointIds: ["up", "down"]).count == 2)
        },
        MeasuredStep("alarms", Bound.alarms) { pool in
            let bench = Bench(pool: pool)
            try await bench.lookForAlarms()
            #expect(bench.lines.all.count == RaiseAlarms.Limit.linesPerLook + 1)
        },
    ]

    private static let monitoring = [
        MeasuredStep("submissions with an alarm", Bound.gauge) { pool in
            #expect(try await SubmissionStore(pool: pool).alarmed().count == 3)
        },
        MeasuredStep("the oldest submission", Bound.batch) { pool in
            #expect(try await SubmissionStore(pool: pool).oldestUnsettled() != nil)
            #expect(try await BacklogStore(pool: pool).oldestUnsettledSeconds() ?? 0 > 7_200)
        },
        MeasuredStep("parked orders, counted", Bound.gauge) { pool in
            #expect(try await UndeliveredStore(pool: pool).parked().map(\.count) == [10_000, 10_000, 10_000])
        },
        MeasuredStep("submissions without an outcome, counted", Bound.gauge) { pool in
            let counts = try await UndeliveredStore(pool: pool).undecided(olderThan: .seconds(60)).map(\.count)
            #expect(counts == [10_000, 10_000, 10_000])
        },
        MeasuredStep("due rows, counted", Bound.gauge) { pool in
            let queues = try await DueRowsStore(pool: pool).queues()
            for queue in queues where queue.table != "release_requests" {
                #expect(queue.counts.first == 10_000, "\(queue.table)")
            }
        },
        MeasuredStep("deliveries, counted", Bound.gauge) { pool in
            #expect(try await DeliveryStore(pool: pool).pendingCounts() == ["up": 10_000, "down": 10_000])
        },
        MeasuredStep("what the doctor asks", Bound.gauge) { pool in
            let backlog = BacklogStore(pool: pool)
            #expect(try await backlog.overdue(grace: .seconds(1)).count == 6)
            #expect(try await backlog.parkedOrders().map(\.count) == [10_000, 10_000, 10_000])
            #expect(try await backlog.disabledEndpoints().map(\.pending) == [10_000])
        },
        MeasuredStep("outcomes, counted", Bound.gauge) { pool in
            let outcomes = OutcomeCountStore(pool: pool)
            let rejected = try await outcomes.rejected(within: .seconds(86_400)).reduce(0) { $0 + $1.count }
            #expect(rejected == Int64(OutcomeCountStore.countMaximum))
            #expect(try await outcomes.parked().map(\.count) == [10_000, 10_000, 10_000])
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
