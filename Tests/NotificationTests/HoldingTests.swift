import Postgres
import Testing

@testable import Notification
@testable import Persistence

/// What becomes of a delivery whose schedule is used up, in the database alone: every step is written down by the test.
@Suite(.enabled(if: TestDatabase.url != nil, Comment(rawValue: TestDatabase.skipComment)))
struct HoldingTests {
    private let schedule = RetrySchedule(delays: [.seconds(10), .seconds(20)])

    /// A delivery, an hour old, and what the loop does with it.
    private struct Desk {
        let database: TestDatabase
        let schedule: RetrySchedule
        var store: DeliveryStore { DeliveryStore(pool: database.pool) }
        var endpoints: EndpointStore { EndpointStore(pool: database.pool) }

        /// Fails the delivery once it is due, as the loop would.
        func fail() async throws -> String {
            try await database.pass("1 hour")
            let due = try #require(
                try await store.claimDue(endpointIds: ["backend"], limit: 1, lease: .seconds(60)).first)
            let verdict = DeliveryVerdict(
                .failed("down"), attempts: due.attempts + 1 - due.attemptsForgiven,
                waitsForEndpoint: due.waitsForEndpoint,
                schedule: schedule, chance: 0)
            let recorded = try await store.record([
                .init(eventId: due.eventId, endpointId: due.endpointId, result: verdict.result, attempt: nil)
            ])
            let outcome = try #require(recorded.first)
            let row = try #require(try await database.delivery("evt_1"))
            let seconds = row.secondsUntilDue.map { " \(Int($0.rounded()))" } ?? ""
            return outcome.isAbandoned ? "abandoned" : (outcome.waitsForEndpoint ? "held" : "retry") + seconds
        }

        /// Fails it so many times, each right after the endpoint has taken something else, if that is said.
        func fail(times: Int, afterSuccess: Bool = false) async throws -> [String] {
            var outcomes: [String] = []
            for _ in 1...times {
                if afterSuccess { try await succeed() }
                outcomes.append(try await fail())
            }
            return outcomes
        }

        /// The endpoint takes something else, after the last failure.
        func succeed() async throws {
            try await database.pass("1 minute")
            try await endpoints.noteSuccess("backend", ifFailing: false)
        }
    }

    private func withDesk(_ body: (Desk) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            let desk = Desk(database: database, schedule: schedule)
            try await desk.endpoints.register(["backend"])
            try await database.insertEvents(["evt_1"])
            _ = try await desk.store.takeOver(
                eventIds: ["evt_1"], deliveries: [.init(eventId: "evt_1", endpointId: "backend", body: nil)],
                lease: .seconds(60))
            try await body(desk)
        }
    }

    @Test func whileItsEndpointTakesNothingADeliveryIsHeldForAsLongAsThatLasts() async throws {
        try await withDesk { desk in
            let outcomes = try await desk.fail(times: 22)
            #expect(outcomes == ["retry 10", "retry 20"] + Array(repeating: "held 60", count: 20))
        }
    }

    @Test func aSuccessBeforeTheAttemptBeforeProvesNothing() async throws {
        try await withDesk { desk in
            let first = try await desk.fail()
            try await desk.succeed()
            let outcomes = try await desk.fail(times: 2)
            #expect([first] + outcomes == ["retry 10", "retry 20", "held 60"], "the outage began since")
        }
    }

    @Test func whatFailsWhileItsEndpointTakesOthersIsGivenUpAfterItsSchedule() async throws {
        try await withDesk { desk in
            let outcomes = try await desk.fail(times: 3, afterSuccess: true)
            #expect(outcomes == ["retry 10", "retry 20", "abandoned"])
        }
    }

    @Test func whatAnOutageUsedUpIsGivenBackOnceAndThenItIsGivenUp() async throws {
        try await withDesk { desk in
            let during = try await desk.fail(times: 4)
            #expect(during == ["retry 10", "retry 20", "held 60", "held 60"])
            // The endpoint is back, and this one still fails: from the beginning.
            let after = try await desk.fail(times: 3, afterSuccess: true)
            #expect(after == ["retry 10", "retry 20", "abandoned"])
            let delivery = try await desk.database.delivery("evt_1")
            #expect(delivery?.attempts == 7)
        }
    }

    @Test func thousandsAreBroughtBackInBatchesAndNothingIsSentBeforeAllAre() async throws {
        try await withDesk { desk in
            let pool = desk.database.pool
            try await pool.withConnection { connection in
                try await connection.executeScript(
                    """
                    INSERT INTO events (id, type, environment, app, transaction_id, partition_key, body)
                    SELECT 'evt_' || n, 't', 'production', 'a', '1', '1', '{}' FROM generate_series(10001, 12500) AS n;
                    INSERT INTO webhook_deliveries (event_id, endpoint_id, created_at, due_at, attempts)
                    SELECT 'evt_' || n, 'backend', now() - (n - 10000) * interval '1 minute',
                        now() + (n % 2 * 2 - 1) * interval '5 hours', 4 FROM generate_series(10001, 12500) AS n;
                    UPDATE webhook_endpoints SET disabled_at = now();
                    """)
            }
            #expect(try await desk.endpoints.closed(among: ["backend"]) == .init(disabled: ["backend"], resuming: []))
            // By hand, as it was done before there was a command.
            _ = try await pool.query("UPDATE webhook_endpoints SET disabled_at = NULL, failing_since = NULL")
            for _ in 1...2 {
                let closed = try await desk.endpoints.closed(among: ["backend"])
                #expect(closed == .init(disabled: [], resuming: ["backend"]), "until all are back")
                let queue = try await DueRowsStore(pool: pool).queues().first { $0.table == "webhook_deliveries" }
                #expect(queue?.counts.first == 0, "that they are not taken is as it should be")
                if try await desk.store.resume("backend", limit: 1_000) {
                    try await desk.endpoints.finishResuming("backend")
                }
            }
            #expect(try await desk.endpoints.closed(among: ["backend"]) == .init(disabled: [], resuming: []))
            let order = try await pool.query(
                "SELECT event_id FROM webhook_deliveries WHERE event_id <> 'evt_1' ORDER BY due_at, event_id"
            ).rows.map { try $0.decode("event_id", as: String.self) }
            #expect(order == (10_001...12_500).reversed().map { "evt_\($0)" }, "the oldest first")
            let due = try await desk.store.claimDue(endpointIds: ["backend"], limit: 3_000, lease: .seconds(60))
            #expect(due.count == 2_501)
            #expect(due.filter { $0.eventId != "evt_1" }.allSatisfy { $0.attempts == 4 && $0.attemptsForgiven == 4 })
        }
    }
}
