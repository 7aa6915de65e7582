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
}
