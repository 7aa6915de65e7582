import Foundation
import HTTPTypes
import HummingbirdTesting
import Logging
import Messages
import NIOCore
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "Apple's server notifications",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct NotificationRoutesTests {
    @Test("a notification is on disk when its 200 comes, nobody's, and is sent on whole; again it is the same row")
    func accepts() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let notification = try NotificationPayload.renewal()
                let answer = try await intake.notify(notification, headers: [.requestId: "req-of_apple"])
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.text == "{\"id\":\"\(answer.id)\"}")
                #expect(answer.headers[.contentType] == "application/json")
                #expect(SubmissionIdentifier.isWellFormed(answer.id))
                #expect(try await database.column("kind", of: answer.id) == "server_notification")
                #expect(try await database.column("account", of: answer.id) == "")
                #expect(try await database.column("app", of: answer.id) == TestIntake.app)
                #expect(try await database.column("partition_key", of: answer.id) == "2000000777")
                #expect(try await database.column("proof", of: answer.id) == notification)
                #expect(try await database.column("state", of: answer.id) == "received")
                #expect(try await database.column("correlation_id", of: answer.id) == "req-of_apple")
                let sent = await intake.firstPublished()
                #expect(sent.submissionId == answer.id && sent.kind == .serverNotification && sent.account.isEmpty)
                #expect(sent.proof == notification && !sent.isClaimCheck && !sent.isAwaited)
                let again = try await intake.notify(notification)
                #expect(again.status == 200 && again.text == answer.text)
                let other = try await intake.notify(NotificationPayload.renewal())
                #expect(other.status == 200 && other.id != answer.id)
                #expect(try await database.submissionCount() == 2)
                #expect(intake.published.withLock(\.count) == 2)
            }
        }
    }

    @Test("without a lineage the key is the notification's id, and without one the submission's")
    func keys() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let uuid = UUID().uuidString
                let summary: [String: Any] = ["summary": ["bundleId": TestIntake.app]]
                let named = try NotificationPayload.sign(summary.merging(["notificationUUID": uuid]) { $1 })
                let first = try await intake.notify(named)
                #expect(try await database.column("partition_key", of: first.id) == uuid.lowercased())
                let second = try await intake.notify(NotificationPayload.sign(summary))
                #expect(try await database.column("partition_key", of: second.id) == second.id)
                let strange = try await intake.notify(
                    NotificationPayload.sign(["newKind": ["bundleId": TestIntake.app]]))
                #expect(strange.status == 200, "a content that nobody knows is kept for a newer version")
            }
        }
    }

    @Test("credentials and content type do not matter, a notification of 256 KB is sent whole")
    func asItComes() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let body = NotificationPayload.body(try NotificationPayload.renewal())
                for (token, type) in [("csk_wrong", "text/plain"), ("x", ""), ("x", "application/octet-stream")] {
                    let answer = try await intake.send(
                        .post, "/v1/notifications", token: token, body: body, headers: [.contentType: type])
                    #expect(answer.status == 200, "\(type): \(answer.text)")
                }
                #expect(try await database.submissionCount() == 1)
                let large = try NotificationPayload.renewal(note: String(repeating: "A", count: 180_000))
                let filled = NotificationPayload.body(large).padding(
                    toLength: JSONBody.shortBytesMaximum, withPad: " ", startingAt: 0)
                let answer = try await intake.send(.post, "/v1/notifications", token: nil, body: filled)
                #expect(answer.status == 200, "\(answer.text.prefix(200))")
                let more = try await intake.send(.post, "/v1/notifications", token: nil, body: filled + " ")
                #expect(more.slug == "body-too-large")
                while intake.published.withLock(\.count) < 2 { await Task.yield() }
                #expect(intake.published.withLock { $0.last?.message.proof } == large)
            }
        }
    }

    @Test("hostile bodies get their problem with a status after which Apple comes again, and write no row")
    func hostile() async throws {
        let good = try NotificationPayload.renewal()
        let unknown = try NotificationPayload.renewal(app: "com.example.unknown")
        let nameless = try NotificationPayload.sign(["data": ["note": NotificationPayload.secret]])
        let deep = String(repeating: "[", count: 60_000)
        let cases: [(slug: String, status: Int, body: String)] = [
            ("body-malformed", 400, ""), ("body-malformed", 400, "{"), ("body-malformed", 400, "[]"),
            ("body-malformed", 400, "null"), ("body-malformed", 400, "\"\(good)\""), ("body-malformed", 400, good),
            ("body-malformed", 400, deep), ("body-malformed", 400, "{\"signedPayload\":\(deep)"),
            ("field-missing", 400, "{}"), ("field-missing", 400, "{\"signedPayload\":null}"),
            ("field-missing", 400, "{\"signed_payload\":\"\(good)\"}"),
            ("notification-version-one", 400, "{\"notification_type\":\"DID_RENEW\",\"bid\":\"\(TestIntake.app)\"}"),
            ("field-missing", 400, "{\"notification_type\":7}"), ("field-missing", 400, "{\"notification_type\":\"\"}"),
            ("field-invalid", 400, "{\"notification_type\":\"CANCEL\",\"signedPayload\":7}"),
            ("field-invalid", 400, "{\"signedPayload\":7}"),
            ("field-invalid", 400, "{\"signedPayload\":[\"\(good)\"]}"),
            ("proof-malformed", 400, NotificationPayload.body("")),
            ("proof-malformed", 400, NotificationPayload.body("a.b")),
            ("proof-malformed", 400, NotificationPayload.body(good + "\\u0000")),
            ("proof-malformed", 400, NotificationPayload.body(" " + good)),
            ("proof-malformed", 400, NotificationPayload.body(try NotificationPayload.sign(["a": 1]))),
            ("notification-not-genuine", 400, NotificationPayload.body(Proofs.fresh())),
            ("notification-not-genuine", 400, NotificationPayload.body(String(good.dropLast(8)) + "AAAAAAAA")),
            ("proof-malformed", 400, NotificationPayload.body(nameless)),
            ("notification-app-unknown", 404, NotificationPayload.body(unknown)),
            (
                "notification-app-unknown", 404,
                NotificationPayload.body(try NotificationPayload.renewal(app: TestIntake.app.uppercased()))
            ),
            ("notification-app-unknown", 404, NotificationPayload.body(try NotificationPayload.renewal(app: ""))),
            ("body-too-large", 400, String(repeating: " ", count: 256 << 10) + NotificationPayload.body(good)),
        ]
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                for bad in cases {
                    let answer = try await intake.send(.post, "/v1/notifications", token: nil, body: bad.body)
                    let what: Comment = "\(bad.body.prefix(100)): \(answer.text)"
                    #expect(answer.slug == bad.slug, what)
                    #expect(answer.status == bad.status, what)
                    // Apple's page promises another attempt after 40x and 50x, and after no other status.
                    #expect((400...409).contains(answer.status), what)
                    #expect(!answer.text.contains(good.prefix(60)), what)
                    #expect(!answer.text.contains("com.example"), what)
                }
                let invalid = try await intake.client.executeRequest(
                    uri: "/v1/notifications", method: .post, headers: [:], body: .init(bytes: [0x7B, 0xFF, 0x7D]))
                #expect(invalid.status == .badRequest)
                #expect(intake.published.withLock(\.isEmpty))
            }
            #expect(try await database.submissionCount() == 0)
        }
    }

    @Test("a notification of version 1 is told from junk, whatever it calls the environment, and says what to choose")
    func version1() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                for (name, environment) in [
                    ("PROD", "production"), ("Production", "production"), ("Sandbox", "sandbox"), ("Moon", nil),
                ] as [(String, String?)] {
                    let body = """
                        {"notification_type":"DID_RENEW","environment":"\(name)","password":"a-shared-secret",
                        "bid":"\(TestIntake.app)","signedPayload":null,
                        "unified_receipt":{"status":0,"latest_receipt":"MIIB","latest_receipt_info":[{"quantity":"1"}]}}
                        """
                    let answer = try await intake.send(.post, "/v1/notifications", token: nil, body: body)
                    #expect(answer.status == 400 && answer.slug == "notification-version-one", "\(answer.text)")
                    #expect(answer.fields["environment"] as? String == environment, "\(name)")
                    #expect(answer.text.contains("Version 2") && !answer.text.contains("a-shared-secret"))
                }
            }
            #expect(try await database.submissionCount() == 0)
        }
    }

    @Test(
        "a body that is too large is 400 over a real connection, whether it says its length or not",
        arguments: [true, false])
    func tooLarge(saysLength: Bool) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, setup: .live) { intake in
                let headers: HTTPFields = saysLength ? [:] : [.transferEncoding: "chunked"]
                let body = String(repeating: "A", count: 300_000)
                let answer = try await intake.notify(body, headers: headers)
                #expect(answer.slug == "body-too-large" && answer.status == 400)
                #expect(answer.text.contains("262144"))
            }
            #expect(try await database.submissionCount() == 0)
        }
    }

    @Test("only servers of its app may ask how it stands; no player is called nothing")
    func readers() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let path = "/v1/purchases/\(try await intake.notify(NotificationPayload.renewal()).id)"
                let server = try await intake.send(.get, path, token: TestIntake.serverKey)
                #expect(server.status == 202 && server.state == "received")
                #expect(try await intake.send(.get, path, token: nil).slug == "authentication-required")
                #expect(try await intake.send(.get, path, token: TestIntake.otherServerKey).slug == "not-found")
                for name in ["player-1", " ", "null"] {
                    let player = try TestTokens.hs256(TestTokens.claims(name))
                    #expect(try await intake.send(.get, path, token: player).slug == "not-found", "\(name)")
                }
                for claims: [String: Any] in [["sub": ""], ["sub": NSNull()], ["sub": "\u{0}"]] {
                    let token = try TestTokens.hs256(claims.merging(["exp": 9_999_999_999]) { $1 })
                    #expect(try await intake.send(.get, path, token: token).slug == "authentication-failed")
                }
                #expect(Account("") == nil)
                #expect(Account(NotificationSubmissions.account) == nil)
                for name in ["", "%20%20%00"] {
                    let account = try await intake.send(
                        .get, "/v1/accounts/\(name)?app=\(TestIntake.app)", token: TestIntake.serverKey)
                    #expect(account.slug == "not-found", "\(name): \(account.text)")
                }
                let posted = try await intake.post(
                    fields: ["transaction_id": "1", "account": ""], as: TestIntake.serverKey)
                #expect(posted.slug == "field-invalid", "nobody posts as nobody")
            }
        }
    }

    @Test("nothing of it reaches a log, at any level, whatever becomes of it")
    func logs() async throws {
        let lines = Mutexed<[String]>([])
        var logger = Logger(label: "test", factory: { _ in RecordingLogHandler(lines: lines) })
        logger.logLevel = .trace
        let good = try NotificationPayload.renewal()
        let unknown = try NotificationPayload.renewal(app: "com.example.unknown")
        try await TestDatabase.with { [logger] database in
            try await TestIntake.with(url: database.url, logger: logger) { intake in
                let taken = try await intake.notify(good)
                #expect(taken.status == 200)
                #expect(try await intake.notify(unknown).status == 404)
                #expect(try await intake.notify(good + "=").status == 400)
            }
            try await TestIntake.with(url: database.url, queueMaximum: 0, logger: logger) { intake in
                let refused = try await intake.notify(good)
                #expect(refused.status == 503)
            }
        }
        func putOff() -> [String] { lines.withLock { $0.filter { $0.contains("a request was put off") } } }
        #expect(putOff().isEmpty, "a flood of anybody's would fill the log")
        try await TestIntake.with(
            url: "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2", logger: logger
        ) { intake in
            let refused = try await intake.notify(good)
            #expect(refused.status == 503)
        }
        #expect(putOff().count == 1, "a fault of ours is told")
        let all = lines.withLock { $0 }
        for line in all {
            #expect(!line.contains(good.prefix(40)) && !line.contains(NotificationPayload.secret), "\(line)")
        }
    }
}

/// Keeps every line with its metadata.
private struct RecordingLogHandler: LogHandler {
    let lines: Mutexed<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(lines: Mutexed<[String]>) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }
        lines.withLock { $0.append("\(event.level) \(event.message) \(metadata)") }
    }
}
