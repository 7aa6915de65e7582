import Foundation
import Logging
import Postgres
import ServerTesting
import Synchronization
import Testing
import WebhookSigning

@testable import Notification
@testable import Persistence

/// Endpoints that take nothing for days, with the schedule and the limits that are the default; an hour passes at a time.
@Suite(.enabled(if: TestDatabase.url != nil, Comment(rawValue: TestDatabase.skipComment)), .timeLimit(.minutes(3)))
struct OutageTests: DeliverySuite {
    let secret = WebhookSecret.generate()

    /// A backend that is up or down, and knows what it took.
    private final class Backend: Sendable {
        private let state = Mutex((isUp: true, taken: [String]()))

        var taken: [String] { state.withLock { $0.taken } }

        func set(isUp: Bool) { state.withLock { $0.isUp = isUp } }

        func answer(_ request: WebhookReceiver.Request) -> WebhookReceiver.Answer {
            state.withLock { state in
                guard state.isUp else { return .status(502) }
                state.taken.append(request.header("webhook-id"))
                return .status(200)
            }
        }
    }

    /// The defaults; only the lease is so long that what is leased can be told from what waits, and the looks are quick.
    private func settings(concurrency: Int) -> DeliverySettings {
        var settings = DeliverySettings()
        settings.lease = .seconds(30 * 86_400)
        settings.lookInterval = .milliseconds(20)
        settings.concurrencyPerEndpoint = concurrency
        // These two are of the process's own clock, which passes no hour here.
        settings.breaker.pauseMaximum = .milliseconds(1)
        settings.disableConfirmation = .zero
        return settings
    }

    /// Takes an event over, with a lease that can be told from a retry.
    private func tell(
        _ id: String, _ database: TestDatabase, _ endpoints: [WebhookEndpoint], _ loop: DeliverWebhooks
    ) async throws {
        try await database.insertEvents([id])
        try await takeOver(
            database, [event(id)], endpoints, loop.queue, lease: settings(concurrency: 1).lease)
    }

    /// Returns once nothing is due and nothing is being tried.
    private func settle(_ database: TestDatabase) async throws {
        try await waitUntil {
            try await database.pool.query(
                """
                SELECT 1 AS one FROM webhook_deliveries
                WHERE state = 'pending' AND (due_at <= now() OR due_at > now() + interval '20 days')
                UNION ALL SELECT 1 AS one FROM event_outbox LIMIT 1
                """
            ).rows.isEmpty
        }
    }

    private func id(_ hour: Int) -> String { "evt_\(hour + 1_000)" }

    @Test func nothingOfAnOutageOfFourDaysIsGivenUp() async throws {
        try await TestDatabase.with { database in
            let backend = Backend()
            try await WebhookReceiver.with(answer: { backend.answer($1) }) { _, port in
                let endpoints = [try endpoint(port)]
                let loop = loop(database, endpoints, settings(concurrency: 16))
                let hours = Array(stride(from: 0, to: 96, by: 6))
                try await running([loop]) {
                    try await takeOver(database, ["evt_before"], endpoints, by: loop)
                    try await database.waitForState("delivered", "evt_before")
                    backend.set(isUp: false)
                    for hour in 0..<96 {
                        if hours.contains(hour) { try await tell(id(hour), database, endpoints, loop) }
                        try await settle(database)
                        #expect(try await database.states()["abandoned"] == nil, "after \(hour) hours")
                        try await database.pass("1 hour")
                    }
                    try await settle(database)
                    // The first day's schedule is used up: without an outage it would have been given up.
                    let first = try #require(try await database.delivery(id(0)))
                    #expect(first.attempts >= 10)
                    let closed = try await EndpointStore(pool: database.pool).closed(among: ["backend"])
                    #expect(closed == .init(disabled: [], resuming: []), "four days are less than five")
                    backend.set(isUp: true)
                    for _ in 0..<27 {
                        try await database.pass("1 hour")
                        try await settle(database)
                    }
                }
                #expect(try await database.states() == ["delivered": hours.count + 1])
                #expect(backend.taken.sorted() == hours.map(id) + ["evt_before"], "each once")
            }
        }
    }

    @Test func endpointIsSwitchedOffBeforeAnythingIsGivenUpAndHasAllOfItOnceItIsOnAgain() async throws {
        try await TestDatabase.with { database in
            let backend = Backend()
            try await WebhookReceiver.with(
                answer: { $1.uri == "/other" ? .status(200) : backend.answer($1) }
            ) { receiver, port in
                let endpoints = [try endpoint(port), try endpoint(port, id: "other", events: ["iap.refund.*"])]
                let store = EndpointStore(pool: database.pool)
                // One at a time, so that their order is theirs.
                let later = loop(database, endpoints, settings(concurrency: 1))
                let loop = loop(database, endpoints, settings(concurrency: 1))
                backend.set(isUp: false)
                try await running([loop]) {
                    var hour = 0
                    while try await store.closed(among: ["backend"]).disabled.isEmpty {
                        if hour.isMultiple(of: 12) { try await tell(id(hour), database, endpoints, loop) }
                        try await settle(database, unless: store)
                        #expect(try await database.states()["abandoned"] == nil, "after \(hour) hours")
                        try #require(hour < 200)
                        hour += 1
                        try await database.pass("1 hour")
                    }
                    #expect(hour >= 120, "five days")
                }
                let ids = try await ofBackend(database)
                #expect(ids.count >= 11)
                let attempts = receiver.requests.count
                try await database.pass("1 day")
                try await running([later]) {
                    // While it is off: it waits, and the other endpoint shows that the loop has looked.
                    try await takeOver(database, ["evt_9999"], type: "iap.refund.granted", endpoints)
                    try await waitUntil { try await database.delivery("evt_9999", "other")?.state == "delivered" }
                    try await database.pass("1 day")
                    #expect(receiver.requests.count == attempts + 1)
                    #expect(try await database.states() == ["pending": ids.count + 1, "delivered": 1])
                    backend.set(isUp: true)
                    #expect(try await store.enable("backend", actor: "ada", reason: "it is mended") != nil)
                    try await waitUntil { try await database.states()["pending"] == nil }
                }
                #expect(backend.taken == ids + ["evt_9999"], "each once, the oldest first")
                #expect(try await store.closed(among: ["backend"]) == .init(disabled: [], resuming: []))
                let audit = try await database.pool.query("SELECT actor, action, subject, reason FROM audit_log").rows
                #expect(try audit.map { try $0.decode("action", as: String.self) } == ["enable_endpoint"])
                #expect(try await store.enable("backend", actor: "ada", reason: "again") == nil, "it is on")
            }
        }
    }

    private func health(_ database: TestDatabase) -> EndpointHealth {
        EndpointHealth(
            store: EndpointStore(pool: database.pool), settings: DeliverySettings(),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    private func attempt(_ number: Int, _ status: Int) throws -> [DeliveryInbox.Finished] {
        let verdict = DeliveryVerdict(
            .answered(status: status, excerpt: "", retryAfter: nil), attempts: number, schedule: .standardWebhooks,
            chance: 0)
        let delivery = LeasedDelivery(
            due: .init(eventId: "evt_1", endpointId: "backend", attempts: number - 1, body: [], createdAt: Date()),
            endpoint: try endpoint(1), traceParent: nil, leasedAt: .now)
        return [.init(delivery, .init(beganAt: Date(), duration: .zero, answer: nil, verdict: verdict))]
    }

    @Test func successOfARetryEndsWhatAnotherProcessHasNoted() async throws {
        try await TestDatabase.with { database in
            let store = EndpointStore(pool: database.pool)
            try await store.register(["backend"])
            func failingSince() async throws -> Date? {
                try await store.states(of: ["backend"])["backend"]?.failingSince
            }
            var (one, other) = (health(database), health(database))
            _ = try await one.note(attempt(1, 200))
            _ = try await other.note(attempt(1, 500))
            #expect(try await failingSince() != nil)
            _ = try await one.note(attempt(2, 200))
            #expect(try await failingSince() == nil)
        }
    }

    @Test func singleFailureLongAfterAnotherDoesNotSwitchOff() async throws {
        try await TestDatabase.with { database in
            try await EndpointStore(pool: database.pool).register(["backend"])
            var health = health(database)
            func failure(afterHours hours: Double) async throws -> Set<String> {
                try await health.note(attempt(1, 500), now: Date(timeIntervalSinceNow: hours * 3_600))
            }
            // The first could be of a delivery that was given up: nobody tries it again.
            for hours in [0, 144, 144.9] { #expect(try await failure(afterHours: hours) == []) }
            // Of another process, a success and a failure.
            _ = try await database.pool.query(
                "UPDATE webhook_endpoints SET failing_since = now() + interval '145 hours'")
            for hours in [146, 288, 288.9] { #expect(try await failure(afterHours: hours) == []) }
            #expect(try await failure(afterHours: 289.1) == ["backend"])
        }
    }

    /// Returns once nothing is due and nothing is being tried, or the endpoint is off.
    private func settle(_ database: TestDatabase, unless store: EndpointStore) async throws {
        try await waitUntil {
            if try await !store.closed(among: ["backend"]).disabled.isEmpty { return true }
            return try await database.pool.query(
                """
                SELECT 1 AS one FROM webhook_deliveries
                WHERE state = 'pending' AND (due_at <= now() OR due_at > now() + interval '20 days')
                UNION ALL SELECT 1 AS one FROM event_outbox LIMIT 1
                """
            ).rows.isEmpty
        }
    }

    private func ofBackend(_ database: TestDatabase) async throws -> [String] {
        try await database.pool.query(
            "SELECT event_id FROM webhook_deliveries WHERE endpoint_id = 'backend' ORDER BY event_id"
        ).rows.map { try $0.decode("event_id") }
    }
}
