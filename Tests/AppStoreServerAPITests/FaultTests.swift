import AppStoreServerAPI
import AsyncHTTPClient
import Crypto
import Foundation
import NIOHTTP1
import Testing

/// What goes wrong comes out as data, and as the right kind.
@Suite(.serialized)
struct FaultTests {
    private struct Case {
        let fault: String
        let category: AppStoreServerError.Category
        var status: Int?
        var code: Int64?
        let isRetryable: Bool
    }

    private static let cases = [
        Case(
            fault: #"{"kind":"status","status":404,"errorCode":4040010}"#, category: .notFound, status: 404,
            code: 4_040_010, isRetryable: false),
        Case(
            fault: #"{"kind":"status","status":404,"errorCode":4040002}"#, category: .notFound, status: 404,
            code: 4_040_002, isRetryable: true),
        Case(
            fault: #"{"kind":"status","status":404,"errorCode":4049999}"#, category: .notFound, status: 404,
            code: 4_049_999, isRetryable: false),
        Case(
            fault: #"{"kind":"status","status":404,"body":"htmlPage"}"#, category: .unreadable, status: 404,
            isRetryable: true),
        Case(
            fault: #"{"kind":"status","status":404,"body":"empty"}"#, category: .unreadable, status: 404,
            isRetryable: true),
        Case(
            fault: #"{"kind":"status","status":400,"errorCode":4000123}"#, category: .invalidRequest, status: 400,
            code: 4_000_123, isRetryable: false),
        Case(
            fault: #"{"kind":"status","status":403,"body":"htmlPage"}"#, category: .unreadable, status: 403,
            isRetryable: true),
        Case(fault: #"{"kind":"status","status":401}"#, category: .unauthorized, status: 401, isRetryable: false),
        Case(
            fault: #"{"kind":"unauthorizedStorm","seconds":60}"#, category: .unauthorized, status: 401,
            isRetryable: false),
        Case(
            fault: #"{"kind":"status","status":500}"#, category: .server, status: 500, code: 5_000_000,
            isRetryable: true),
        Case(
            fault: #"{"kind":"status","status":503,"body":"htmlPage"}"#, category: .server, status: 503,
            isRetryable: true),
        Case(
            fault: #"{"kind":"status","status":429,"body":"empty"}"#, category: .rateLimited, status: 429,
            isRetryable: true),
        Case(fault: #"{"kind":"reset"}"#, category: .transport, isRetryable: true),
        Case(fault: #"{"kind":"truncatedBody"}"#, category: .transport, isRetryable: true),
        Case(fault: #"{"kind":"hang"}"#, category: .transport, isRetryable: true),
        Case(fault: #"{"kind":"slowLoris","bytesPerSecond":1}"#, category: .transport, isRetryable: true),
        Case(fault: #"{"kind":"wrongContentType"}"#, category: .unreadable, status: 200, isRetryable: true),
        Case(fault: #"{"kind":"garbageJSON"}"#, category: .unreadable, status: 200, isRetryable: true),
        Case(fault: #"{"kind":"emptyBody"}"#, category: .unreadable, status: 200, isRetryable: true),
    ]

    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func everyFaultHasItsCategory() async throws {
        try await Simulator.run { store in
            let client = try await store.client(limits: .init(timeout: .seconds(2)))
            let id = try #require(try await store.sell("coins").first).transactionId
            for row in Self.cases {
                try await store.misbehave(row.fault)
                let error = await refusal { try await client.transactionInfo(id, in: .production) }
                #expect(error?.category == row.category, "\(row.fault): \(error.map { "\($0)" } ?? "none")")
                #expect(error?.status == row.status, "\(row.fault)")
                #expect(error?.code?.rawValue == row.code, "\(row.fault)")
                #expect(error?.isRetryable == row.isRetryable, "\(row.fault)")
            }
            try await store.behave()
            // After all that, including 401 with a good key, it works again.
            _ = try await client.transactionInfo(id, in: .production)
        }
    }

    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func retryAfterIsAnInstant() async throws {
        try await Simulator.run { store in
            let client = try await store.client()
            for (value, expected) in [
                ("1700000000123", 1_700_000_000.123), ("1700000000", 1_700_000_000),
                ("Tue, 14 Nov 2023 22:13:20 GMT", 1_700_000_000),
            ] {
                try await store.misbehave(#"{"kind":"status","status":429,"retryAfter":"\#(value)"}"#)
                let error = await refusal { try await client.transactionInfo("1", in: .production) }
                #expect(error?.category == .rateLimited && error?.code == .rateLimitExceeded)
                #expect(error?.retryAfter == Date(timeIntervalSince1970: expected), "\(value)")
            }
            try await store.behave()
            // The sandbox lets ten look-ups pass at once, and then one in a second.
            let before = Date()
            var limited: AppStoreServerError?
            for _ in 0..<1_000 where limited == nil {
                limited = await refusal { try await client.lookUpOrder("M000000000", in: .sandbox) }
            }
            #expect(limited?.status == 429 && limited?.code == .rateLimitExceeded)
            #expect(try #require(limited?.retryAfter) > before)
        }
    }

    /// How often each rule acted.
    private struct Acted: Decodable {
        struct Rule: Decodable { let acted: Int }
        let rules: [Rule]
    }

    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func deadlinesAndCancellation() async throws {
        try await Simulator.run { store in
            let client = try await store.client()
            try await store.misbehave(#"{"kind":"hang"}"#)
            let hurried = client.with(deadline: .now + .milliseconds(200)).with(deadline: .now + .seconds(60))
            let late = await refusal { try await hurried.transactionInfo("1", in: .production) }
            #expect(late?.category == .transport && late?.isRetryable == true)
            let call = Task { try await client.transactionInfo("1", in: .production) }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }

            // In the middle of an answer, too: what came of it is not taken for the whole.
            let id = try #require(try await store.sell("coins").first).transactionId
            try await store.misbehave(#"{"kind":"slowLoris","bytesPerSecond":1}"#)
            let reading = Task { try await client.transactionInfo(id, in: .production) }
            while try await store.control(.GET, "faults", as: Acted.self).rules.allSatisfy({ $0.acted == 0 }) {
                // Another process counts; there is no signal to wait for.
                try await Task.sleep(for: .milliseconds(20))
            }
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
        }
    }

    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func tooMuchIsNotRead() async throws {
        try await Simulator.run { store in
            let client = try await store.client(limits: .init(answerBytes: 100))
            let id = try #require(try await store.sell("coins").first).transactionId
            let error = await refusal { try await client.transactionInfo(id, in: .production) }
            #expect(error?.category == .unreadable && error?.status == 200)
            // An answer without a body is well even if it calls itself a page.
            try await store.misbehave(#"{"kind":"wrongContentType"}"#)
            try await client.finishTransaction(id, in: .production)
        }
    }

    @Test func nobodyThere() async throws {
        let key = try SigningKey(issuerId: "i", keyId: "k", pem: P256.Signing.PrivateKey().pemRepresentation)
        let client = AppStoreServerClient(
            http: .shared, key: key, bundleId: "b",
            hosts: AppStoreHosts(production: "http://127.0.0.1:9", sandbox: "no address"),
            limits: .init(timeout: .seconds(1)))
        for environment in AppStoreEnvironment.allCases {
            let error = await refusal { try await client.transactionInfo("1", in: environment) }
            #expect(error?.category == .transport && error?.status == nil && error?.isRetryable == true)
        }
    }
}
