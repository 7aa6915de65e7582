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
}
