/// Histories, a page at a time or all pages (ADP, App Store Server API).
extension AppStoreServerClient {
    /// Get Transaction History, version 2: one page of at most twenty transactions.
    ///
    /// - Parameters:
    ///   - anyTransactionId: any transaction of the customer.
    ///   - revision: the last page's, or one that was kept: what changed since then comes.
    public func history(
        of anyTransactionId: String, after revision: String? = nil, matching query: HistoryQuery = HistoryQuery(),
        in environment: AppStoreEnvironment
    ) async throws -> HistoryResponse {
        let id = try PathPart.identifier(anyTransactionId, .invalidTransactionId)
        let call = APICall(.get, "v2", "history", id).query([("revision", revision)] + (try query.parameters()))
        return try await value(call, in: environment)
    }

    /// Every page of a transaction history, beginning after a revision.
    public func historyPages(
        of anyTransactionId: String, after revision: String? = nil, matching query: HistoryQuery = HistoryQuery(),
        in environment: AppStoreEnvironment
    ) -> AppStorePages<HistoryResponse> {
        AppStorePages(first: revision) { revision in
            try await history(of: anyTransactionId, after: revision, matching: query, in: environment)
        }
    }

    /// Get Refund History: one page of at most twenty transactions that were refunded.
    public func refundHistory(
        of anyTransactionId: String, after revision: String? = nil, in environment: AppStoreEnvironment
    ) async throws -> RefundHistoryResponse {
        let id = try PathPart.identifier(anyTransactionId, .invalidTransactionId)
        return try await value(
            APICall(.get, "v2", "refund", "lookup", id).query([("revision", revision)]), in: environment)
    }

    /// Every page of a refund history, beginning after a revision.
    public func refundHistoryPages(
        of anyTransactionId: String, after revision: String? = nil, in environment: AppStoreEnvironment
    ) -> AppStorePages<RefundHistoryResponse> {
        AppStorePages(first: revision) { revision in
            try await refundHistory(of: anyTransactionId, after: revision, in: environment)
        }
    }
}

/// A page of a transaction history.
public struct HistoryResponse: Decodable, Sendable, Hashable, AppStorePage {
    /// Asks for what comes after this page, or changed since; worth keeping.
    public let revision: String?
    /// Whether there are more pages.
    public let hasMore: Bool
    /// The app.
    public let bundleId: String?
    /// The app's number; none in the sandbox, perhaps.
    public let appAppleId: Int64?
    /// Where the purchases were made.
    public let environment: EnvironmentName?
    /// JWS, not verified.
    public let signedTransactions: [String]

    /// The revision.
    public var nextPage: String? { revision }

    private enum CodingKeys: CodingKey { case revision, hasMore, bundleId, appAppleId, environment, signedTransactions }

    /// Reads Apple's JSON; an answer that does not say whether there is more is not read.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        revision = try fields.decodeIfPresent(String.self, forKey: .revision)
        hasMore = try fields.decode(Bool.self, forKey: .hasMore)
        bundleId = try fields.decodeIfPresent(String.self, forKey: .bundleId)
        appAppleId = try fields.decodeIfPresent(Int64.self, forKey: .appAppleId)
        environment = try fields.decodeIfPresent(EnvironmentName.self, forKey: .environment)
        signedTransactions = try fields.decodeIfPresent([String].self, forKey: .signedTransactions) ?? []
    }
}

/// A page of a refund history.
public struct RefundHistoryResponse: Decodable, Sendable, Hashable, AppStorePage {
    /// Asks for what comes after this page, or changed since; worth keeping.
    public let revision: String?
    /// Whether there are more pages.
    public let hasMore: Bool
    /// JWS, not verified.
    public let signedTransactions: [String]

    /// The revision.
    public var nextPage: String? { revision }

    private enum CodingKeys: CodingKey { case revision, hasMore, signedTransactions }

    /// Reads Apple's JSON; an answer that does not say whether there is more is not read.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        revision = try fields.decodeIfPresent(String.self, forKey: .revision)
        hasMore = try fields.decode(Bool.self, forKey: .hasMore)
        signedTransactions = try fields.decodeIfPresent([String].self, forKey: .signedTransactions) ?? []
    }
}
