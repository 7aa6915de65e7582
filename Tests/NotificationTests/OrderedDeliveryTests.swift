import Foundation
import Persistence
import Postgres
import ServerTesting
import ServiceRuntime
import Synchronization
import Testing
import WebhookSigning

@testable import Notification

/// Endpoints that take an account's events in their order.
@Suite(.enabled(if: TestDatabase.url != nil, Comment(rawValue: TestDatabase.skipComment)), .timeLimit(.minutes(2)))
struct OrderedDeliveryTests: DeliverySuite {
    let secret = WebhookSecret.generate()

    /// Refuses some, and knows what it took and what came before its turn.
    private final class Backend: Sendable {
        private struct State {
            var taken: [String: Int] = [:]
            var flaws: [String] = []
            var failures: [String: Int]
            let held: [String: String]
            var order: [String] = []
        }

        private let state: Mutex<State>

        /// - Parameters:
        ///   - failures: how often each event is refused.
        ///   - held: events that are refused until another one was taken.
        init(failures: [String: Int] = [:], held: [String: String] = [:]) {
            state = Mutex(State(failures: failures, held: held))
        }

        var flaws: [String] { state.withLock { $0.flaws } }
        var order: [String] { state.withLock { $0.order } }

        func answer(_ request: WebhookReceiver.Request) -> WebhookReceiver.Answer {
            state.withLock { state in
                let id = request.header("webhook-id")
                guard let (account, number) = OrderedEvents.parts(of: id) else { return .status(400) }
                if number > state.taken[account, default: 0] + 1 { state.flaws.append(id) }
                if let other = state.held[id], !state.order.contains(other) { return .status(500) }
                guard state.failures[id, default: 0] <= 0 else {
                    state.failures[id, default: 0] -= 1
                    return .status(500)
                }
                state.taken[account] = max(state.taken[account, default: 0], number)
                state.order.append(id)
                return .status(200)
            }
        }
    }

    private func ordered(_ port: Int) throws -> WebhookEndpoint {
        try WebhookEndpoint(
            .init(
                id: "backend", url: "http://127.0.0.1:\(port)/backend", secrets: [Redacted(secret.reveal())],
                allowsPrivateAddresses: true, isOrdered: true), path: "test")
    }

    private func settings() -> DeliverySettings {
        var settings = settings([.milliseconds(50)])
        settings.schedule = RetrySchedule(delays: Array(repeating: .milliseconds(50), count: 20))
        settings.lookInterval = .milliseconds(200)
        settings.breaker.pauseMaximum = .milliseconds(1)
        return settings
    }

    private func wait(_ database: TestDatabase, delivered count: Int) async throws {
        try await waitUntil { try await database.states()["delivered"] == count }
    }

    @Test func eventIsNotSentBeforeThoseBeforeItWereTakenAndOtherAccountsGoOn() async throws {
        try await TestDatabase.with { database in
            let backend = Backend(held: ["evt_a_2": "evt_b_6"])
            try await WebhookReceiver.with(answer: { backend.answer($1) }) { _, port in
                let endpoints = [try ordered(port)]
                var settings = settings()
                settings.schedule = RetrySchedule(delays: Array(repeating: .milliseconds(50), count: 1_000))
                let loop = loop(database, endpoints, settings)
                let events = OrderedEvents(accounts: ["a", "b"], count: 6)
                try await running([loop]) {
                    try await events.insert(database)
                    try await takeOver(database, events.ids.map { event($0) }, endpoints, loop.queue)
                    try await wait(database, delivered: 12)
                }
                #expect(backend.flaws.isEmpty)
                let order = backend.order
                #expect(order.filter { $0.hasPrefix("evt_a") } == (1...6).map { "evt_a_\($0)" })
                #expect(order.filter { $0.hasPrefix("evt_b") } == (1...6).map { "evt_b_\($0)" })
                let turns = try await database.pool.query("SELECT 1 AS one FROM webhook_turns")
                #expect(turns.rows.isEmpty)
            }
        }
    }

    @Test func orderHoldsWithSeveralProcessesAndEventsThatComeInAnyOrder() async throws {
        try await TestDatabase.with { database in
            let accounts = ["a", "b", "c", "d", "e"]
            let events = OrderedEvents(accounts: accounts, count: 20)
            var failures: [String: Int] = [:]
            for id in events.ids where Int.random(in: 0..<4) == 0 { failures[id] = Int.random(in: 1...2) }
            let backend = Backend(failures: failures)
            try await WebhookReceiver.with(answer: { backend.answer($1) }) { _, port in
                let endpoints = [try ordered(port)]
                let loops = [
                    loop(database, endpoints, settings()), loop(database, endpoints, settings()),
                    loop(database, endpoints, settings()),
                ]
                try await events.insert(database)
                let shuffled = events.ids.shuffled()
                try await running(loops) {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for start in stride(from: 0, to: shuffled.count, by: 7) {
                            let part = shuffled[start..<min(start + 7, shuffled.count)].map { event($0) }
                            let loop = loops[start % loops.count]
                            group.addTask { try await takeOver(database, part, endpoints, loop.queue) }
                        }
                        try await group.waitForAll()
                    }
                    try await wait(database, delivered: 100)
                }
                #expect(backend.flaws.isEmpty)
                #expect(Set(backend.order) == Set(events.ids))
                #expect(backend.order.count == 100, "nobody died: each once")
            }
        }
    }

    @Test func whatNobodyHasTakenOverYetGoesFirst() async throws {
        try await TestDatabase.with { database in
            let backend = Backend()
            try await WebhookReceiver.with(answer: { backend.answer($1) }) { _, port in
                let endpoints = [try ordered(port)]
                let loop = loop(database, endpoints, settings())
                let events = OrderedEvents(accounts: ["a"], count: 4)
                try await running([loop]) {
                    try await events.insert(database)
                    try await takeOver(database, [event("evt_a_3")], endpoints, loop.queue)
                    try await wait(database, delivered: 3)
                    try await takeOver(database, [event("evt_a_4"), event("evt_a_1")], endpoints, loop.queue)
                    try await wait(database, delivered: 4)
                }
                #expect(backend.order == (1...4).map { "evt_a_\($0)" })
            }
        }
    }

    @Test func whatIsGivenUpLetsTheNextOneGo() async throws {
        try await withDesk { (desk) async throws in
            #expect(try await desk.claim() == ["evt_a_1"])
            try await desk.record("evt_a_1", .retry(status: 500, error: "busy", after: .zero))
            #expect(try await desk.claim() == ["evt_a_1"], "it is still its turn")
            try await desk.pass("1 second")
            try await desk.endpoints.noteSuccess("backend", ifFailing: false)
            let released = try await desk.record(
                "evt_a_1", .exhausted(status: 500, error: "busy", outageDelay: .seconds(60), anew: nil))
            #expect(released == ["backend"])
            #expect(try await desk.database.delivery("evt_a_1")?.state == "abandoned")
            #expect(try await desk.claim() == ["evt_a_2"])
        }
    }

    @Test func processThatDiesLeavesItsTurnToTheLease() async throws {
        try await withDesk { (desk) async throws in
            #expect(try await desk.claim(lease: .zero) == ["evt_a_1"])
            // Nobody recorded it: it comes again, and nothing goes before it.
            #expect(try await desk.claim() == ["evt_a_1"])
            #expect(try await desk.claim() == [])
            #expect(try await desk.record("evt_a_1", .delivered(status: 200)) == ["backend"])
            #expect(try await desk.claim() == ["evt_a_2"])
        }
    }

    @Test func turnsThatOthersLeftAreMended() async throws {
        try await withDesk { (desk) async throws in
            #expect(try await desk.claim() == ["evt_a_1"])
            // As a person would by hand.
            _ = try await desk.database.pool.query(
                "UPDATE webhook_deliveries SET state = 'delivered', due_at = NULL WHERE event_id = 'evt_a_1'")
            #expect(try await desk.claim() == [])
            #expect(try await desk.store.mendTurns(endpointId: "backend", after: nil) == nil)
            #expect(try await desk.claim() == ["evt_a_2"])
        }
    }

    @Test func whateverComesBeforeABatchIsTakenOverWithItHoweverMuchThatIs() async throws {
        try await TestDatabase.with { database in
            let events = OrderedEvents(accounts: ["a", "b"], count: 9)
            try await events.insert(database)
            let store = DeliveryStore(pool: database.pool)
            let takeOver = TakeOverEvents(
                store: store, endpoints: WebhookEndpoints([try ordered(1)]),
                queue: DeliveryQueue(settings: settings(), inbox: DeliveryInbox()), lease: .seconds(60),
                predecessorsMaximum: 3)
            // The newest alone came by Kafka: of each, eight before it, and a look finds three.
            try await takeOver.takeOver(["evt_a_9", "evt_b_9"].map { event($0) })
            let turns = try await database.pool.query("SELECT event_id FROM webhook_turns ORDER BY event_id")
            #expect(try turns.rows.map { try $0.decode("event_id", as: String.self) } == events.ids.sorted())
            let claimed = try await store.claimInOrder(endpointId: "backend", limit: 20, lease: .seconds(60))
            #expect(claimed.due.map(\.eventId).sorted() == ["evt_a_1", "evt_b_1"])
        }
    }

    @Test func endpointThatIsOrderedNoLongerHasEverythingDue() async throws {
        try await withDesk { (desk) async throws in
            #expect(try await desk.claim() == ["evt_a_1"])
            try await desk.store.dropTurns(endpointIds: ["backend"])
            let due = try await desk.store.claimDue(endpointIds: ["backend"], limit: 10, lease: .seconds(60))
            #expect(due.map(\.eventId).sorted() == ["evt_a_2", "evt_a_3"])
        }
    }

    @Test func claimOfAProcessThatDoesNotKnowOfTheChangeLeavesNothingWaitingForEver() async throws {
        try await withDesk { (desk) async throws in
            let (pool, store) = (desk.database.pool, desk.store)
            #expect(try await desk.claim() == ["evt_a_1"])
            let drop = try await pool.withTransaction { connection in
                try await DeliveryStore.lock(["backend"], on: connection)
                let drop = Task { try await store.dropTurns(endpointIds: ["backend"]) }
                // It waits for the claim; the pool has no third session to ask by.
                try await waitUntil {
                    try await !connection.query(
                        """
                        SELECT 1 AS one FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (
                            SELECT oid FROM pg_database WHERE datname = current_database())
                        """
                    ).rows.isEmpty
                }
                _ = try await connection.query(
                    "UPDATE webhook_deliveries SET due_at = '9999-12-31 00:00:00+00' WHERE event_id = 'evt_a_2'")
                return drop
            }
            #expect(try await drop.value == false)
            let due = try await store.claimDue(endpointIds: ["backend"], limit: 10, lease: .seconds(60))
            #expect(due.map(\.eventId).sorted() == ["evt_a_2", "evt_a_3"])
        }
    }

    @Test func whatWaitsWithoutATurnIsDueOnceItsEndpointIsOrderedNoLonger() async throws {
        try await withDesk { (desk) async throws in
            #expect(try await desk.claim() == ["evt_a_1"])
            _ = try await desk.database.pool.query("DELETE FROM webhook_turns")
            #expect(try await desk.store.dropTurns(endpointIds: ["backend", "other"]) == false)
            let due = try await desk.store.claimDue(endpointIds: ["backend"], limit: 10, lease: .seconds(60))
            #expect(due.map(\.eventId).sorted() == ["evt_a_2", "evt_a_3"])
        }
    }

    @Test func whatIsSentAgainGoesInItsOrder() async throws {
        try await withDesk { (desk) async throws in
            for number in 1...3 {
                #expect(try await desk.claim() == ["evt_a_\(number)"])
                try await desk.record("evt_a_\(number)", .delivered(status: 200))
            }
            var selection = WebhookSelection()
            selection.state = .delivered
            _ = try await WebhookResendStore(pool: desk.database.pool).resend(
                selection, .init(limit: 10), asker: .init(actor: "test", reason: "a test"))
            let taken = try await desk.store.takeUp(endpointIds: ["backend"], limit: 10, lease: .seconds(60))
            #expect(taken.deliveries == 3)
            for number in 1...3 {
                #expect(try await desk.claim() == ["evt_a_\(number)"])
                try await desk.record("evt_a_\(number)", .delivered(status: 200))
            }
        }
    }

    /// Three events of one account, taken over for an ordered endpoint, and no process that works.
    private struct Desk {
        let database: TestDatabase
        var store: DeliveryStore { DeliveryStore(pool: database.pool) }
        var endpoints: EndpointStore { EndpointStore(pool: database.pool) }

        func claim(lease: Duration = .seconds(60)) async throws -> [String] {
            try await store.claimInOrder(endpointId: "backend", limit: 10, lease: lease).due.map(\.eventId)
        }

        @discardableResult
        func record(_ id: String, _ result: DeliveryStore.AttemptResult) async throws -> Set<String> {
            try await store.recordInOrder([
                .init(eventId: id, endpointId: "backend", result: result, attempt: nil)
            ]).released
        }

        func pass(_ interval: String) async throws { try await database.pass(interval) }
    }

    private func withDesk(_ body: (Desk) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            let events = OrderedEvents(accounts: ["a"], count: 3)
            try await events.insert(database)
            try await EndpointStore(pool: database.pool).register(["backend"])
            _ = try await DeliveryStore(pool: database.pool).takeOver(
                eventIds: events.ids,
                deliveries: events.ids.map { .init(eventId: $0, endpointId: "backend", body: nil) },
                orderedEndpointIds: ["backend"], lease: .seconds(60))
            try await body(Desk(database: database))
        }
    }
}

/// Events of accounts, numbered: `evt_ACCOUNT_NUMBER`.
struct OrderedEvents: Sendable {
    let accounts: [String]
    let count: Int

    var ids: [String] { accounts.flatMap { account in (1...count).map { "evt_\(account)_\($0)" } } }

    static func parts(of id: String) -> (account: String, number: Int)? {
        let parts = id.split(separator: "_")
        guard parts.count == 3, let number = Int(parts[2]) else { return nil }
        return (String(parts[1]), number)
    }

    /// Writes them as fulfillment does.
    func insert(_ database: TestDatabase) async throws {
        _ = try await database.pool.query(
            """
            WITH outbox AS (INSERT INTO event_outbox (event_id, due_at) SELECT id, now() FROM unnest($1::text[]) AS id)
            INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body)
            SELECT id, 'iap.transaction.fulfilled', 'production', 'com.example.game', split_part(id, '_', 2),
                split_part(id, '_', 3)::bigint, '1', '1', '{"id":"' || id || '","name":"Zoë"}'
            FROM unnest($1::text[]) AS id
            """, [.textArray(ids)])
    }
}
