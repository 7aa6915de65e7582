import Foundation
import Persistence
import Postgres
import ServerTesting
import Testing
import WebhookSigning

@testable import Notification

/// Events that are attempted as they are taken over, and those that are not.
@Suite(.enabled(if: TestDatabase.url != nil, Comment(rawValue: TestDatabase.skipComment)), .timeLimit(.minutes(2)))
struct DirectDeliveryTests: DeliverySuite {
    let secret = WebhookSecret.generate()

    /// Settings with which nothing is looked for but what the loop knows of.
    private func rarelyLooking() -> DeliverySettings {
        var settings = settings()
        settings.lookInterval = .seconds(60)
        return settings
    }

    @Test func loneEventIsAttemptedFirstAndItsDeliveryIsWrittenOnce() async throws {
        try await TestDatabase.with { database in
            try await database.countUpdatesOfDeliveries()
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port)]
                let loop = loop(database, endpoints, rarelyLooking())
                try await running([loop]) {
                    try await waitForRoom(loop)
                    // The looks for what was due, and for what was asked for again.
                    #expect(try await database.updatesOfDeliveries() == 2)
                    for number in 1...5 {
                        try await takeOver(database, ["evt_\(number)"], endpoints, by: loop)
                        try await database.waitForState("delivered", "evt_\(number)")
                    }
                    #expect(try await database.updatesOfDeliveries() == 2)
                }
                #expect(receiver.requests.map { $0.header("webhook-id") } == (1...5).map { "evt_\($0)" })
                for number in 1...5 {
                    let delivery = try #require(try await database.delivery("evt_\(number)"))
                    #expect(delivery.attempts == 1)
                    #expect(delivery.status == 200)
                }
            }
        }
    }

    @Test func traceContextOfTheMessageIsHandedOn() async throws {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port)]
                let loop = loop(database, endpoints, rarelyLooking())
                try await running([loop]) {
                    try await waitForRoom(loop)
                    try await database.insertEvents(["evt_1"])
                    try await takeOver(database, [event("evt_1", traceParent: trace)], endpoints, loop.queue)
                    await receiver.waitForRequests(1)
                }
                #expect(receiver.requests.first?.header("traceparent") == trace)
            }
        }
    }

    @Test func whatThereIsNoRoomForIsTakenByTheLoop() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port)]
                var settings = rarelyLooking()
                settings.concurrencyPerEndpoint = 2
                let loop = loop(database, endpoints, settings)
                let ids = (0..<50).map { "evt_\($0)" }
                try await running([loop]) {
                    try await waitForRoom(loop)
                    try await takeOver(database, ids, endpoints, by: loop)
                    await receiver.waitForRequests(50)
                }
                #expect(receiver.requests.count == 50)
                #expect(Set(receiver.requests.map { $0.header("webhook-id") }) == Set(ids))
                let open = try await database.pool.query(
                    "SELECT event_id FROM webhook_deliveries WHERE state <> 'delivered' OR attempts <> 1")
                #expect(open.rows.isEmpty)
            }
        }
    }

    @Test func eventThatIsTakenOverAgainIsAttemptedOnce() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port)]
                let loops = [
                    loop(database, endpoints, rarelyLooking()), loop(database, endpoints, rarelyLooking()),
                ]
                let ids = (0..<20).map { "evt_\($0)" }
                try await running(loops) {
                    for loop in loops { try await waitForRoom(loop) }
                    try await database.insertEvents(ids)
                    let events = ids.map { event($0) }
                    // Two processes at the same time, and the first once more.
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for loop in loops + [loops[0]] {
                            group.addTask { try await takeOver(database, events, endpoints, loop.queue) }
                        }
                        try await group.waitForAll()
                    }
                    await receiver.waitForRequests(20)
                    for id in ids { try await database.waitForState("delivered", id) }
                    // The room of what others had taken over was given back.
                    for loop in loops { try await waitUntil { loop.queue.withBoard { $0.isIdle } } }
                }
                #expect(receiver.requests.count == 20)
            }
        }
    }

    @Test func bytesThatAreNotTheStoredOnesAreNotSent() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port)]
                let loop = loop(database, endpoints, rarelyLooking())
                try await running([loop]) {
                    try await waitForRoom(loop)
                    try await database.insertEvents(["evt_1"])
                    let forged = event("evt_1", body: #"{"id":"evt_1","name":"Zoe"}"#)
                    try await takeOver(database, [forged, event("evt_unknown")], endpoints, loop.queue)
                    await receiver.waitForRequests(1)
                }
                #expect(receiver.requests.map(\.body) == [Array(#"{"id":"evt_1","name":"Zoë"}"#.utf8)])
                #expect(try await database.delivery("evt_1")?.attempts == 1)
                #expect(try await database.delivery("evt_unknown") == nil)
            }
        }
    }

    @Test func endpointThatIsSwitchedOffIsNotAttempted() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port), try endpoint(port, id: "other")]
                let store = EndpointStore(pool: database.pool)
                try await store.register(["backend"])
                try await store.disable("backend", reason: "a test")
                let loop = loop(database, endpoints, rarelyLooking())
                try await running([loop]) {
                    try await waitForRoom(loop, ["other"])
                    try await takeOver(database, ["evt_1"], endpoints, by: loop)
                    await receiver.waitForRequests(1)
                }
                #expect(receiver.requests.map(\.uri) == ["/other"])
                let delivery = try #require(try await database.delivery("evt_1"))
                #expect(delivery.state == "pending")
                #expect(delivery.attempts == 0)
                #expect(try #require(delivery.secondsUntilDue) <= 0)
            }
        }
    }

    @Test func endpointThatAskedToBeLeftAloneIsNotAttempted() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(
                answer: { $1.uri == "/backend" ? .status(503, headers: [("retry-after", "1000")]) : .status(200) }
            ) { receiver, port in
                let endpoints = [try endpoint(port), try endpoint(port, id: "other", events: ["iap.refund.*"])]
                let loop = loop(database, endpoints, rarelyLooking())
                try await running([loop]) {
                    try await waitForRoom(loop, ["backend", "other"])
                    try await takeOver(database, ["evt_1"], endpoints, by: loop)
                    try await waitUntil { try await database.delivery("evt_1")?.status != nil }
                    try await takeOver(database, ["evt_2"], type: "iap.refund.granted", endpoints, by: loop)
                    await receiver.waitForRequests(2)
                }
                #expect(receiver.requests.map(\.uri) == ["/backend", "/other"])
                #expect(try await database.delivery("evt_1")?.attempts == 1)
                #expect(try await database.delivery("evt_2")?.attempts == 0)
            }
        }
    }

    @Test func processThatDiesBeforeTheAttemptLeavesItToTheLease() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port)]
                try await database.insertEvents(["evt_1"])
                // The row comes first, as for an event that was claimed before.
                _ = try await DeliveryStore(pool: database.pool).takeOver(
                    eventIds: ["evt_1"],
                    deliveries: [.init(eventId: "evt_1", endpointId: "backend", body: event("evt_1").body)],
                    lease: .seconds(1))
                let leased = try #require(try await database.delivery("evt_1"))
                #expect(leased.attempts == 1)
                #expect(try #require(leased.secondsUntilDue) > 0)
                // Kafka brings it to the next process, which leaves it alone until the lease has run out.
                let loop = loop(database, endpoints, rarelyLooking())
                try await running([loop]) {
                    try await waitForRoom(loop)
                    try await takeOver(database, [event("evt_1")], endpoints, loop.queue)
                    await receiver.waitForRequests(1)
                }
                #expect(receiver.requests.count == 1)
                let delivery = try #require(try await database.delivery("evt_1"))
                #expect(delivery.state == "delivered")
                #expect(delivery.attempts == 2)
            }
        }
    }

    @Test func eventThatFailsComesAgainByTheLoop() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { index, _ in .status(index == 0 ? 500 : 200) }) { receiver, port in
                let endpoints = [try endpoint(port)]
                var settings = settings([.milliseconds(200)])
                settings.lookInterval = .seconds(60)
                let loop = loop(database, endpoints, settings)
                try await running([loop]) {
                    try await waitForRoom(loop)
                    try await takeOver(database, ["evt_1"], endpoints, by: loop)
                    await receiver.waitForRequests(2)
                }
                #expect(receiver.requests.map(\.body) == [event("evt_1").body, event("evt_1").body])
                #expect(try await database.delivery("evt_1")?.attempts == 2)
            }
        }
    }
}
