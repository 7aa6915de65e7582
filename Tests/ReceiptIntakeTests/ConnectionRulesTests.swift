import HummingbirdTesting
import Testing

@testable import ReceiptIntake

@Suite(
    "What HTTP asks of a connection",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct ConnectionRulesTests {
    private static func with(_ body: @Sendable (_ port: Int) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, setup: .live) { intake in
                try await body(try #require(intake.client.port))
            }
        }
    }

    @Test("an answer to HEAD has no body, so that the next one is read as what it is")
    func head() async throws {
        try await Self.with { port in
            for path in ["/problems", "/nowhere", "/v1/purchases"] {
                let answers = try await RawClient.exchange(
                    """
                    HEAD \(path) HTTP/1.1\r\nhost: localhost\r\n\r
                    GET /problems/not-found HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n
                    """, port: port)
                #expect(answers.hasPrefix("HTTP/1.1 40"), "\(answers)")
                #expect(answers.contains("\r\n\r\nHTTP/1.1 200"), "\(answers)")
                #expect(!answers.lowercased().contains("content-length: 0"), "\(answers)")
            }
        }
    }

    @Test("a client that waits with its body is told to send it once its credentials are valid, and refused before")
    func expectation() async throws {
        try await Self.with { port in
            let body = "{\"app\":\"\(TestIntake.app)\",\"signed_transaction\":\"\(Proofs.fresh())\"}"
            let player = try TestTokens.hs256(TestTokens.claims("player-1"))
            func begin(_ path: String, as token: String) async throws -> RawClient {
                let client = try await RawClient.connect(port: port)
                try await client.send(
                    """
                    POST \(path) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer \(token)\r
                    content-type: application/json\r\nexpect: 100-Continue\r\ncontent-length: \(body.utf8.count)\r\n\r\n
                    """)
                return client
            }
            for (path, status) in [("/v1/purchases", 202), ("/v1/notifications", 400)] {
                let client = try await begin(path, as: player)
                #expect(await client.has("HTTP/1.1 100 Continue\r\n\r\n"), "\(path)")
                try await client.send(body)
                let answers = try await client.all()
                #expect(answers.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 \(status)"), "\(answers)")
            }
            let refused = try await begin("/v1/purchases", as: "junk")
            #expect(try await refused.all().hasPrefix("HTTP/1.1 401"))
        }
    }

    private static func get(_ version: String, _ fields: String) -> String {
        "GET /problems/not-found HTTP/\(version)\r\nhost: localhost\r\n\(fields)\r\n"
    }

    @Test("a connection ends with its answer where the request wants that, in whatever spelling, and with HTTP/1.0")
    func lastRequests() async throws {
        try await Self.with { port in
            for request in [
                Self.get("1.0", ""), Self.get("1.0", "connection: TE\r\n"), Self.get("1.1", "connection: close\r\n"),
                Self.get("1.1", "Connection: Close\r\n"), Self.get("1.1", "connection: TE, CLOSE\r\n"),
                "POST /v1/notifications HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{}",
            ] {
                let start = ContinuousClock.now
                let answer = try await RawClient.exchange(request, port: port)
                #expect(answer.hasPrefix(request.hasPrefix("GET") ? "HTTP/1.1 200" : "HTTP/1.1 400"), "\(answer)")
                // Later it would be closed as one that is idle.
                #expect(ContinuousClock.now - start < .seconds(IntakeServer.idleTimeoutSeconds / 2), "\(request)")
            }
            let kept = Self.get("1.0", "connection: Keep-Alive\r\n") + Self.get("1.1", "connection: close\r\n")
            #expect(try await RawClient.exchange(kept, port: port).ranges(of: "HTTP/1.1 200").count == 2)
        }
    }
}
