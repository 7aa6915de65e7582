import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel
import ServerTesting
import Testing
import WebhookSigning

@testable import Notification

/// Webhooks that somebody asks for again: which are meant, and that they come as they came before.
@Suite(.enabled(if: TestDatabase.url != nil, Comment(rawValue: TestDatabase.skipComment)), .timeLimit(.minutes(2)))
struct ResendTests: DeliverySuite {
    let secret = WebhookSecret.generate()
    private let asker = WebhookResendStore.Asker(actor: "ada", reason: "the backend was restored")

    /// A delivery that a selection may mean.
    private struct Row: Sendable {
        let name: String
        let hoursAgo: Double
        var type = "iap.transaction.fulfilled"
        var app = "com.example.game"
        var environment = "production"
        var account: String? = "alice"
        var endpoint = "backend"
        var state = "abandoned"
    }

    private static let rows = [
        Row(name: "old", hoursAgo: 50), Row(name: "refund", hoursAgo: 40, type: "iap.refund.granted"),
        Row(name: "other app", hoursAgo: 30, app: "com.example.other"),
        Row(name: "sandbox", hoursAgo: 20, environment: "sandbox"), Row(name: "bob's", hoursAgo: 10, account: "bob"),
        Row(name: "nobody's", hoursAgo: 9, account: nil), Row(name: "stats", hoursAgo: 8, endpoint: "stats"),
        Row(name: "taken", hoursAgo: 7, state: "delivered"), Row(name: "waiting", hoursAgo: 6, state: "pending"),
        Row(name: "new", hoursAgo: 1),
    ]

    /// Writes the rows.
    ///
    /// - Returns: the id of each event.
    private func fill(_ database: TestDatabase) async throws -> [String: String] {
        var ids: [String: String] = [:]
        for (number, row) in Self.rows.enumerated() {
            let time = Date(timeIntervalSinceNow: -row.hoursAgo * 3_600)
            let id = EventIdentifier.event(at: time)
            ids[row.name] = id
            _ = try await database.pool.query(
                """
                WITH event AS (
                    INSERT INTO events (id, type, environment, app, account, sequence, transaction_id, partition_key, body,
                        created_at)
                    VALUES ($1, $2, $3, $4, $5, CASE WHEN $5::text IS NOT NULL THEN $6 END, '1', '1',
                        '{"id":"' || $1 || '"}', $7)
                    RETURNING id
                )
                INSERT INTO webhook_deliveries (event_id, endpoint_id, state, due_at, attempts, delivered_at, created_at)
                SELECT id, $8, $9, CASE WHEN $9 = 'pending' THEN now() + interval '9 hours' END, 10,
                    CASE WHEN $9 = 'delivered' THEN $7 END, $7 FROM event
                """,
                [
                    .text(id), .text(row.type), .text(row.environment), .text(row.app), .text(row.account),
                    .int8(Int64(number)), .timestamptz(time), .text(row.endpoint), .text(row.state),
                ])
        }
        return ids
    }

    private func selection(_ change: (inout WebhookSelection) -> Void) -> WebhookSelection {
        var selection = WebhookSelection()
        change(&selection)
        return selection
    }

    /// What selections mean, by the rows' names.
    private func cases(_ ids: [String: String]) -> [(WebhookSelection, [String])] {
        let lost = ["old", "refund", "other app", "sandbox", "bob's", "nobody's", "stats", "new"]
        func time(_ hoursAgo: Double) -> Date { Date(timeIntervalSinceNow: -hoursAgo * 3_600) }
        return [
            (selection { _ in }, lost),
            (selection { $0.event = ids["old"] }, ["old"]),
            (selection { $0.event = ids["taken"] }, []),
            (
                selection {
                    $0.event = ids["taken"]
                    $0.state = .delivered
                }, ["taken"]
            ),
            (selection { $0.endpoint = "stats" }, ["stats"]),
            (selection { $0.type = "iap.refund.*" }, ["refund"]),
            (selection { $0.type = "iap.refund.granted" }, ["refund"]),
            (selection { $0.type = "iap.refund" }, []),
            (selection { $0.app = "com.example.other" }, ["other app"]),
            (selection { $0.environment = .sandbox }, ["sandbox"]),
            (selection { $0.account = Account("bob") }, ["bob's"]),
            (
                selection {
                    $0.account = Account("alice")
                    $0.app = "com.example.other"
                    $0.state = .all
                }, ["other app"]
            ),
            (selection { $0.since = time(9.5) }, ["nobody's", "stats", "new"]),
            (selection { $0.until = time(45) }, ["old"]),
            (
                selection {
                    $0.since = time(41)
                    $0.until = time(29)
                }, ["refund", "other app"]
            ),
            (selection { $0.state = .delivered }, ["taken"]), (selection { $0.state = .pending }, ["waiting"]),
            (selection { $0.state = .all }, Self.rows.map(\.name)),
            (
                selection {
                    $0.state = .all
                    $0.since = time(7.5)
                    $0.endpoint = "backend"
                }, ["taken", "waiting", "new"]
            ),
        ]
    }

    @Test func everyFilterMeansWhatItSays() async throws {
        try await TestDatabase.with { database in
            let ids = try await fill(database)
            let names = Dictionary(uniqueKeysWithValues: ids.map { ($0.value, $0.key) })
            let store = WebhookResendStore(pool: database.pool)
            for (selection, expected) in cases(ids) {
                let page = try await store.page(of: selection, after: nil, limit: 100)
                #expect(page.matches.map { names[$0.position.event] } == expected, "\(selection)")
                #expect(page.next == nil)
                #expect(try await store.count(selection, .init(limit: 100)).count == expected.count)
                // In small steps it is the same.
                var (found, position): ([String?], WebhookResendStore.Position?) = ([], nil)
                repeat {
                    let page = try await store.page(of: selection, after: position, limit: 2)
                    found += page.matches.map { names[$0.position.event] }
                    position = page.next
                } while position != nil
                #expect(found == expected)
            }
            #expect(try await database.pool.query("SELECT 1 AS one FROM webhook_resends").rows.isEmpty)
        }
    }

    @Test func whatIsAskedForGoesOutAgainUnderItsIdAndNothingElse() async throws {
        try await TestDatabase.with { database in
            let ids = try await fill(database)
            try await WebhookReceiver.with { receiver, port in
                let store = WebhookResendStore(pool: database.pool)
                let lost = try await store.resend(
                    selection { $0.app = "com.example.game" }, .init(limit: 3), asker: asker)
                #expect(lost.count == 3 && lost.next != nil)
                #expect(lost.counts == ["backend": ["abandoned": 3]])
                let taken = try await store.resend(
                    selection {
                        $0.event = ids["taken"]
                        $0.state = .all
                    }, .init(limit: 3), asker: asker)
                #expect(taken.count == 1 && taken.next == nil)
                let waiting = try await store.resend(
                    selection { $0.state = .pending }, .init(limit: 3), asker: asker)
                #expect(waiting.count == 1)
                // Asked for while it was given up; by now somebody has had it delivered.
                _ = try await database.pool.query(
                    "UPDATE webhook_deliveries SET state = 'delivered' WHERE event_id = $1", [.text(ids["refund"])])
                let loop = loop(database, [try endpoint(port)], settings())
                let expected = ["old", "sandbox", "taken", "waiting"].compactMap { ids[$0] }
                try await running([loop]) {
                    for id in expected { try await database.waitForState("delivered", id) }
                }
                #expect(receiver.requests.map { $0.header("webhook-id") }.sorted() == expected.sorted())
                #expect(try await database.delivery(expected[0])?.attempts == 11)
                #expect(try await database.pool.query("SELECT 1 AS one FROM webhook_resends").rows.isEmpty)
                let audit = try await database.pool.query("SELECT * FROM audit_log ORDER BY id").rows
                #expect(try audit.map { try $0.decode("id", as: Int64.self) }.first == lost.auditId)
                #expect(try audit.map { try $0.decode("actor", as: String.self) } == ["ada", "ada", "ada"])
                #expect(
                    try audit.first?.decode("subject", as: String.self)
                        == "state abandoned, app com.example.game; at most 3")
            }
        }
    }

    @Test func aSecondRunHasTheWholeScheduleAgain() async throws {
        try await TestDatabase.with { database in
            let ids = try await fill(database)
            try await WebhookReceiver.with(answer: { _, _ in .status(500) }) { receiver, port in
                let id = try #require(ids["old"])
                let store = WebhookResendStore(pool: database.pool)
                _ = try await store.resend(selection { $0.event = id }, .init(limit: 3), asker: asker)
                try await running([loop(database, [try endpoint(port)], settings())]) {
                    await receiver.waitForRequests(1)
                }
                let delivery = try #require(try await database.delivery(id))
                #expect(delivery.state == "pending" && delivery.attempts == 11)
                #expect((50...70).contains(try #require(delivery.secondsUntilDue)), "its first delay")
            }
        }
    }

    @Test func whatIsBeingTriedIsLeftAlone() async throws {
        try await TestDatabase.with { database in
            let ids = try await fill(database)
            let store = WebhookResendStore(pool: database.pool)
            _ = try await database.pool.query(
                "UPDATE webhook_deliveries SET due_at = now() + interval '50 seconds' WHERE state = 'pending'")
            _ = try await store.resend(selection { $0.state = .pending }, .init(limit: 3), asker: asker)
            let taken = try await DeliveryStore(pool: database.pool).takeUp(
                endpointIds: ["backend"], limit: 10, lease: .seconds(60))
            #expect(taken.requests == 1 && taken.deliveries == 0)
            let due = try await database.delivery(try #require(ids["waiting"]))?.secondsUntilDue
            #expect(try #require(due) > 40)
        }
    }

    @Test func requestForAnEndpointThatThisProcessDoesNotHaveIsLeftToOthers() async throws {
        try await TestDatabase.with { database in
            _ = try await fill(database)
            let store = WebhookResendStore(pool: database.pool)
            _ = try await store.resend(selection { $0.endpoint = "stats" }, .init(limit: 3), asker: asker)
            let taken = try await DeliveryStore(pool: database.pool).takeUp(
                endpointIds: ["backend"], limit: 10, lease: .seconds(60))
            #expect(taken.requests == 0)
            #expect(
                try await DeliveryStore(pool: database.pool).takeUp(
                    endpointIds: ["stats"], limit: 10, lease: .seconds(60)
                ).deliveries == 1)
        }
    }
}
