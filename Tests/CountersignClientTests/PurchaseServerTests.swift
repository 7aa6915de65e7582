import Foundation
import StoreTesting
import Synchronization
import Testing

@testable import CountersignClient

@Suite("What is sent to the server, and what its answers mean")
struct PurchaseServerTests {
    static let signed = StoreTransaction(
        id: "7", productID: "gems.100", environment: .sandbox, proof: .signedTransaction("aaa.bbb.ccc"))
    static let legacy = StoreTransaction(id: "7", productID: "gems.100", proof: .receipt)

    @Test(
        "a signed transaction is posted as such, a receipt with the transaction's number, and one of doubt as a number")
    func bodies() async throws {
        #expect(
            try await posted(Self.signed) == [
                "app": "com.example.game", "account": "anna", "signed_transaction": "aaa.bbb.ccc",
                "environment": "sandbox",
            ])
        #expect(
            try await posted(Self.legacy, receipt: Data("receipt".utf8)) == [
                "app": "com.example.game", "account": "anna", "receipt": "cmVjZWlwdA==", "transaction_id": "7",
            ])
        let number = ["app": "com.example.game", "account": "anna", "transaction_id": "7"]
        #expect(try await posted(Self.legacy, receipt: nil) == number)
        #expect(try await posted(Self.legacy, receipt: Data()) == number)
        #expect(try await posted(Self.legacy, receipt: Data("receipt".utf8), isNumberOnly: true) == number)
        #expect(try await posted(Self.legacy, receipt: Data(count: QueueLimits().receiptMaximum + 1)) == number)
        var large = Self.signed
        large.environment = nil
        large.proof = .signedTransaction(String(repeating: "a", count: QueueLimits.signedTransactionMaximum + 1))
        #expect(try await posted(large) == number)
    }

    @Test("the address may have a path of its own, with or without a slash at its end")
    func address() async throws {
        for text in ["https://example.com/shop", "https://example.com/shop/"] {
            let transport = CannedTransport(ServerAnswer(status: 500))
            _ = try await server(transport, text).post(order(Self.signed), receipt: nil)
            let request = try #require(transport.requests.first)
            #expect(request.url.absoluteString == "https://example.com/shop/v1/purchases?wait=10")
            #expect(request.method == "POST")
            #expect(request.timeout == 40)
            #expect(request.headers["authorization"] == "Bearer token-of-anna")
            #expect(request.headers["content-type"] == "application/json")
        }
        let transport = CannedTransport(ServerAnswer(status: 500))
        _ = try await server(transport).post(order(Self.signed, submission: "sub_1"), receipt: nil)
        let question = try #require(transport.requests.first)
        #expect(question.method == "GET")
        #expect(question.url.absoluteString == "https://example.com/v1/purchases/sub_1?wait=10")
        #expect(question.body == nil)
    }

    @Test("an intent takes the app's own order number along", arguments: ["order-10042", nil])
    func reference(_ reference: String?) async throws {
        let id = UUID()
        let transport = CannedTransport(ServerAnswer(status: 201, body: Data(#"{"app_account_token":"\#(id)"}"#.utf8)))
        let opened = try await server(transport).openIntent(
            account: "anna", productID: "gems.100", reference: reference)
        guard case .opened(id) = opened else {
            Issue.record("\(opened)")
            return
        }
        let body = try #require(transport.requests.first?.body)
        var expected = ["app": "com.example.game", "account": "anna", "product_id": "gems.100"]
        expected["reference"] = reference
        #expect(try JSONDecoder().decode([String: String].self, from: body) == expected)
    }

    @Test(
        "only 200, an outcome and `finish: true` together let a transaction be finished",
        arguments: [
            (200, "fulfilled", true, true), (200, "rejected", true, true), (200, "parked", true, true),
            (200, "a_later_word", true, true), (200, "fulfilled", false, false), (200, "rejected", false, false),
            (202, "fulfilled", true, false), (202, "received", false, false), (200, "received", true, false),
            (201, "fulfilled", true, false),
        ])
    func finish(status: Int, state: String, says: Bool, isFinish: Bool) async throws {
        let body = #"{"id":"s","state":"\#(state)","finish":\#(says),"transactions":[],"further":{}}"#
        let result = try await result(status, body)
        guard case .answered(let answer) = result else { throw PurchaseError(.serverRefused, "\(result)") }
        #expect(answer.isFinish == isFinish)
    }

    @Test(
        "an answer that is none says nothing about the purchase",
        arguments: [
            "", "null", "<html>", "{}", #"{"id":"s","state":"fulfilled"}"#,
            #"{"id":"s","state":"fulfilled","finish":"true"}"#,
            #"{"id":"s","state":"fulfilled","finish":1}"#, #"[{"id":"s","state":"fulfilled","finish":true}]"#,
        ])
    func unreadable(body: String) async throws {
        guard case .failed(.unavailable) = try await result(200, body) else {
            Issue.record("\(body) was taken for an answer")
            return
        }
    }

    @Test("every other status is what it is")
    func statuses() async throws {
        let problem = #"{"type":"/problems/field-invalid","code":"field-invalid","title":"t","detail":"d"}"#
        for status in [400, 413, 415, 422] {
            #expect(try await result(status, problem) == .failed(.refused(problem: "field-invalid", detail: "d")))
        }
        for status in [204, 301, 302, 404, 405, 408, 500, 502, 503, 504] {
            guard case .failed(.unavailable) = try await result(status, problem) else {
                Issue.record("\(status)")
                continue
            }
        }
        #expect(
            try await result(503, "", retryAfter: "7")
                == .failed(.unavailable("503 status-503", retryAfter: 7)))
        #expect(try await result(429, "", retryAfter: "7") == .failed(.limited(retryAfter: 7)))
        #expect(
            try await result(429, "", retryAfter: "Wed, 21 Oct 2026 07:28:00 GMT")
                == .failed(.limited(retryAfter: nil)))
        let unknown = #"{"type":"/problems/not-found","code":"not-found"}"#
        #expect(try await result(404, unknown, submission: "sub_1") == .failed(.submissionUnknown))
        guard case .failed(.unavailable) = try await result(404, unknown) else {
            Issue.record("a post that finds nothing is no unknown submission")
            return
        }
    }

    @Test("a token that is refused is asked for anew, once", arguments: [401, 403])
    func credentials(status: Int) async throws {
        let transport = CannedTransport(ServerAnswer(status: status))
        let result = try await server(transport).post(order(Self.signed), receipt: nil)
        #expect(result == .failed(.credentialsRefused("\(status) status-\(status)")))
        #expect(transport.requests.count == 2)
        let nobody = try await server(transport).post(order(Self.signed, account: "stranger"), receipt: nil)
        #expect(nobody == .failed(.credentialsMissing))
        #expect(transport.requests.count == 2)
    }

    // MARK: Parts

    private func order(
        _ transaction: StoreTransaction, account: String = "anna", submission: String? = nil, isNumberOnly: Bool = false
    ) -> PostOrder {
        PostOrder(
            transaction: transaction, account: account, submissionID: submission, isNumberOnly: isNumberOnly,
            isRefreshing: false)
    }

    private func server(_ transport: CannedTransport, _ address: String = "https://example.com") throws
        -> PurchaseServer
    {
        PurchaseServer(
            address: try #require(URL(string: address)), app: "com.example.game", limits: QueueLimits(),
            transport: transport, credentials: FakeLogIn(["anna"]))
    }

    private func posted(
        _ transaction: StoreTransaction, receipt: Data? = nil, isNumberOnly: Bool = false
    ) async throws -> [String: String] {
        let transport = CannedTransport(ServerAnswer(status: 500))
        _ = try await server(transport).post(order(transaction, isNumberOnly: isNumberOnly), receipt: receipt)
        let body = try #require(transport.requests.first?.body)
        return try JSONDecoder().decode([String: String].self, from: body)
    }

    private func result(
        _ status: Int, _ body: String, retryAfter: String? = nil, submission: String? = nil
    ) async throws -> PostResult {
        let answer = ServerAnswer(
            status: status, headers: retryAfter.map { ["retry-after": $0] } ?? [:], body: Data(body.utf8))
        return try await server(CannedTransport(answer)).post(
            order(Self.signed, submission: submission), receipt: nil)
    }
}

/// Answers everything the same, and keeps what it was asked.
final class CannedTransport: ServerTransport {
    private let answer: ServerAnswer
    private let kept = Mutex<[ServerRequest]>([])

    init(_ answer: ServerAnswer) {
        self.answer = answer
    }

    var requests: [ServerRequest] {
        kept.withLock { $0 }
    }

    func send(_ request: ServerRequest) async throws -> ServerAnswer {
        kept.withLock { $0.append(request) }
        return answer
    }
}
