import Foundation
import Persistence
import Postgres
import ServerTesting
import Testing
import WebhookSigning

@testable import Notification

/// Events that are posted before their deliveries have rows: at every point where a process may die.
@Suite(.enabled(if: TestDatabase.url != nil, Comment(rawValue: TestDatabase.skipComment)), .timeLimit(.minutes(2)))
struct ClaimedEventTests: DeliverySuite {
    let secret = WebhookSecret.generate()

    private func rarelyLooking() -> DeliverySettings {
        var settings = settings()
        settings.lookInterval = .seconds(60)
        return settings
    }

    /// A queue of a process that has room and dies: nobody attempts what it is handed.
    private func dyingQueue() -> DeliveryQueue {
        let queue = DeliveryQueue(settings: settings(), inbox: DeliveryInbox())
        queue.withBoard { board in
            board.start()
            board.follow(["backend"])
            board.endClaim("backend", room: board.beginClaim("backend"), found: 0)
        }
        return queue
    }

    /// Who claimed it, and what fulfillment would do with it.
    private func outbox(_ database: TestDatabase) async throws -> (count: Int, claimed: Int) {
        let result = try await database.pool.query(
            "SELECT count(*) AS count, count(*) FILTER (WHERE claimed_until > now()) AS claimed FROM event_outbox")
        return (try result.rows[0].decode("count"), try result.rows[0].decode("claimed"))
    }

    private func endClaims(_ database: TestDatabase) async throws {
        _ = try await database.pool.query("UPDATE event_outbox SET claimed_until = now() WHERE claimed_until > now()")
    }

    @Test func nothingIsWrittenUntilTheAnswerIsThere() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { _, _ in .hang }) { receiver, port in
                let endpoints = [try endpoint(port)]
                var settings = rarelyLooking()
                settings.timeout = .seconds(1)
                let loop = loop(database, endpoints, settings)
                try await running([loop]) {
                    try await waitForRoom(loop)
                    try await takeOver(database, ["evt_1"], endpoints, by: loop)
                    await receiver.waitForRequests(1)
                    #expect(try await database.delivery("evt_1") == nil)
                    #expect(try await outbox(database) == (1, 1))
                    try await database.waitForState("pending", "evt_1")
                }
                // It failed: the row is there, is tried again, and the event is taken over.
                let delivery = try #require(try await database.delivery("evt_1"))
                #expect(delivery.attempts == 1 && delivery.error != nil)
                #expect(try #require(delivery.secondsUntilDue) > 50)
                #expect(try await outbox(database).count == 0)
                let attempts = try await database.pool.query("SELECT attempt FROM webhook_attempts")
                #expect(attempts.rows.count == 1)
            }
        }
    }

    @Test func processThatDiesBeforeThePostLeavesItToTheClaim() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port)]
                try await database.insertEvents(["evt_1"])
                try await takeOver(database, [event("evt_1")], endpoints, dyingQueue())
                #expect(try await outbox(database) == (1, 1))
                let loop = loop(database, endpoints, rarelyLooking())
                try await running([loop]) {
                    try await waitForRoom(loop)
                    // Kafka brings it to the next process, which leaves it alone while the claim lasts.
                    try await takeOver(database, [event("evt_1")], endpoints, loop.queue)
                    try await waitUntil { loop.queue.withBoard { $0.isIdle } }
                    #expect(try await database.delivery("evt_1") == nil)
                    #expect(try await outbox(database) == (1, 1))
                    try await endClaims(database)
                    try await takeOver(database, [event("evt_1")], endpoints, loop.queue)
                    await receiver.waitForRequests(1)
                }
                #expect(receiver.requests.map { $0.header("webhook-id") } == ["evt_1"])
                #expect(try await database.delivery("evt_1")?.state == "delivered")
                #expect(try await outbox(database).count == 0)
            }
        }
    }

    @Test func processThatDiesBetweenAnswerAndRecordSendsItAgainWithTheSameId() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port)]
                let dying = loop(database, endpoints, rarelyLooking())
                let dies = Task { try await running([dying]) { try await waitUntil { Task.isCancelled } } }
                try await waitForRoom(dying)
                try await database.pool.withTransaction { connection in
                    // No record gets through until the process is dead.
                    _ = try await connection.query("LOCK TABLE webhook_attempts IN ACCESS EXCLUSIVE MODE")
                    try await takeOver(database, ["evt_1"], endpoints, by: dying)
                    await receiver.waitForRequests(1)
                    dies.cancel()
                    _ = await dies.result
                }
                #expect(try await database.delivery("evt_1") == nil)
                #expect(try await outbox(database) == (1, 1))
                let loop = loop(database, endpoints, rarelyLooking())
                try await running([loop]) {
                    try await waitForRoom(loop)
                    try await endClaims(database)
                    try await takeOver(database, [event("evt_1")], endpoints, loop.queue)
                    await receiver.waitForRequests(2)
                }
                #expect(receiver.requests.map { $0.header("webhook-id") } == ["evt_1", "evt_1"])
                #expect(receiver.requests[0].body == receiver.requests[1].body)
                #expect(try await database.delivery("evt_1")?.state == "delivered")
            }
        }
    }

    @Test func eventStaysInTheOutboxUntilItsLastEndpointIsRecorded() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { $1.uri == "/slow" ? .hang : .status(200) }) { receiver, port in
                let endpoints = [try endpoint(port), try endpoint(port, id: "slow")]
                var settings = rarelyLooking()
                settings.timeout = .seconds(2)
                let loop = loop(database, endpoints, settings)
                try await running([loop]) {
                    try await waitForRoom(loop, ["backend", "slow"])
                    try await takeOver(database, ["evt_1"], endpoints, by: loop)
                    try await database.waitForState("delivered", "evt_1")
                    #expect(try await database.delivery("evt_1", "slow") == nil)
                    #expect(try await outbox(database) == (1, 1))
                    try await waitUntil { try await database.delivery("evt_1", "slow") != nil }
                    #expect(try await outbox(database).count == 0)
                }
                #expect(try await database.delivery("evt_1", "slow")?.state == "pending")
                #expect(receiver.requests.count == 2)
            }
        }
    }

    @Test func whatOneOfTwoEndpointsHasIsNotSentToItAgain() async throws {
        try await TestDatabase.with { database in
            let store = DeliveryStore(pool: database.pool)
            try await database.insertEvents(["evt_1"])
            _ = try await store.claim([(id: "evt_1", body: event("evt_1").body ?? [])], lease: .seconds(60))
            _ = try await store.record(first: [first("evt_1")], completing: [])
            try await endClaims(database)
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port), try endpoint(port, id: "other")]
                let loop = loop(database, endpoints, rarelyLooking())
                try await running([loop]) {
                    try await waitForRoom(loop, ["backend", "other"])
                    try await takeOver(database, [event("evt_1")], endpoints, loop.queue)
                    try await waitUntil { try await database.delivery("evt_1", "other")?.state == "delivered" }
                }
                #expect(receiver.requests.map(\.uri) == ["/other"])
                #expect(try await outbox(database).count == 0)
            }
        }
    }

    @Test func orderedEndpointHasItsTurnBesideAClaim() async throws {
        try await TestDatabase.with { database in
            let store = DeliveryStore(pool: database.pool)
            try await OrderedEvents(accounts: ["a"], count: 2).insert(database)
            // Its process did not know of the ordered endpoint yet.
            _ = try await store.claim([(id: "evt_a_1", body: event("evt_a_1").body ?? [])], lease: .seconds(60))
            let made = try await store.takeOver(
                eventIds: ["evt_a_1", "evt_a_2"],
                deliveries: ["evt_a_1", "evt_a_2"].flatMap { id in
                    ["ordered", "other"].map { .init(eventId: id, endpointId: $0, body: nil) }
                }, orderedEndpointIds: ["ordered"], lease: .seconds(60))
            #expect(
                made.map { "\($0.eventId) \($0.endpointId)" }.sorted()
                    == ["evt_a_1 ordered", "evt_a_2 ordered", "evt_a_2 other"])
            #expect(try await outbox(database) == (1, 1))
            let claimed = try await store.claimInOrder(endpointId: "ordered", limit: 10, lease: .seconds(60))
            #expect(claimed.due.map(\.eventId) == ["evt_a_1"])
            _ = try await store.record(first: [first("evt_a_1", "other")], completing: ["evt_a_1"])
            #expect(try await outbox(database).count == 0)
        }
    }

    private func first(
        _ id: String, _ endpointId: String = "backend", _ result: DeliveryStore.AttemptResult = .delivered(status: 200)
    ) -> DeliveryStore.First {
        .init(
            ended: .init(
                eventId: id, endpointId: endpointId, result: result,
                attempt: .init(number: 1, beganAt: .now, duration: .milliseconds(3), answer: nil)), claimedAt: .now)
    }

    @Test func claimIsGivenOnceAndForTheStoredBytes() async throws {
        try await TestDatabase.with { database in
            let store = DeliveryStore(pool: database.pool)
            let ids = (1...50).map { "evt_\($0)" }
            try await database.insertEvents(ids)
            let asked = ids.map { (id: $0, body: event($0).body ?? []) }
            let claims = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 1...4 { group.addTask { Array(try await store.claim(asked, lease: .seconds(60)).keys) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(claims.sorted() == ids.sorted(), "each once")
            try await endClaims(database)
            #expect(try await store.claim(asked, lease: .seconds(60)).isEmpty, "once in its life")
            try await database.insertEvents(["evt_a", "evt_b"])
            let others = [(id: "evt_a", body: Array("{}".utf8)), (id: "evt_unknown", body: Array("{}".utf8))]
            #expect(try await store.claim(others, lease: .seconds(60)).isEmpty)
            _ = try await store.takeOver(eventIds: ["evt_b"], deliveries: [], lease: .seconds(60))
            #expect(
                try await store.claim([(id: "evt_b", body: event("evt_b").body ?? [])], lease: .seconds(60)).isEmpty)
            let hurried = try await database.pool.query("SHOW synchronous_commit").rows[0]
            #expect(try hurried.decode(String.self) == "on", "the claim alone does not wait for the disk")
        }
    }

    @Test func firstAttemptsAreWrittenAsTheyEndedAndARepetitionChangesNothing() async throws {
        try await TestDatabase.with { database in
            let store = DeliveryStore(pool: database.pool)
            let ids = ["evt_1", "evt_2", "evt_3"]
            try await database.insertEvents(ids)
            _ = try await store.claim(ids.map { ($0, event($0).body ?? []) }, lease: .seconds(60))
            let attempts = [
                first("evt_1"), first("evt_2", "backend", .retry(status: 500, error: "busy", after: .seconds(5))),
                first(
                    "evt_3", "backend",
                    .exhausted(status: nil, error: "refused", outageDelay: .seconds(60), anew: nil)),
            ]
            let recorded = try await store.record(first: attempts, completing: ids)
            #expect(recorded.filter(\.isPending).map(\.eventId).sorted() == ["evt_2", "evt_3"])
            #expect(recorded.filter(\.waitsForEndpoint).map(\.eventId) == ["evt_3"])
            #expect(try await database.states() == ["delivered": 1, "pending": 2])
            #expect(try await outbox(database).count == 0)
            #expect(try await store.record(first: attempts, completing: ids).isEmpty)
            let rows = try await database.pool.query(
                "SELECT event_id FROM webhook_attempts WHERE (status IS NULL) = (error IS NOT NULL)")
            #expect(rows.rows.count == 3)
            let delivery = try #require(try await database.delivery("evt_3"))
            #expect(delivery.attempts == 1 && delivery.error == "refused")
        }
    }
}
