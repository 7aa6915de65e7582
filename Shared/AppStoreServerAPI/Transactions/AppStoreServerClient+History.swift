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
    ) async throws -> HistoryResponse {
        let id = try PathPart.identifier(anyTransactionId, .invalidTransactionId)
        return try await value(
            APICall(.get, "v2", "refund", "lookup", id).query([("revision", revision)]), in: environment)
    }

    /// Every page of a refund history, beginning after a revision.
    public func refundHistoryPages(
        of anyTransactionId: String, after revision: String? = nil, in environment: AppStoreEnvironment
    ) -> AppStorePages<HistoryResponse> {
        AppStorePages(first: revision) { revision in
            try await refundHistory(of: anyTransactionId, after: revision, in: environment)
        }
    }
}

/// A page of a history, of transactions or of refunds.
public struct HistoryResponse: Decodable, Sendable, Hashable, AppStorePage {
    /// Asks for what comes after this page, or changed since; worth keeping.
    public let revision: String?
    /// Whether there are more pages.
    public let hasMore: Bool
    /// JWS, not verified.
    public let signedTransactions: [String]
    /// How many entries besides are no text.
    public let unreadableEntries: Int

    /// The revision.
    public var nextPage: String? { revision }

    private enum CodingKeys: CodingKey { case revision, hasMore, signedTransactions }

    /// Reads Apple's JSON; an answer that does not say whether there is more is not read.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        let entries = fields.entries(.signedTransactions, of: String.self)
        revision = try? fields.decode(String.self, forKey: .revision)
        hasMore = try fields.decode(Bool.self, forKey: .hasMore)
        signedTransactions = entries.compactMap(\.self)
        unreadableEntries = entries.count { $0 == nil }
    }
}
