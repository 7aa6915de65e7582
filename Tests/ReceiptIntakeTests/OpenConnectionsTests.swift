import HTTPTypes
import HummingbirdTesting
import Messages
import Persistence
import PurchaseModel
import Testing

@testable import ReceiptIntake

@Suite(
    "Whoever holds connections open", .serialized,
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct OpenConnectionsTests {
    private let fulfilled = SubmissionOutcome(state: .fulfilled, finish: true)
    private static let head = """
        POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n
        """

    @Test("a body that drips is given up after its time, with good credentials and with none")
    func drip() async throws {
        try await TestDatabase.with { database in
            let settings = ["intake.request_time": "1"]
            try await TestIntake.with(url: database.url, setup: .live, settings: settings) { intake in
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                let port = try #require(intake.client.port)
                for credentials in ["authorization: Bearer \(player)\r\n", "authorization: Bearer junk\r\n", ""] {
                    let client = try await RawClient.connect(port: port)
                    try await client.send(Self.head + credentials + "\r\n{\"app\":")
                    try await client.closed()
                }
                #expect(try await intake.post(Proofs.fresh(), as: player).status == 202)
                #expect(try await database.submissionCount() == 1)
            }
        }
    }

    @Test("a notification's body that drips is cut after a time of its own, which says so; a whole one is taken")
    func dripsAsApple() async throws {
        try await TestDatabase.with { database in
            let settings = ["intake.notification_time": "0.5"]
            try await TestIntake.with(url: database.url, setup: .live, settings: settings) { intake in
                let port = try #require(intake.client.port)
                let answer = try await RawClient.exchange(
                    Self.notificationHead + "\r\n{\"signedPayload\":", port: port)
                #expect(answer.hasPrefix("HTTP/1.1 408") && answer.contains("/problems/body-too-slow"), "\(answer)")
                #expect(try await intake.notify(NotificationPayload.renewal()).status == 200)
                #expect(try await database.submissionCount() == 1)
            }
        }
    }

    @Test("notifications of one address are read so many at a time; others' go on, and a place is given back")
    func notificationPlaces() async throws {
        try await TestDatabase.with { database in
            let settings = [
                "intake.address_notifications_maximum": "2", "intake.trusted_proxies": "127.0.0.0/8, ::1",
                "intake.notification_time": "60",
            ]
            try await TestIntake.with(url: database.url, setup: .live, settings: settings) { intake in
                let port = try #require(intake.client.port)
                func post(_ address: String) async throws -> TestIntake.Answer {
                    let header = try #require(HTTPField.Name("X-Forwarded-For"))
                    return try await intake.send(
                        .post, "/v1/notifications", token: nil, body: "{}", headers: [header: address])
                }
                var slow: [RawClient] = []
                // Nothing tells when the server begins to read one; one that meets a post of ours is refused itself.
                while true {
                    let client = try await RawClient.connect(port: port)
                    try await client.send(Self.notificationHead + "x-forwarded-for: 2.2.2.2\r\n\r\n{")
                    slow.append(client)
                    let answer = try await post("2.2.2.2")
                    if answer.status == 503 {
                        #expect(answer.slug == "notifications-put-off" && answer.headers[.retryAfter] != nil)
                        break
                    }
                    #expect(answer.slug == "field-missing", "\(answer.text)")
                }
                #expect(try await post("2.2.2.3").slug == "field-missing", "another address")
                for client in slow { client.close() }
                while try await post("2.2.2.2").status == 503 { await Task.yield() }
            }
        }
    }

    private static let notificationHead = """
        POST /v1/notifications HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5000\r\n
        """

    @Test("those without a request make room for a player, and whoever waits for an answer stays")
    func room() async throws {
        try await TestDatabase.with { database in
            let settings = ["intake.connections_maximum": "32"]
            try await TestIntake.with(url: database.url, setup: .live, settings: settings) { intake in
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                let port = try #require(intake.client.port)
                let waiting = Task { try await intake.post(Proofs.fresh(), as: player, wait: 30) }
                while intake.waiters.count == 0 { await Task.yield() }
                var clients: [RawClient] = []
                for number in 0..<200 {
                    let client = try await RawClient.connect(port: port)
                    clients.append(client)
                    // Some say nothing, some begin a head, and some a body.
                    if number % 3 == 1 { try? await client.send("POST /v1/purchases HTTP/1.1\r\n") }
                    if number % 3 == 2 { try? await client.send(Self.head + "\r\n{") }
                }
                while clients.count(where: \.isOpen) > 32 { await Task.yield() }
                let other = try TestTokens.hs256(TestTokens.claims("player-2"))
                let body = "{\"app\":\"\(TestIntake.app)\",\"signed_transaction\":\"\(Proofs.fresh())\"}"
                let posted = try await RawClient.exchange(
                    """
                    POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\nconnection: close\r
                    authorization: Bearer \(other)\r\ncontent-type: application/json\r
                    content-length: \(body.utf8.count)\r\n\r\n\(body)
                    """, port: port)
                #expect(posted.hasPrefix("HTTP/1.1 202"), "\(posted.prefix(100))")
                #expect(intake.waiters.count == 1, "the request that waits has kept its connection")
                #expect(clients.filter(\.isOpen).count <= 32)
                for client in clients { client.close() }
                let message = try #require(intake.published.withLock { $0.first }).message
                #expect(intake.waiters.resolve(message.submissionId, with: fulfilled) == 1)
                #expect(try await waiting.value.status == 200)
            }
        }
    }
}
