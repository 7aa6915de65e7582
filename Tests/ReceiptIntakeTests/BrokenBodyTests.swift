import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTesting
import LogTesting
import Logging
import NIOCore
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "A body that breaks off",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct BrokenBodyTests {
    private static let paths = ["/v1/purchases", "/v1/notifications"]

    private static func head(_ path: String, _ fields: String) throws -> String {
        let player = try TestTokens.hs256(TestTokens.claims("player-1"))
        return """
            POST \(path) HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer \(player)\r
            content-type: application/json\r\n\(fields)\r\n\r\n
            """
    }

    /// Runs intake, and looks for errors of its own once every connection has ended.
    private static func with(
        _ settings: [String: String] = [:], _ body: @Sendable (_ port: Int) async throws -> Void
    ) async throws {
        let log = CapturedLog()
        try await TestDatabase.with { database in
            let logger = log.logger()
            try await TestIntake.with(url: database.url, setup: .live, settings: settings, logger: logger) { intake in
                try await body(try #require(intake.client.port))
            }
            #expect(try await database.submissionCount() == 0)
        }
        #expect(!log.texts(.error).contains { $0.hasPrefix("request failed") }, "\(log.texts(.error))")
    }

    @Test("is answered once, as what it is, whether the client ends it or sends no chunk")
    func answered() async throws {
        try await Self.with { port in
            for path in Self.paths {
                for (framing, body, ends) in [
                    ("content-length: 5000", "{\"app\":", true), ("content-length: 5000", "", true),
                    ("transfer-encoding: chunked", "1\r\n{\r\n", true), ("transfer-encoding: chunked", "zz\r\n", false),
                    ("transfer-encoding: chunked", "1\r\n{\r\nzz\r\n", false),
                ] {
                    let client = try await RawClient.connect(port: port)
                    try await client.send(try Self.head(path, framing) + body)
                    if ends { try await client.finish() }
                    let answer = try await client.all()
                    #expect(
                        answer.hasPrefix("HTTP/1.1 400") && answer.contains("/problems/body-incomplete"), "\(answer)")
                    #expect(answer.lowercased().contains("connection: close"), "\(answer)")
                    #expect(answer.ranges(of: "HTTP/1.1").count == 1, "\(answer)")
                }
            }
        }
    }

    @Test("because it is too slow is no error of ours")
    func slow() async throws {
        try await Self.with(["intake.request_time": "1", "intake.notification_time": "60"]) { port in
            for path in Self.paths {
                let client = try await RawClient.connect(port: port)
                try await client.send(try Self.head(path, "content-length: 5000") + "{")
                #expect(try await client.all().isEmpty)
            }
        }
    }

    @Test("because the client resets is no error of ours")
    func reset() async throws {
        try await Self.with { port in
            for path in Self.paths {
                let client = try await RawClient.connect(port: port)
                try await client.send(try Self.head(path, "content-length: 5000\r\nexpect: 100-continue"))
                #expect(await client.has("100 Continue"), "the body is being read")
                try await client.reset()
            }
        }
    }

    @Test("is a problem whatever the connection says")
    func kinds() async {
        struct AnyError: Error {}
        let parts = AsyncThrowingStream<ByteBuffer, any Error> { $0.finish(throwing: AnyError()) }
        let request = Request(
            head: HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/"),
            body: RequestBody(asyncSequence: parts))
        let body = JSONBody(
            bytesMaximum: 100, budget: BodyBudget(bytesMaximum: 100), requiresContentType: false)
        await #expect(throws: ProblemDetails.bodyIncomplete) { try await body.bytes(of: request) }
        #expect(IntakeProblemMiddleware.problem(for: ProblemDetails.bodyIncomplete) == .bodyIncomplete)
        #expect(IntakeProblemMiddleware.problem(for: AnyError()) == nil)
    }
}
