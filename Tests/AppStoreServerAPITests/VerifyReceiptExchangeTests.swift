import AppStoreServerAPI
import AsyncHTTPClient
import Foundation
import NIOCore
import Testing

/// What is sent, to whom and how often, and what comes of answers that are not HTTP's 200.
@Suite("verifyReceipt: the exchange")
struct VerifyReceiptExchangeTests {
    private static let receipt = "MIIT+/top=secret"
    private static let secret = "5ecr3t"
    private static let valid = #"{"status":0,"environment":"Sandbox","receipt":{"bundle_id":"b","in_app":[]}}"#

    /// An `HTTPClient` as the services have it: without redirects.
    private func withHTTP<Value>(_ body: (HTTPClient) async throws -> Value) async throws -> Value {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        let http = HTTPClient(configuration: configuration)
        let result: Result<Value, any Error>
        do { result = .success(try await body(http)) } catch { result = .failure(error) }
        try await http.shutdown()
        return try result.get()
    }

    private struct Asked: Decodable, Equatable {
        let receiptData: String
        let password: String?
        let excludesOldTransactions: Bool

        enum CodingKeys: String, CodingKey {
            case receiptData = "receipt-data"
            case password
            case excludesOldTransactions = "exclude-old-transactions"
        }
    }

    @Test("a question is Apple's JSON, sent to the host that is named")
    func question() async throws {
        try await withHTTP { http in
            try await VerifyReceiptServer.run([VerifyReceiptServer.http("200 OK", Self.valid)]) { server in
                let client = server.client(http)
                let answer = try await client.ask(Self.receipt, sharedSecret: Self.secret, in: .sandbox)
                #expect(answer.environment == .sandbox && answer.hasSentSharedSecret && answer.status == .valid)
                #expect(
                    try await client.ask(Self.receipt, sharedSecret: nil, in: .production).environment == .production)
                let requests = server.requests
                #expect(requests.count == 2)
                #expect(requests[0].hasPrefix("POST /sandbox/verifyReceipt HTTP/1.1\r\n"))
                #expect(requests[1].hasPrefix("POST /verifyReceipt HTTP/1.1\r\n"))
                let asked = try requests.map { request in
                    #expect(request.lowercased().contains("\r\ncontent-type: application/json\r\n"))
                    let body = try #require(request.range(of: "\r\n\r\n"))
                    return try JSONDecoder().decode(Asked.self, from: Data(request[body.upperBound...].utf8))
                }
                #expect(
                    asked[0] == Asked(receiptData: Self.receipt, password: Self.secret, excludesOldTransactions: false))
                #expect(asked[1].password == nil)
                #expect(requests[0].contains(Self.receipt) && !requests[1].contains("password"))
            }
        }
    }

    @Test(
        "the host changes once at most, and only to where the answer sends",
        arguments: [
            (AppStoreEnvironment.production, [21_007, 0], ["/", "/sandbox/"], 0, AppStoreEnvironment.sandbox),
            (.sandbox, [21_008, 0], ["/sandbox/", "/"], 0, .production),
            (.production, [21_007, 21_008, 0], ["/", "/sandbox/"], 21_008, .sandbox),
            (.sandbox, [21_008, 21_007, 0], ["/sandbox/", "/"], 21_007, .production),
            (.production, [21_007, 21_007, 0], ["/", "/sandbox/"], 21_007, .sandbox),
            (.production, [21_008, 0], ["/"], 21_008, .production),
            (.sandbox, [21_007, 0], ["/sandbox/"], 21_007, .sandbox),
            (.production, [21_005, 0], ["/"], 21_005, .production),
            (.production, [21_007, 21_004, 0], ["/", "/sandbox/"], 21_004, .sandbox),
        ] as [(AppStoreEnvironment, [Int64], [String], Int64, AppStoreEnvironment)])
    func routing(
        first: AppStoreEnvironment, statuses: [Int64], paths: [String], status: Int64, last: AppStoreEnvironment
    ) async throws {
        let answers = statuses.map { status in
            VerifyReceiptServer.http("200 OK", #"{"status":\#(status),"receipt":{"bundle_id":"b"}}"#)
        }
        try await withHTTP { http in
            try await VerifyReceiptServer.run(answers) { server in
                let answer = try await server.client(http).verify(Self.receipt, sharedSecret: nil, first: first)
                #expect(answer.status.rawValue == status && answer.environment == last)
                let asked = server.requests.compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
                #expect(asked == paths.map { $0 + "verifyReceipt" })
            }
        }
    }

    @Test(
        "what is not 200 is Apple's trouble, whatever it says, and a redirect is not followed",
        arguments: [
            ("302 Found", AppStoreServerError.Category.unreadable), ("307 Temporary Redirect", .unreadable),
            ("201 Created", .unreadable), ("204 No Content", .unreadable), ("400 Bad Request", .unreadable),
            ("401 Unauthorized", .unreadable), ("403 Forbidden", .unreadable), ("404 Not Found", .unreadable),
            ("413 Content Too Large", .unreadable), ("429 Too Many Requests", .rateLimited),
            ("500 Internal Server Error", .server), ("503 Service Unavailable", .server), ("599 None", .server),
        ])
    func otherStatuses(line: String, category: AppStoreServerError.Category) async throws {
        let answer = VerifyReceiptServer.http(
            line, line.hasPrefix("204") ? "" : #"{"status":0,"receipt":{},"errorCode":4040010,"errorMessage":"x"}"#,
            "content-type: application/json\r\nlocation: /elsewhere\r\nretry-after: 1700000000123")
        try await withHTTP { http in
            try await VerifyReceiptServer.run([answer]) { server in
                let error = await refusal {
                    try await server.client(http).verify(Self.receipt, sharedSecret: Self.secret)
                }
                #expect(error?.category == category && error?.code == nil && error?.isRetryable == true)
                #expect(error?.status == Int(line.prefix(3)) && server.requests.count == 1)
                #expect(error?.retryAfter == Date(timeIntervalSince1970: 1_700_000_000.123))
                expectNoSecret(error)
            }
        }
    }

    @Test(
        "answers that break off, repeat themselves, are too long or no HTTP are errors without the receipt in them",
        arguments: [
            ("", AppStoreServerError.Category.transport), ("nonsense\r\n\r\n", .transport),
            ("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"status\":0", .transport),
            ("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}", .transport),
            (VerifyReceiptServer.http("200 OK", ""), .unreadable),
            (
                VerifyReceiptServer.http("200 OK", "<html>MIIT+/top=secret 5ecr3t</html>", "content-type: text/html"),
                .unreadable
            ),
            (VerifyReceiptServer.http("200 OK", #"{"status":21003,"receipt-data":"MIIT+/top=secret""#), .unreadable),
            (VerifyReceiptServer.http("200 OK", #"{"status":0,"status":0,"receipt":{},"p":"5ecr3t"}"#), .unreadable),
            (VerifyReceiptServer.http("200 OK", String(repeating: " ", count: 5_000)), .unreadable),
        ])
    func brokenAnswers(answer: String, category: AppStoreServerError.Category) async throws {
        try await withHTTP { http in
            try await VerifyReceiptServer.run([answer]) { server in
                let client = server.client(http, limits: .init(answerBytes: 4_096, timeout: .seconds(20)))
                let error = await refusal { try await client.verify(Self.receipt, sharedSecret: Self.secret) }
                #expect(error?.category == category, "\(error.map { "\($0)" } ?? "none")")
                #expect(error?.isRetryable == true)
                expectNoSecret(error)
            }
        }
    }

    @Test("an answer is read whatever it calls itself")
    func contentType() async throws {
        let answer = VerifyReceiptServer.http("200 OK", Self.valid, "content-type: text/plain")
        try await withHTTP { http in
            try await VerifyReceiptServer.run([answer]) { server in
                let read = try await server.client(http).verify(Self.receipt, sharedSecret: nil, first: .sandbox)
                #expect(read.receipt?.bundleId == "b" && read.finding(attempt: 1) == .valid)
            }
        }
    }

    @Test("what is too large is not sent, and nobody is there")
    func neverSent() async throws {
        try await withHTTP { http in
            try await VerifyReceiptServer.run([VerifyReceiptServer.http("200 OK", Self.valid)]) { server in
                let receipt = String(repeating: "A", count: (8 << 20) + 1)
                let error = await refusal { try await server.client(http).verify(receipt, sharedSecret: nil) }
                #expect(error?.category == .invalidRequest && error?.status == nil && error?.isRetryable == false)
                #expect(server.requests.isEmpty)
                let largest = try await server.client(http).ask(
                    String(receipt.dropLast()), sharedSecret: nil, in: .sandbox)
                #expect(largest.status == .valid && server.requests.count == 1)
            }
            for base in ["http://127.0.0.1:9", "no address"] {
                let client = VerifyReceiptClient(
                    http: http, hosts: .init(production: base, sandbox: base), limits: .init(timeout: .seconds(2)))
                let error = await refusal { try await client.verify(Self.receipt, sharedSecret: Self.secret) }
                #expect(error?.category == .transport)
                expectNoSecret(error)
            }
        }
    }

    @Test("Apple's hosts are Apple's")
    func hosts() {
        #expect(VerifyReceiptHosts.apple.base(of: .production) == "https://buy.itunes.apple.com")
        #expect(VerifyReceiptHosts.apple.base(of: .sandbox) == "https://sandbox.itunes.apple.com")
    }

    private func expectNoSecret(_ error: AppStoreServerError?) {
        let text = error.map { "\($0) \(String(reflecting: $0)) \($0.message)" } ?? ""
        #expect(!text.isEmpty && !text.contains(Self.receipt) && !text.contains(Self.secret))
    }
}
