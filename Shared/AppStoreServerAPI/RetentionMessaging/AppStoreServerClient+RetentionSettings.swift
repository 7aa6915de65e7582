public import Foundation

/// Default messages, the real-time URL and its performance tests (ADP, Retention Messaging API).
extension AppStoreServerClient {
    /// Configure Default Message, of a subscription in a locale such as `en-US`.
    public func setDefaultRetentionMessage(
        _ messageIdentifier: UUID, of productId: String, locale: String, in environment: AppStoreEnvironment
    ) async throws {
        struct Body: Encodable { let messageIdentifier: String }
        let call = try Self.defaultMessage(.put, productId, locale)
            .json(Body(messageIdentifier: Self.text(messageIdentifier)))
        try await perform(call, in: environment)
    }

    /// Delete Default Message.
    public func deleteDefaultRetentionMessage(
        of productId: String, locale: String, in environment: AppStoreEnvironment
    ) async throws {
        try await perform(try Self.defaultMessage(.delete, productId, locale), in: environment)
    }

    /// Get Default Message; 4040020 when there is none.
    public func defaultRetentionMessage(
        of productId: String, locale: String, in environment: AppStoreEnvironment
    ) async throws -> UUID {
        struct Answer: Decodable { let messageIdentifier: UUID }
        let answer: Answer = try await value(try Self.defaultMessage(.get, productId, locale), in: environment)
        return answer.messageIdentifier
    }

    /// Configure Real-time URL; production wants a performance test that was passed.
    public func setRealtimeURL(_ url: String, in environment: AppStoreEnvironment) async throws {
        struct Body: Encodable { let realtimeURL: String }
        guard (1...RetentionLimit.url).contains(url.count) else {
            throw AppStoreServerError.refused(.badRequestRealtimeURL, "realtimeURL: 1 to 256 characters")
        }
        try await perform(try Self.realtimeURL(.put).json(Body(realtimeURL: url)), in: environment)
    }

    /// Delete Real-time URL.
    public func deleteRealtimeURL(in environment: AppStoreEnvironment) async throws {
        try await perform(Self.realtimeURL(.delete), in: environment)
    }

    /// Get Real-time URL; 4040021 when there is none.
    public func realtimeURL(in environment: AppStoreEnvironment) async throws -> String {
        struct Answer: Decodable { let realtimeURL: String }
        let answer: Answer = try await value(Self.realtimeURL(.get), in: environment)
        return answer.realtimeURL
    }

    /// Initiate Performance Test, with a subscription of the sandbox.
    public func startPerformanceTest(
        originalTransactionId: String, in environment: AppStoreEnvironment = .sandbox
    ) async throws -> PerformanceTestResponse {
        struct Body: Encodable { let originalTransactionId: String }
        let id = try PathPart.identifier(originalTransactionId, .invalidOriginalTransactionId)
        let call = try APICall(.post, "v1", "messaging", "performanceTest").json(Body(originalTransactionId: id))
        return try await value(call, in: environment)
    }

    /// Get Performance Test Results.
    public func performanceTestResult(
        _ requestId: String, in environment: AppStoreEnvironment = .sandbox
    ) async throws -> PerformanceTestResultResponse {
        let id = try PathPart.name(requestId, .invalidRequestId, "requestId")
        return try await value(APICall(.get, "v1", "messaging", "performanceTest", "result", id), in: environment)
    }
}

/// What Apple asks of the real-time URL.
public struct PerformanceTestConfig: Decodable, Sendable, Hashable {
    /// Requests on their way at once.
    public let maxConcurrentRequests: Int64?
    /// Requests in all.
    public let totalRequests: Int64?
    /// How long they may take in all, in milliseconds.
    public let totalDuration: Int64?
    /// How long one may take, in milliseconds.
    public let responseTimeThreshold: Int64?
    /// How many must succeed, in per cent.
    public let successRateThreshold: Int64?
}

/// A performance test that began.
public struct PerformanceTestResponse: Decodable, Sendable, Hashable {
    /// What is asked.
    public let config: PerformanceTestConfig?
    /// Its name.
    public let requestId: String
}

/// How a performance test went.
public struct PerformanceTestResultResponse: Decodable, Sendable, Hashable {
    /// What was asked.
    public let config: PerformanceTestConfig?
    /// The URL.
    public let target: String?
    /// Passed or not.
    public let result: PerformanceTestStatus
    /// Per cent.
    public let successRate: Int64?
    /// Requests that are not over.
    public let numPending: Int64?
    /// How long they took.
    public let responseTimes: ResponseTimes?
    /// How many failed, by ``SendAttemptResult``'s value.
    public let failures: [String: Int64]?

    /// Times in milliseconds.
    public struct ResponseTimes: Decodable, Sendable, Hashable {
        /// Of all.
        public let average: Int64?
        /// Half were faster.
        public let p50: Int64?
        /// 90 of 100 were faster.
        public let p90: Int64?
        /// 95 of 100 were faster.
        public let p95: Int64?
        /// 99 of 100 were faster.
        public let p99: Int64?
    }
}

extension AppStoreServerClient {
    private static func defaultMessage(_ method: APICall.Method, _ productId: String, _ locale: String) throws
        -> APICall
    {
        APICall(
            method, "v1", "messaging", "default", try PathPart.name(productId, .invalidProductId, "productId"),
            try PathPart.name(locale, .invalidLocale, "locale"))
    }

    private static func realtimeURL(_ method: APICall.Method) -> APICall {
        APICall(method, "v1", "messaging", "realtime", "url")
    }
}
