import Foundation
import Postgres
import ServerTesting
import Testing
import WebhookSigning

@testable import Notification
@testable import Persistence

/// The delivery loop against a real database and a real HTTP server.
@Suite(.enabled(if: TestDatabase.url != nil, Comment(rawValue: TestDatabase.skipComment)), .timeLimit(.minutes(2)))
struct DeliverWebhooksTests: DeliverySuite {
    let secret = WebhookSecret.generate()

    @Test func endpointsOfAFileThatChangesAreFollowed() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { first, firstPort in
                try await WebhookReceiver.with { second, secondPort in
                    let endpoints = WebhookEndpoints([])
                    let loop = loop(database, endpoints, settings())
                    try await running([loop]) {
                        for (number, (receiver, port)) in [(first, firstPort), (second, secondPort)].enumerated() {
                            endpoints.use([try endpoint(port)])
                            loop.wake(Set(endpoints.all.map(\.id)))
                            try await takeOver(database, ["evt_\(number)"], endpoints.all, by: loop)
                            await receiver.waitForRequests(1)
                        }
                    }
                    #expect(first.requests.count == 1 && second.requests.count == 1)
                }
            }
        }
    }

    @Test func eventIsTakenOverAndDeliveredOnceWithAValidSignature() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port), try endpoint(port, id: "refunds", events: ["iap.refund.*"])]
                let loop = loop(database, endpoints, settings())
                try await running([loop]) {
                    // While the loop sleeps: the take-over wakes it.
                    try await takeOver(database, ["evt_1"], endpoints, by: loop)
                    await receiver.waitForRequests(1)
                }
                let request = try #require(receiver.requests.first)
                #expect(receiver.requests.count == 1)
                #expect(request.uri == "/backend")
                #expect(request.body == Array(#"{"id":"evt_1","name":"Zoë"}"#.utf8))
                #expect(request.header("webhook-id") == "evt_1")
                #expect(request.header("content-type") == "application/json; charset=utf-8")
                #expect(request.header("user-agent") == "countersign/test")
                try WebhookVerifier(secrets: [secret]).verify(
                    id: request.header("webhook-id"), timestamp: request.header("webhook-timestamp"),
                    signature: request.header("webhook-signature"), body: request.body, now: Date())
                let delivery = try #require(try await database.delivery("evt_1"))
                #expect(delivery.state == "delivered")
                #expect(delivery.attempts == 1)
                #expect(delivery.status == 200)
                #expect(try await database.delivery("evt_1", "refunds") == nil)
                let due = try await database.pool.query("SELECT 1 AS one FROM event_outbox")
                #expect(due.rows.isEmpty)
            }
        }
    }

    @Test func failedDeliveryComesAgainWithTheSameIdAndBody() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(
                answer: { index, _ in index == 0 ? .status(500, body: "oops") : .status(204) }
            ) { receiver, port in
                let endpoints = [try endpoint(port)]
                try await takeOver(database, ["evt_1"], endpoints)
                try await running([loop(database, endpoints, settings([.milliseconds(200)]))]) {
                    await receiver.waitForRequests(2)
                }
                let ids = receiver.requests.map { $0.header("webhook-id") }
                #expect(ids == ["evt_1", "evt_1"])
                #expect(receiver.requests[0].body == receiver.requests[1].body)
                let delivery = try #require(try await database.delivery("evt_1"))
                #expect(delivery.state == "delivered")
                #expect(delivery.attempts == 2)
            }
        }
    }

    @Test func whatFailsAloneIsGivenUpAndKeepsTheReason() async throws {
        try await TestDatabase.with { database in
            let broken = WebhookReceiver.Answer.status(500, body: "broken\u{0}here")
            try await WebhookReceiver.with(
                answer: { $1.header("webhook-id") == "evt_bad" ? broken : .status(200) }
            ) { receiver, port in
                let endpoints = [try endpoint(port)]
                try await takeOver(database, ["evt_bad"], endpoints)
                var settings = settings()
                settings.schedule = RetrySchedule(
                    delays: [.milliseconds(100)], outageDelayMinimum: .milliseconds(100))
                let loop = loop(database, endpoints, settings)
                try await running([loop]) {
                    // Alone, nobody knows whose fault it is.
                    await receiver.waitForRequests(4)
                    #expect(try await database.delivery("evt_bad")?.state == "pending")
                    var number = 0
                    while try await database.delivery("evt_bad")?.state == "pending" {
                        number += 1
                        try await takeOver(database, ["evt_\(number)"], endpoints, by: loop)
                        try await database.waitForState("delivered", "evt_\(number)")
                    }
                }
                let delivery = try #require(try await database.delivery("evt_bad"))
                #expect(delivery.state == "abandoned")
                #expect(delivery.error == "status 500: broken here")
                #expect(delivery.secondsUntilDue == nil)
            }
        }
    }

    @Test func goneSwitchesTheEndpointOffAndKeepsItsDeliveries() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { $1.uri == "/backend" ? .status(410) : .status(200) }) {
                receiver, port in
                let endpoints = [try endpoint(port), try endpoint(port, id: "other", events: ["iap.refund.*"])]
                try await takeOver(database, ["evt_1"], endpoints)
                try await running([loop(database, endpoints, settings([.zero]))]) { await receiver.waitForRequests(1) }
                let store = EndpointStore(pool: database.pool)
                let closed = EndpointStore.Closed(disabled: ["backend"], resuming: [])
                #expect(try await store.closed(among: ["backend", "other"]) == closed)
                // The delivery is due at once, and the other endpoint shows that the loop has looked.
                try await takeOver(database, ["evt_2"], type: "iap.refund.granted", endpoints)
                try await running([loop(database, endpoints, settings([.zero]))]) { await receiver.waitForRequests(2) }
                #expect(receiver.requests.map(\.uri) == ["/backend", "/other"])
                #expect(try await database.delivery("evt_1")?.state == "pending")
                #expect(try await database.delivery("evt_2")?.state == "pending")
                #expect(try await database.delivery("evt_2", "other")?.state == "delivered")
            }
        }
    }

    @Test func daysOfNothingButFailureSwitchTheEndpointOff() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { _, _ in .status(500) }) { receiver, port in
                let endpoints = [try endpoint(port)]
                try await takeOver(database, ["evt_1"], endpoints)
                let store = EndpointStore(pool: database.pool)
                try await store.register(["backend"])
                _ = try await database.pool.query(
                    "UPDATE webhook_endpoints SET failing_since = now() - interval '5 days 1 minute'")
                var settings = settings([.zero])
                settings.disableConfirmation = .zero
                try await running([loop(database, endpoints, settings)]) { await receiver.waitForRequests(2) }
                #expect(try await store.closed(among: ["backend"]).disabled == ["backend"])
            }
        }
    }

    @Test func redirectIsAFailureAndNotFollowed() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { _, _ in .status(302, headers: [("location", "/elsewhere")]) }) {
                receiver, port in
                let endpoints = [try endpoint(port)]
                try await takeOver(database, ["evt_1"], endpoints)
                let store = DeliveryStore(pool: database.pool)
                let waiting = try #require(try await store.waiting()["backend"])
                #expect(waiting.count == 1 && waiting.failingAge == 0)
                try await running([loop(database, endpoints, settings())]) { await receiver.waitForRequests(1) }
                #expect(try #require(try await store.waiting()["backend"]).failingAge > 0)
                #expect(receiver.requests.map(\.uri) == ["/backend"])
                let delivery = try #require(try await database.delivery("evt_1"))
                #expect(delivery.state == "pending")
                #expect(delivery.status == 302)
                #expect(try #require(delivery.secondsUntilDue) > 50)
            }
        }
    }

    @Test(arguments: [WebhookReceiver.Answer.hang, .hangAfterHead, .close])
    func endpointWithoutAnAnswerIsTriedAgain(answer: WebhookReceiver.Answer) async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { index, _ in index == 0 ? answer : .status(200) }) {
                receiver, port in
                let endpoints = [try endpoint(port)]
                var settings = settings([.zero])
                settings.timeout = .milliseconds(500)
                try await takeOver(database, ["evt_1"], endpoints)
                try await running([loop(database, endpoints, settings)]) { await receiver.waitForRequests(2) }
                let delivery = try #require(try await database.delivery("evt_1"))
                #expect(delivery.state == "delivered")
                #expect(delivery.attempts == 2)
            }
        }
    }

    @Test func retryAfterIsHonoured() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { _, _ in .status(429, headers: [("retry-after", "1000")]) }) {
                receiver, port in
                let endpoints = [try endpoint(port)]
                try await takeOver(database, ["evt_1"], endpoints)
                try await running([loop(database, endpoints, settings())]) { await receiver.waitForRequests(1) }
                let delivery = try #require(try await database.delivery("evt_1"))
                #expect((900...1_000).contains(try #require(delivery.secondsUntilDue)))
            }
        }
    }

    @Test func twoLoopsOnOneDatabaseSendEachDeliveryOnce() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = [try endpoint(port)]
                let ids = (0..<500).map { "evt_\($0)" }
                try await takeOver(database, ids, endpoints)
                let loops = [loop(database, endpoints, settings()), loop(database, endpoints, settings())]
                try await running(loops) { await receiver.waitForRequests(500) }
                #expect(receiver.requests.count == 500)
                #expect(Set(receiver.requests.map { $0.header("webhook-id") }) == Set(ids))
                let open = try await database.pool.query(
                    "SELECT event_id FROM webhook_deliveries WHERE state <> 'delivered' OR attempts <> 1")
                #expect(open.rows.isEmpty)
            }
        }
    }

    @Test func slowEndpointDoesNotHoldUpAnother() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { $1.uri == "/slow" ? .hang : .status(200) }) { receiver, port in
                let endpoints = [try endpoint(port, id: "slow"), try endpoint(port, id: "fast")]
                try await takeOver(database, (0..<100).map { "evt_\($0)" }, endpoints)
                var settings = settings()
                settings.timeout = .seconds(3)
                settings.concurrencyPerEndpoint = 4
                try await running([loop(database, endpoints, settings)]) { await receiver.waitForRequests(104) }
                // Four attempts to the slow one may begin per time-out; the fast one had all of its hundred meanwhile.
                let fast = receiver.requests.count { $0.uri == "/fast" }
                #expect(fast == 100)
            }
        }
    }
}
