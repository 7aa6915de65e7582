import Foundation
import Logging
import Persistence
import Postgres
import ServerTesting
import ServiceRuntime
import Testing

@testable import Notification

@Suite(
    "Apple's notifications go on", .timeLimit(.minutes(1)),
    .enabled(if: TestDatabase.url != nil, Comment(rawValue: TestDatabase.skipComment)))
struct ForwardingTests {
    private static let app = "com.example.game"

    /// Notifications as they are written down, each with what Apple signed.
    private func write(_ payloads: [String], _ database: TestDatabase) async throws {
        for (number, payload) in payloads.enumerated() {
            _ = try await database.pool.query(
                """
                INSERT INTO submissions (id, app, account, kind, proof, partition_key, correlation_id, state, settled_at,
                    outcome, due_at)
                VALUES ($1, $2, '', 'server_notification', $3, $1, 'req', 'fulfilled', now(), '{}', NULL)
                """, [.text("sub_\(number)"), .text(Self.app), .text(payload)])
            _ = try await database.pool.query(
                """
                INSERT INTO apple_notifications (app, notification_uuid, environment, type, submission_id)
                VALUES ($1, $2, 'production', 'TEST', $3)
                """, [.text(Self.app), .text("uuid-\(number)"), .text("sub_\(number)")])
            try await database.pool.withTransaction { connection in
                try await NotificationForwardStore.add([(app: Self.app, uuid: "uuid-\(number)")], on: connection)
            }
        }
    }

    private func forwarding(
        _ database: TestDatabase, port: Int, delays: [Duration] = [.seconds(60), .seconds(120)]
    ) throws -> (ForwardNotifications, EndpointClients) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apps-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: folder) }
        let text = """
            apps:
              - bundle_id: \(Self.app)
                forward_notifications: { url: "http://127.0.0.1:\(port)/apple", allow_private_addresses: true }
              - bundle_id: com.example.other
            """
        try Data(text.utf8).write(to: folder)
        let clients = EndpointClients(connectionsMaximum: 4)
        let forward = ForwardNotifications(
            store: NotificationForwardStore(pool: database.pool),
            targets: try ForwardTargets(AppsFile.load(path: folder.path, secrets: []), path: folder.path),
            post: EndpointPost(clients: clients, timeout: .seconds(5)), schedule: RetrySchedule(delays: delays),
            lease: .seconds(60), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, chance: { 0 })
        return (forward, clients)
    }

    private func states(_ database: TestDatabase) async throws -> [String] {
        let result = try await database.pool.query(
            """
            SELECT concat_ws(' ', state, attempts, last_status, last_error) AS line FROM notification_forwards
            ORDER BY notification_uuid
            """)
        return try result.rows.map { try $0.decode("line", as: String.self) }
    }

    private func makeDue(_ database: TestDatabase) async throws {
        _ = try await database.pool.query("UPDATE notification_forwards SET due_at = now() WHERE due_at IS NOT NULL")
    }

    @Test("what Apple signed arrives in Apple's own body, byte for byte, and once")
    func bytes() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                try await write(["eyJ.payload-1_.sig", "eyJ.payload-2_.sig"], database)
                let (forward, clients) = try forwarding(database, port: port)
                try await forward.look()
                try await forward.look()
                await clients.close()
                let bodies = receiver.requests.map { String(decoding: $0.body, as: UTF8.self) }.sorted()
                #expect(
                    bodies == [#"{"signedPayload":"eyJ.payload-1_.sig"}"#, #"{"signedPayload":"eyJ.payload-2_.sig"}"#])
                #expect(receiver.requests.allSatisfy { $0.uri == "/apple" })
                #expect(receiver.requests.allSatisfy { $0.header("content-type") == "application/json" })
                #expect(try await states(database) == ["delivered 1 200", "delivered 1 200"])
            }
        }
    }

    @Test("a consumer that fails is asked again by the schedule, and given up at its end")
    func retries() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { _, _ in .status(500, body: "no") }) { receiver, port in
                try await write(["a.b.c"], database)
                let (forward, clients) = try forwarding(database, port: port)
                try await forward.look()
                #expect(try await states(database) == ["pending 1 500 status 500: no"])
                // Not before its time.
                try await forward.look()
                #expect(receiver.requests.count == 1)
                for _ in 0..<2 {
                    try await makeDue(database)
                    try await forward.look()
                }
                await clients.close()
                #expect(try await states(database) == ["given_up 3 500 status 500: no"])
                #expect(receiver.requests.count == 3)
            }
        }
    }

    @Test("what a process that died has leased goes out when the lease is over; what was forgotten does not")
    func leases() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                try await write(["a.b.c", ""], database)
                let store = NotificationForwardStore(pool: database.pool)
                #expect(try await store.claim(apps: [Self.app], limit: 10, lease: .seconds(60)).count == 2)
                let (forward, clients) = try forwarding(database, port: port)
                try await forward.look()
                #expect(receiver.requests.isEmpty)
                try await makeDue(database)
                try await forward.look()
                await clients.close()
                #expect(receiver.requests.count == 1)
                let states = try await states(database)
                #expect(states[0] == "delivered 2 200")
                #expect(states[1].hasPrefix("given_up 2 what Apple signed is not there any more"))
            }
        }
    }
}
