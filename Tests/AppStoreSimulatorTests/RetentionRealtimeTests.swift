import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Real-time retention messages")
struct RetentionRealtimeTests {
    private static let message = "fedcba98-7654-3210-fedc-ba9876543210"
    private static let choice = #"{"message":{"messageIdentifier":"\#(message)"}}"#

    private struct Asked: Decodable {
        let signedPayload: String
    }

    private struct Answer: Decodable {
        let signedPayload: String
        let result: String?
        let status: Int?
        let shown: String
        let messageIdentifier: String?
    }

    private struct TestResult: Decodable {
        struct Times: Decodable { let average, p50, p90, p95, p99: Int64 }
        let target: String
        let result: String
        let successRate: Int64
        let numPending: Int64
        let responseTimes: Times?
        let failures: [String: Int64]?
    }

    /// Runs `body` with the address of a backend on a real socket, which answers every request so.
    private func withBackend(
        _ status: HTTPResponse.Status, _ json: String, _ body: @escaping @Sendable (String) async throws -> Void
    ) async throws {
        let router = Router(context: BasicRequestContext.self)
        router.post("retention") { request, context in
            _ = try await request.decode(as: Asked.self, context: context)
            return Response(status: status, body: .init(byteBuffer: ByteBuffer(string: json)))
        }
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            try await body("http://127.0.0.1:\(try #require(client.port))/retention")
        }
    }

    private func ask(_ shop: RetentionShop) async throws -> Answer {
        let body = #"{"originalTransactionId":"\#(RetentionShop.transactionId(in: .sandbox))"}"#
        let response = try await shop.request(.post, "retention-messaging/realtime", body, in: nil)
        try #require(response.status == .ok, "\(String(buffer: response.body))")
        return try JSONDecoder().decode(Answer.self, from: response.json)
    }

    @Test("the URL is set, read and deleted; what is no URL is refused")
    func url() async throws {
        let shop = try await RetentionShop()
        let path = "messaging/realtime/url"
        #expect(try await shop.refusal(.get, path) == 4_040_021)
        let long = "https://example.com/" + String(repeating: "x", count: 240)
        for url in ["", "example.com", "ftp://example.com/", "https:///x", long] {
            #expect(try await shop.refusal(.put, path, #"{"realtimeURL":"\#(url)"}"#) == 4_000_215)
        }
        try await shop.succeed(.put, path, #"{"realtimeURL":"https://example.com/a"}"#)
        #expect(
            String(buffer: try await shop.request(.get, path).body) == #"{"realtimeURL":"https://example.com/a"}"#)
        try await shop.succeed(.delete, path)
        #expect(try await shop.refusal(.get, path) == 4_040_021)
    }

    @Test("without a URL or a message nothing is shown; the default is; what the backend chose goes first")
    func shown() async throws {
        let shop = try await RetentionShop()
        let nothing = try await ask(shop)
        #expect(nothing.shown == "nothing")
        #expect(nothing.result == nil)
        try await shop.succeed(.put, "messaging/message/\(Self.message)", #"{"header":"h","body":"b"}"#)
        try await shop.succeed(
            .put, "messaging/default/gold.monthly/en-US", #"{"messageIdentifier":"\#(Self.message)"}"#)
        #expect(try await ask(shop).shown == "default")
        for (status, json, result, shown) in [
            (.ok, Self.choice, "SUCCESS", "realtime"),
            (.ok, #"{"message":{"messageIdentifier":"\#(UUID())"}}"#, "SUCCESS", "default"),
            (.ok, "<html>", "INVALID_RESPONSE", "default"),
            (.internalServerError, "{}", "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "default"),
        ] as [(HTTPResponse.Status, String, String, String)] {
            try await withBackend(status, json) { url in
                try await shop.succeed(.put, "messaging/realtime/url", #"{"realtimeURL":"\#(url)"}"#)
                let answer = try await ask(shop)
                #expect(answer.result == result)
                #expect(answer.status == status.code)
                #expect(answer.shown == shown)
                #expect(answer.messageIdentifier == Self.message)
            }
        }
        // Nobody listens there any more; the client tries a refused connection again until its time is over.
        let dead = try await ask(shop)
        #expect(["SOCKET_ISSUE", "TIMED_OUT"].contains(dead.result))
        #expect(dead.shown == "default")
    }

    @Test("a real-time request says who may cancel what")
    func payload() async throws {
        let shop = try await RetentionShop()
        let signed = try await ask(shop).signedPayload
        let part = try #require(signed.split(separator: ".").dropFirst().first)
        let text = String(decoding: try #require(Base64URL.decode(part)), as: UTF8.self)
        let shape =
            #/\{"originalTransactionId":"2000000000000002","appAppleId":1234567890,"productId":"gold.monthly","userLocale":"en-US","requestIdentifier":"[0-9a-f-]{36}","environment":"Sandbox","signedDate":[0-9]{13}\}/#
        #expect(text.wholeMatch(of: shape) != nil, "\(text)")
    }

    @Test("production wants a performance test that was passed, and then takes the URL")
    func passedTest() async throws {
        let shop = try await RetentionShop()
        let toProduction = #"{"realtimeURL":"https://example.com/"}"#
        #expect(
            try await shop.refusal(.put, "messaging/realtime/url", toProduction, in: .production) == 4_030_026)
        try await withBackend(.ok, Self.choice) { url in
            let result = try await runTest(shop, url)
            #expect(result.result == "PASS")
            #expect(result.successRate == 100)
            #expect(result.numPending == 0)
            #expect(result.failures == nil)
            #expect(result.target == url)
            let times = try #require(result.responseTimes)
            #expect(times.p50 <= times.p90 && times.p90 <= times.p95 && times.p95 <= times.p99)
        }
        try await shop.succeed(.put, "messaging/realtime/url", toProduction, in: .production)
    }

    @Test("a backend that answers badly fails the test")
    func failedTest() async throws {
        let shop = try await RetentionShop()
        try await withBackend(.internalServerError, "{}") { url in
            let result = try await runTest(shop, url)
            #expect(result.result == "FAIL")
            #expect(result.successRate == 0)
            #expect(result.responseTimes == nil)
            #expect(result.failures == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE": 20])
        }
        #expect(
            try await shop.refusal(
                .put, "messaging/realtime/url", #"{"realtimeURL":"https://example.com/"}"#, in: .production)
                == 4_030_026)
    }

    @Test("a performance test that cannot be is refused for its reason")
    func refusedTests() async throws {
        let shop = try await RetentionShop()
        let path = "messaging/performanceTest"
        func body(_ id: String) -> String { #"{"originalTransactionId":"\#(id)"}"# }
        let id = RetentionShop.transactionId(in: .sandbox)
        #expect(try await shop.refusal(.post, path, "{}") == 4_000_211)
        #expect(try await shop.refusal(.post, path, body("1")) == 4_000_006)
        #expect(try await shop.refusal(.post, path, body(RetentionShop.transactionId(in: .production))) == 4_000_006)
        #expect(try await shop.refusal(.post, path, body(id)) == 4_040_021)
        try await shop.store.change { state, now in
            for (id, isShared) in [("2000000000000003", true), ("2000000000000004", false)] {
                var row = try #require(state.transactions[RetentionShop.transactionId(in: .sandbox)])
                row.transactionId = id
                row.isFamilyShared = isShared
                if isShared { row.originalTransactionId = id }
                state.put(row, now: now)
            }
        }
        #expect(try await shop.refusal(.post, path, body("2000000000000003")) == 4_000_185)
        #expect(try await shop.refusal(.post, path, body("2000000000000004")) == 4_000_187)
        // Nothing runs the tests here: the first one goes on for ever.
        try await shop.succeed(.put, "messaging/realtime/url", #"{"realtimeURL":"http://127.0.0.1:1/"}"#)
        try await shop.succeed(.post, path, body(id))
        #expect(try await shop.refusal(.post, path, body(id)) == 4_000_213)
        #expect(try await shop.refusal(.get, path + "/result/1") == 4_000_212)
        #expect(try await shop.refusal(.get, path + "/result/\(Self.message)") == 4_040_018)
    }

    /// Starts a test, runs it and waits for its result.
    private func runTest(_ shop: RetentionShop, _ url: String) async throws -> TestResult {
        struct Started: Decodable { let requestId: String }
        try await shop.succeed(.put, "messaging/realtime/url", #"{"realtimeURL":"\#(url)"}"#)
        let body = #"{"originalTransactionId":"\#(RetentionShop.transactionId(in: .sandbox))"}"#
        let response = try await shop.request(.post, "messaging/performanceTest", body)
        let identifier = try JSONDecoder().decode(Started.self, from: response.json).requestId
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await shop.tester.run() }
            defer { group.cancelAll() }
            while true {
                let answer = try await shop.request(.get, "messaging/performanceTest/result/\(identifier)")
                let result = try JSONDecoder().decode(TestResult.self, from: answer.json)
                if result.result != "PENDING" { return result }
                // A client can only ask again; the test itself says when it is over.
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
